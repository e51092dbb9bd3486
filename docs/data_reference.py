"""The page of the data reference, from the JSON schemas: ``python -m docs.data_reference`` writes it anew.

Models whose fields a page lists by hand are linked there; the fields of all others are listed here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from spareopt.schemas import INPUTS, KINDS, model_of, models_in, schema_of

DOCS = Path(__file__).parent
PAGE = DOCS / "reference" / "data.md"
EXPLAINED = {
    "instance": "instances",
    "decisions": "commands",
    "overlay": "overlays",
    "plan": "commands",
    "plan-comparison": "compare",
    "simulation": "commands",
    "comparison": "commands",
    "robust": "robust",
    "staged": "staged",
    "frontier": "curves",
    "marginal": "curves",
    "tornado": "curves",
    "map": "map",
    "sweep": "what-if",
    "infeasibility": "infeasible",
    "selection": "selection",
    "calibration": "calibrate",
    "manifest": "pipeline",
    "runs": "pipeline",
    "runs-query": "pipeline",
}
"""The page that explains what a document of each kind says."""
HEAD = """# Data reference

What spareopt reads and writes, document by document. `spareopt schema KIND` prints the JSON schema of one, with the
same words, for editors and for code that reads results. Fields are only added within a version; one that is renamed or
taken away makes a new version ([how long they stay readable](../pipeline.md#documents-that-stay-readable)).

Names end in their unit: `_h` hours, `_s` seconds, `_kw` kilowatts, `_mwh` megawatt-hours, `_gpus` GPUs. Money is in the
`currency` of the document, `_per_year` a year. Where a part has a page that explains it, its fields are listed there.

This page is made by `python -m docs.data_reference`, and a test proves it fresh.
"""


def homes() -> dict[str, str]:
    """For each model whose fields a page lists by hand: the page, and the heading above the list."""
    found = {}
    for page in sorted(DOCS.glob("*.md")):
        heading = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                heading = re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")
            elif mark := re.match(r"<!-- fields: (\w+) -->", line):
                found[mark[1]] = f"../{page.name}#{heading}"
    return found


def kind_of(field: dict[str, Any]) -> list[str]:
    """The JSON types that a field can have, models by their name."""
    if "$ref" in field:
        return [field["$ref"].rpartition("/")[2]]
    for several in ("anyOf", "oneOf", "allOf"):
        if several in field:
            return list(dict.fromkeys(name for part in field[several] for name in kind_of(part)))
    if "const" in field:
        return [f"`{field['const']}`"]
    if "enum" in field:
        return [f"`{value}`" for value in field["enum"]]
    if field.get("type") == "array":
        inner = kind_of(field.get("items", {}))
        return [f"list of {' or '.join(inner)}"]
    if field.get("type") == "object":
        more = field.get("additionalProperties")
        return [f"by name: {' or '.join(kind_of(more))}" if isinstance(more, dict) else "object"]
    return [{"integer": "whole number", "string": "text", "boolean": "true or false"}.get(t, t) for t in types(field)]


def types(field: dict[str, Any]) -> list[str]:
    stated = field.get("type", "any value")
    return stated if isinstance(stated, list) else [stated]


def default_of(name: str, part: dict[str, Any], read: bool) -> str:
    """What stands where a field is left out."""
    if name in part.get("required", ()):
        return "required" if read else "always there"
    default = part["properties"][name].get("default")
    if default is None or default in ("", [], {}):
        return "none"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def table(part: dict[str, Any], links: dict[str, str], read: bool) -> str:
    """The fields of a model, one a row."""
    rows = ["| field | kind | when left out | meaning |", "|---|---|---|---|"]
    for name, field in part["properties"].items():
        kinds = " or ".join(kind_of(field)).replace("|", "\\|")
        for model, link in links.items():
            kinds = re.sub(rf"\b{model}\b", f"[{model}]({link})", kinds)
        words = " ".join(field.get("description", "Version of the document." if "version" in name else "").split())
        words = words.replace("|", "\\|")
        rows.append(f"| `{name}` | {kinds} | {default_of(name, part, read)} | {words} |")
    return "\n".join(rows) + "\n"


def page() -> str:
    """The text of the page."""
    by_hand, told = homes(), set[type[BaseModel]]()
    text = HEAD
    for kind in KINDS:
        schema = schema_of(kind)
        models = models_in(model_of(kind))
        parts = {models[0].__name__: schema, **schema.get("$defs", {})}
        here = [model for model in models if model.__name__ not in by_hand or _other(model)]
        links = {model.__name__: by_hand.get(model.__name__, f"#{model.__name__.lower()}") for model in models}
        links |= {model.__name__: f"#{model.__name__.lower()}" for model in here}
        verb = "Read" if kind in INPUTS else "Written"
        version = next((f["const"] for n, f in schema["properties"].items() if n.endswith("_version")), 1)
        summary = " ".join((models[0].__doc__ or "").split("\n\n")[0].split())
        names = ", ".join(f"[{model.__name__}]({links[model.__name__]})" for model in models)
        title = (DOCS / f"{EXPLAINED[kind]}.md").read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        text += f"\n## Kind {kind}\n\n{summary}\n\n{verb} in version {version}; explained in "
        text += f"[{title}](../{EXPLAINED[kind]}.md). Its parts: {names}.\n"
        for model in here:
            if model not in told and model.__name__ in parts:
                told.add(model)
                words = " ".join((model.__doc__ or "").split("\n\n")[0].split())
                text += f"\n### {model.__name__}\n\n{words}\n\n{table(parts[model.__name__], links, kind in INPUTS)}"
    return text


def _other(model: type[BaseModel]) -> bool:
    """Whether a part of an instance has the same name, and is the one that a page lists."""
    return any(known.__name__ == model.__name__ and known is not model for known in models_in(model_of("instance")))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
