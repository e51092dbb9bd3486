"""The levers of an instance: caps that a planner can move or switch on, rates, times and prices as multiples."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from spareopt import units
from spareopt.caps import Cap, caps_of, typed
from spareopt.decisions import Decisions
from spareopt.errors import Fault, InputError
from spareopt.evaluation import evaluate
from spareopt.instance import Instance
from spareopt.marginal import BETTER_INPUTS
from spareopt.overrides import value_at, walk
from spareopt.schemes import Model
from spareopt.settings import read_value
from spareopt.what_if import Changes
from spareopt.yaml_source import value_text

Group = Literal["limits", "faults", "repair and recovery", "prices"]
Sense = Literal["at most", "at least", "in wholes of", "times"]
AS_STATED = "1x"
"""Where a lever of multiples stands at first."""
MULTIPLES = (
    0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.4, 1.7, 2, 2.2, 2.5, 2.8, 3.3, 4,
)  # fmt: skip
"""Stops of a lever of multiples: round numbers, about evenly spaced on a logarithmic scale."""
SHARES = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99999, 0.999999)
"""Stops of a cap on a probability."""
LOWEST, HIGHEST, STEPS = 0.5, 1.5, 40
"""Range of a cap around what is stated and what the plan uses, and into how many steps it is divided about."""
NAMES = {"limits.working_gpus.minimum": "fewest working GPUs", "limits.working_gpus.maximum": "most working GPUs"}
SENSES: dict[str, Sense] = {"<=": "at most", ">=": "at least"}
FEW = 4
"""Whole units around what is stated or used that a cap reaches at least."""
ROUND_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
FURTHER_INPUTS: tuple[tuple[str, tuple[str, ...], Group], ...] = (
    (
        "repair of fault domains",
        tuple(f"failures.domains.*.repair.{time}" for time in ("hands_on", "off_crew", "phases.*.hands_on")),
        "repair and recovery",
    ),
    ("lead time of the shelf", ("repair_plans.*.lead_time",), "repair and recovery"),
    ("checkpoint save", ("checkpoint_plans.*.save", "checkpoint_plans.*.memory.save"), "repair and recovery"),
    ("detection", ("checkpoint_plans.*.detection",), "repair and recovery"),
    ("rack price", ("designs.*.rack_price",), "prices"),
    ("energy price", ("power.energy_price",), "prices"),
)
"""Further inputs than those of marginal values: name, fields, group."""
CAPPED = ("capital", "yearly_cost", "it_power", "site_power", "floor", "crews", "shelf_trays", "availability")
"""Caps that any instance could take, beside those on working GPUs and a rack's power."""
REQUIRED = ("objective.goodput_target",)
"""Caps that an instance must state where it states them."""
_MULTIPLE = re.compile(r"\s*[0-9.eE+-]+\s*x\s*")
_PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9}
_KINDS = (units.TIME, units.MONEY, units.ENERGY_PRICE)


@dataclass(frozen=True)
class Lever:
    """Something that a planner moves: its fields, its stops as ``--set`` takes them, and where it stands at first."""

    name: str
    group: Group
    paths: tuple[str, ...]
    """What changes, as ``--set`` names it; all get the same value."""
    stops: tuple[str, ...]
    """Values of the slider, from left to right, as typed."""
    stated: str | None
    """The value in the instance; None for a cap that it does not state."""
    start: str
    """The stop at which a cap that is not stated begins when it is switched on."""
    sense: Sense = "times"
    """How its value is meant: a cap, a floor, a placement group, or a multiple of what stands there."""
    off: tuple[str, ...] = ()
    """What is taken out where the lever is switched off; empty where it can't be."""
    now: tuple[str, ...] = ()
    """The values of its fields in the instance, for people; none of a cap."""

    @property
    def key(self) -> str:
        """What no other lever has."""
        return self.paths[0]

    @property
    def multiple(self) -> bool:
        """Whether it takes multiples of what stands there."""
        return self.sense == "times"

    def read(self, text: str | None) -> Changes:
        """The changes that a text makes, as ``--set`` would; None switches a cap off.  Raises InputError."""
        if text == self.stated:
            return {}
        if text is None:
            if not self.off:
                raise InputError(self.name, [Fault(self.key, "is required here; give it a value")])
            return dict.fromkeys(self.off)
        if self.multiple and len(self.now) > 1 and not _MULTIPLE.fullmatch(text):
            message = f"stands for {len(self.now)} fields; expected a multiple such as 0.5x, got {text!r:.40}"
            raise InputError(self.name, [Fault(self.key, message)])
        if not text.strip():
            raise InputError(self.name, [Fault(self.key, f"expected a value such as {self.start}")])
        value = read_value(self.name, self.key, text)
        if value is None:  # as YAML reads null, ~ or &a
            without = "; to do without the limit, take its tick away" if self.off else ""
            message = f"expected a value such as {self.start}, got {text!r:.40}{without}"
            raise InputError(self.name, [Fault(self.key, message)])
        return dict.fromkeys(self.paths, value)

    def nearest(self, text: str | None) -> int:
        """The stop nearest to a text: where the slider stands while something else is typed."""
        if text in self.stops:
            return self.stops.index(text)
        wanted = _amount(text or self.start)
        amounts = [_amount(stop) for stop in self.stops]
        if wanted is None or any(amount is None or amount[1] != wanted[1] for amount in amounts):
            return self.stops.index(self.start)
        return min(range(len(amounts)), key=lambda i: abs((amounts[i] or wanted)[0] - wanted[0]))


def levers_of(instance: Instance, decisions: Decisions | None, model: Model = "exact") -> tuple[Lever, ...]:
    """The levers of an instance: its caps, those it could take, and its rates, times and prices.

    ``decisions`` are those of a plan: what it uses of a cap that is not stated says where that cap would bite.  Without
    any only caps that are stated have a lever.
    """
    return (*_cap_levers(instance, decisions, model), *_input_levers(instance))


def changes_of(levers: Iterable[Lever], texts: Mapping[str, str | None]) -> Changes:
    """The changes of the instance that levers make, by the text of each one's key.  Raises InputError."""
    faults: list[Fault] = []
    changes: dict[str, Any] = {}
    for lever in levers:
        try:
            changes |= lever.read(texts[lever.key])
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError("levers", faults)
    return changes


def positions(levers: Sequence[Lever], changes: Changes) -> dict[str, str | None] | None:
    """The text of each lever that changes stand for; None where they change what no lever moves."""
    texts: dict[str, str | None] = {lever.key: lever.stated for lever in levers}
    left = dict(changes)
    for lever in levers:
        if lever.off and all(path in left and left[path] is None for path in lever.off):
            texts[lever.key] = None
            left = {path: value for path, value in left.items() if path not in lever.off}
        elif all(path in left for path in lever.paths):
            texts[lever.key] = value_text(left[lever.key])
            left = {path: value for path, value in left.items() if path not in lever.paths}
    return None if left else texts


def _cap_levers(instance: Instance, decisions: Decisions | None, model: Model) -> list[Lever]:
    used = {} if decisions is None else _used(instance, decisions, model)
    stated = {cap.path: cap for cap in caps_of(instance)}
    levers = []
    for cap in caps_of(_capped(instance, used)):
        known = stated.get(cap.path)
        use = used.get(cap.limit)
        if known is None and not use:
            continue  # nothing of it is used, or known
        bound = cap.bound if known is None else known.bound
        start = value_text(bound) if known is not None and cap.kind == "share" else _typed(cap, bound)
        stops = _stops(instance, cap, start, bound, use)
        off = () if cap.path in REQUIRED else (_taken_out(cap),)
        text = None if known is None else start
        sense = "in wholes of" if cap.kind == "group" else SENSES[cap.sense]
        levers.append(Lever(NAMES.get(cap.path, cap.name), "limits", (cap.path,), stops, text, start, sense, off))
    return levers


def _used(instance: Instance, decisions: Decisions, model: Model) -> dict[str, float]:
    """What a plan has of everything that could be capped, by the name of the limit."""
    gpus = instance.limits.working_gpus.model_copy(update={"minimum": 1, "maximum": 1})
    limits = instance.limits.model_copy(update=dict.fromkeys(CAPPED, 0.5) | {"working_gpus": gpus})
    power = instance.power.model_copy(update={"rack_limit": 1.0})
    asked = instance.model_copy(update={"limits": limits, "power": power})
    return {limit.limit: limit.value for limit in evaluate(asked, decisions, model=model).limits}


def _capped(instance: Instance, used: Mapping[str, float]) -> Instance:
    """The instance with each cap that it does not state set to what is used."""
    limits = instance.limits
    for field in CAPPED:
        if getattr(limits, field) is None and used.get(field):
            limits = limits.model_copy(update={field: used[field]})
    gpus = limits.working_gpus
    for field in ("minimum", "maximum"):
        if getattr(gpus, field) is None and used.get(f"working_gpus.{field}"):
            gpus = gpus.model_copy(update={field: round(used[f"working_gpus.{field}"])})
    power = instance.power
    if power.rack_limit is None and used.get("rack_power"):
        power = power.model_copy(update={"rack_limit": used["rack_power"]})
    limits = limits.model_copy(update={"working_gpus": gpus})
    return instance.model_copy(update={"limits": limits, "power": power})


def _taken_out(cap: Cap) -> str:
    return cap.path if cap.zone is None else cap.path.removesuffix(".probability")


def _typed(cap: Cap, value: float) -> str:
    """A value of a cap as ``--set`` takes it, rounded so that what has the value is still within."""
    return value_text(typed(cap, cap.loss(value)))


def _stops(instance: Instance, cap: Cap, start: str, bound: float, use: float | None) -> tuple[str, ...]:
    """The stops of a cap, among them the one that it starts from."""
    if cap.kind == "share":
        texts = {value_text(share): share for share in SHARES} | {start: bound}
        return tuple(sorted(texts, key=lambda text: texts[text]))
    if cap.kind == "group":
        values = _groups(instance, bound)
    else:
        known = [bound, use if use else bound]
        around = FEW if cap.whole else 0
        low, high = min(LOWEST * min(known), min(known) - around), max(HIGHEST * max(known), max(known) + around)
        values = _round_values(low, high, cap.whole)
        gpus = instance.limits.working_gpus
        if cap.path == "limits.working_gpus.minimum":
            values = [value for value in values if value <= (gpus.maximum or math.inf)]
        if cap.path == "limits.working_gpus.maximum":
            values = [value for value in values if value >= (gpus.minimum or 0)]
    texts = {_typed(cap, value): value for value in values} | {start: bound}
    return tuple(sorted(texts, key=lambda text: texts[text]))


def _groups(instance: Instance, group: float) -> list[float]:
    """Placement groups that whole blocks of some design fill."""
    working = {(d.trays_per_block - i) * d.gpus_per_tray for d in instance.designs for i in d.intra_block_spares}
    sizes = [round(group / part) for part in (8, 6, 4, 3, 2) if group % part == 0] + [round(group), 2 * round(group)]
    return [float(size) for size in sizes if any(size % gpus == 0 for gpus in working)]


def _round_values(low: float, high: float, whole: bool) -> list[float]:
    """Round numbers between two ends, about evenly spaced."""
    rough = (high - low) / STEPS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * digit for digit in ROUND_STEPS if size * digit >= rough * (1 - 1e-9))
    step = max(1.0, math.ceil(step)) if whole else step
    first, last = max(1, math.ceil(low / step)), math.floor(high / step)
    return [float(f"{place * step:.10g}") for place in range(first, last + 1)]


def _input_levers(instance: Instance) -> list[Lever]:
    data = instance.resolved()
    inputs: list[tuple[str, tuple[str, ...], Group]] = []
    for name, paths, _ in BETTER_INPUTS:
        inputs.append((name, paths, "faults" if "MTBF" in name else "repair and recovery"))
        if name == "rack MTBF":
            for domain in instance.failures.domains:
                inputs.append((f"MTBF of {domain.name}", (f"failures.domains.{domain.name}.mtbf",), "faults"))
    levers = []
    for name, paths, group in [*inputs, *FURTHER_INPUTS]:
        fields = {path: found for path in paths if (found := _nonzero(data, path))}
        if fields:
            now = tuple(
                _for_people(value_at(data, field), instance.currency) for found in fields.values() for field in found
            )
            stops = tuple(f"{multiple:g}x" for multiple in MULTIPLES)
            levers.append(Lever(name, group, tuple(fields), stops, AS_STATED, AS_STATED, now=now))
    return levers


def _nonzero(data: Mapping[str, Any], path: str) -> list[str]:
    """The fields of a path that hold a number other than zero; a multiple of nothing is nothing."""
    fields = [".".join(field) for field in walk(data, path.split("."))]
    amounts = [_amount(str(value_at(dict(data), field))) for field in fields]
    return [field for field, amount in zip(fields, amounts, strict=True) if amount is not None and amount[0] != 0]


def _for_people(value: Any, currency: str) -> str:
    for kind in _KINDS:
        try:
            return units.show(units.parse(value, kind, currency), kind, currency)
        except ValueError:
            continue
    return value_text(value)


def _amount(text: str) -> tuple[float, str] | None:
    """The number of a text and its unit, without a prefix such as the M of MW; None where there is no number."""
    match = re.fullmatch(rf"\s*({units.NUMBER})\s*(.*?)\s*", text)
    if match is None:
        return None
    number, unit = units.number_of(match[1]), match[2]
    if unit[:1] in _PREFIXES and unit[1:]:
        return number * _PREFIXES[unit[0]], unit[1:]
    return number, unit
