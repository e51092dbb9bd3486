"""What the published schemas promise: which changes of a schema break a reader or a writer of documents.

``python -m tests.schemas`` adds to ``tests/golden`` what is new: the schema of a kind or a version that has none,
fields that were added, and a document of a kind that has none.  It refuses a schema that breaks a published one: give
that a new version.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from spareopt.schemas import INPUTS, KINDS, schema_of

GOLDEN = Path(__file__).parent / "golden"
SCHEMAS, DOCUMENTS = GOLDEN / "schemas", GOLDEN / "documents"
WORDS = ("title", "description", "default", "examples")
"""What is no promise of a schema."""
LOWEST = ("minimum", "exclusiveMinimum", "minLength", "minItems")
HIGHEST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
SCALARS = ("string", "number", "integer", "boolean", "null", "array", "object")

Schema = dict[str, Any]


def shape(schema: Any, names: bool = False) -> Any:
    """A schema without its words; ``names``: this is a mapping of names, which may be called like one of them."""
    if isinstance(schema, dict):
        return {
            key: shape(value, key in ("properties", "$defs"))
            for key, value in sorted(schema.items())
            if names or key not in WORDS
        }
    return [shape(item) for item in schema] if isinstance(schema, list) else schema


def version_of(schema: Schema) -> int:
    """The version that a schema states for its documents; 1 where it states none."""
    fields = schema.get("properties", {})
    stated = [fields.get(name, {}).get("const") for name in ("schema_version", "manifest_version", "overlay_version")]
    return next((int(version) for version in stated if version is not None), 1)


def published(kind: str) -> Path:
    """The file of the published schema of a kind, in the version of today."""
    return SCHEMAS / f"{kind}-{version_of(schema_of(kind))}.json"


def broken(kind: str, old: Schema) -> list[str]:
    """What today's schema of a kind breaks of a published one of the same version."""
    if kind in INPUTS:
        return list(breaks(old, schema_of(kind), written=False))
    found = list(breaks(old, schema_of(kind), written=True))
    return found + [f"reading back: {text}" for text in breaks(old, schema_of(kind, "read"), written=False)]


def breaks(old: Schema, new: Schema, *, written: bool) -> Iterator[str]:
    """Why documents of the new schema can't stand for those of the old one (``written``), or old ones can't be read.

    Written documents may have more fields, fewer types and more values of an enumeration; what is read may leave out
    more fields and take more types and values.
    """
    yield from _Walk(old, new, written).compare(old, new, "")


class _Walk:
    """A walk over two schemas at once; a pair of places that is known, or about to be, is not walked again."""

    def __init__(self, old: Schema, new: Schema, written: bool) -> None:
        self.old, self.new, self.written = old, new, written
        self.known: dict[tuple[int, int], list[str]] = {}

    def compare(self, old: Schema, new: Schema, path: str) -> Iterator[str]:
        old, new = _resolved(old, self.old), _resolved(new, self.new)
        pair = (id(old), id(new))
        if pair not in self.known:
            self.known[pair] = []
            self.known[pair] = list(self._compare(old, new, path))
        yield from self.known[pair]

    def _compare(self, old: Schema, new: Schema, path: str) -> Iterator[str]:
        olds, news = _alternatives(old, self.old), _alternatives(new, self.new)
        had, has = _types(olds), _types(news)
        lost = _beyond(has, had) if self.written else _beyond(had, has)
        if lost:
            yield f"{path or 'the document'}: {', '.join(sorted(had))} became {', '.join(sorted(has))}"
        yield from self._values(olds, news, path)
        if not self.written:
            yield from _limits(olds, news, path)
        for kind, walk in (("object", self._object), ("array", self._array)):
            yield from self._each(
                [item for item in olds if item.get("type") == kind],
                [item for item in news if item.get("type") == kind],
                walk,
                path,
            )

    def _each(
        self, olds: list[Schema], news: list[Schema], walk: Callable[[Schema, Schema, str], Iterator[str]], path: str
    ) -> Iterator[str]:
        """Each old alternative must have a new one that breaks nothing."""
        if not news:
            return  # told by its type
        for old in olds:
            found = [list(walk(old, new, path)) for new in news]
            yield from min(found, key=len)

    def _values(self, olds: list[Schema], news: list[Schema], path: str) -> Iterator[str]:
        had, has = _enumerated(olds), _enumerated(news)
        if had is not None and has is not None and had - has:
            yield f"{path}: the value {', '.join(sorted(had - has))} is gone"
        if had is not None and has is None and self.written:
            yield f"{path}: any value where there was a list"
        if had is None and has is not None and not self.written and "string" in _types(olds):
            yield f"{path}: a list where any value was"

    def _object(self, old: Schema, new: Schema, path: str) -> Iterator[str]:
        had, has = old.get("properties", {}), new.get("properties", {})
        for name, field in had.items():
            if name in has:
                yield from self.compare(field, has[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}: is gone"
        required, now = set(old.get("required", ())), set(new.get("required", ()))
        for name in sorted(required - now if self.written else now - required):
            if name in had or not self.written:
                yield f"{path}.{name}: {'may be left out now' if self.written else 'is required now'}"
        more, now_more = old.get("additionalProperties"), new.get("additionalProperties")
        if isinstance(more, dict) and isinstance(now_more, dict):
            yield from self.compare(more, now_more, f"{path}.*")

    def _array(self, old: Schema, new: Schema, path: str) -> Iterator[str]:
        if isinstance(old.get("items"), dict) and isinstance(new.get("items"), dict):
            yield from self.compare(old["items"], new["items"], f"{path}[]")
        for place, (one, other) in enumerate(zip(old.get("prefixItems", ()), new.get("prefixItems", ()), strict=False)):
            yield from self.compare(one, other, f"{path}[{place}]")


def _resolved(schema: Schema, root: Schema) -> Schema:
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema


def _alternatives(schema: Schema, root: Schema) -> list[Schema]:
    schema = _resolved(schema, root)
    parts = schema.get("anyOf") or schema.get("oneOf")
    if parts is None:
        types = schema.get("type")
        return [schema | {"type": name} for name in types] if isinstance(types, list) else [schema]
    return [item for part in parts for item in _alternatives(part, root)]


def _types(alternatives: list[Schema]) -> set[str]:
    found: set[str] = set()
    for item in alternatives:
        known = item.get("type")
        values = item.get("enum", [item["const"]] if "const" in item else [])
        if known is None and values:
            names = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
            found |= {names[type(value)] for value in values}
        else:
            found |= set(SCALARS) if known is None else {known}
    return found


def _beyond(some: set[str], others: set[str]) -> set[str]:
    """Types of some that are not among the others; an integer is a number, too."""
    return {name for name in some - others if not (name == "integer" and "number" in others)}


def _enumerated(alternatives: list[Schema]) -> set[str] | None:
    """The values of an enumeration; None where any value may stand."""
    found: set[str] = set()
    for item in alternatives:
        if item.get("type") == "null":
            continue
        values = item.get("enum", [item["const"]] if "const" in item else None)
        if values is None:
            return None
        found |= {str(value) for value in values}
    return found


def _limits(olds: list[Schema], news: list[Schema], path: str) -> Iterator[str]:
    """What is refused now and was not, where either is one alternative of a type."""
    for old in olds:
        same = [new for new in news if new.get("type") == old.get("type")]
        if len(same) != 1:
            continue
        for names, stricter in ((LOWEST, float.__gt__), (HIGHEST, float.__lt__)):
            for name in names:
                before, now = old.get(name), same[0].get(name)
                if now is not None and (before is None or stricter(float(now), float(before))):
                    yield f"{path}: {name} {now} where it was {'free' if before is None else before}"
        if same[0].get("pattern") not in (None, old.get("pattern")):
            yield f"{path}: another pattern"


# --- documents


def documents() -> dict[str, Callable[[], str]]:
    """How a small document of each kind is made."""
    import pandas as pd  # noqa: PLC0415

    import spareopt  # noqa: PLC0415
    from spareopt.axes import parse_axis  # noqa: PLC0415
    from spareopt.folders import json_text  # noqa: PLC0415
    from spareopt.overlays.templates import template_text  # noqa: PLC0415
    from spareopt.run_queries import query_document  # noqa: PLC0415
    from spareopt.run_records import list_runs  # noqa: PLC0415
    from spareopt.sweeps import run_sweep  # noqa: PLC0415
    from spareopt.what_if import SolveOptions  # noqa: PLC0415
    from tests.growing_site import CASE  # noqa: PLC0415

    case = spareopt.read_instance("academic-1k")
    decisions = spareopt.solve(case).decisions
    axis = "failures.tray.mtbf=1x,2x"
    played: dict[str, Any] = {"replications": 2, "years": 0.01}
    table = pd.DataFrame({"group": ["a", "a", "b"], "reliability": [0.9, 0.99, 0.95], "cost": [1.0, 3.0, 2.0]})

    def as_if(folder: Path, text: str) -> str:
        return text.replace(str(folder), "runs/a-plan")

    def listed(folder: Path) -> str:
        return as_if(folder, list_runs(folder, check=True).to_json())

    def compared(folder: Path) -> str:
        other = spareopt.read_instance("academic-1k", overrides={"power.pue": 1.3})
        changed = spareopt.write_plan(spareopt.solve(other), other, folder.with_name("plan-b"))
        return spareopt.compare_plans([folder, changed]).to_json()

    def calibrated() -> str:
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("log.csv", "fleet.csv", "mapping.yaml")]
            for file, kind in zip(files, ("log", "fleet", "mapping"), strict=True):
                file.write_text(template_text(kind, case), encoding="utf-8")
            return spareopt.calibrate(*files).to_json()

    def in_a_folder(use: Callable[[Path], str]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            return use(spareopt.write_plan(spareopt.solve(case), case, Path(folder) / "plan"))

    return {
        "instance": lambda: json_text(case.resolved()),
        "decisions": lambda: json_text(decisions.model_dump(mode="json", exclude_none=True)),
        "overlay": lambda: json_text(
            {
                "overlay_version": 1,
                "name": "quotes",
                "overrides": {"failures.tray.mtbf": "0.9x"},
                "designs": [{"name": "other", "like": case.designs[0].name, "rack_price": "1 M$"}],
                "intervals": {"failures.tray.mtbf": ["0.5x", "2x"]},
                "scenarios": {"worse": {"overrides": {"failures.tray.mtbf": "0.5x"}}},
            }
        ),
        "plan": lambda: spareopt.solve(case).to_json(),
        "plan-comparison": lambda: in_a_folder(lambda folder: as_if(folder, compared(folder))),
        "simulation": lambda: spareopt.simulate(case, decisions, **played).to_json(),
        "comparison": lambda: spareopt.compare(case, decisions, decisions, **played).to_json(),
        "robust": lambda: spareopt.compare_robust(case, {"nominal": 0.5, "half-mtbf": 0.5}).to_json(),
        "staged": lambda: spareopt.solve_staged(spareopt.read_instance(CASE), gap=0).to_json(),
        "frontier": lambda: spareopt.frontier(case, points=2).to_json(),
        "marginal": lambda: spareopt.marginal_values(case).to_json(),
        "tornado": lambda: spareopt.tornado(case, {"failures.tray.mtbf": ("0.5x", "2x")}).to_json(),
        "map": lambda: spareopt.strategy_map(case, axis, "power.pue=1.1,1.3").to_json(),
        "sweep": lambda: run_sweep(case, [parse_axis(axis, "over")], SolveOptions()).to_json(),
        "infeasibility": lambda: spareopt.explain_infeasible(
            spareopt.read_instance("academic-1k", overrides={"limits.floor": 1})
        ).to_json(),
        "selection": lambda: spareopt.select(table, {"cost": 4.0}, structure="series", factor="reliability").to_json(),
        "calibration": calibrated,
        "manifest": lambda: in_a_folder(lambda folder: (folder / "manifest.json").read_text()),
        "runs": lambda: in_a_folder(listed),
        "runs-query": lambda: in_a_folder(
            lambda folder: query_document(list_runs(folder), "SELECT kind, value, seed, written FROM runs").to_json()
        ),
    }


def add() -> int:
    """Add what is new to the golden files; how many published schemas would break."""
    refused = 0
    for kind in KINDS:
        file = published(kind)
        now = json.dumps(shape(schema_of(kind)), indent=1, ensure_ascii=False) + "\n"
        faults = broken(kind, json.loads(file.read_text(encoding="utf-8"))) if file.exists() else []
        if faults:
            refused += 1
            print(f"{file.name}: give it a new version, as", *faults, sep="\n  ")
        elif not file.exists() or file.read_text(encoding="utf-8") != now:
            print(f"{'extended' if file.exists() else 'new'}: {file.name}")
            file.write_text(now, encoding="utf-8")
        document = DOCUMENTS / file.name
        if not document.exists():
            document.write_text(documents()[kind](), encoding="utf-8")
            print(f"new: documents/{document.name}")
    return refused


if __name__ == "__main__":
    sys.exit(add())
