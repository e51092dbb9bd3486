"""The what-ifs that a planner keeps: their names, their numbers side by side, and the scenarios that they become."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pandas as pd

from spareopt.decisions import ZoneChoice
from spareopt.errors import Fault, InputError
from spareopt.exploring.levers import Lever
from spareopt.instance import Instance, Scenario
from spareopt.overlays.overlay import Overlay
from spareopt.overlays.sources import read_overlay
from spareopt.overrides import fields_of, value_at
from spareopt.plan import Plan
from spareopt.scenarios import NOMINAL
from spareopt.settings import NO_SCENARIO, command, read_value
from spareopt.what_if import Answer, Changes, changed
from spareopt.wording import objective_text, proof_words

MOST_LETTERS = 80
"""Of the name of a scenario."""
UNNAMED = "what-if"
AS_IT_STANDS = "as it stands"
"""What the instance without changes is called."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.\-/ ]+")


@dataclass(frozen=True)
class KeptWhatIf:
    """A what-if that is kept: the name of its scenario, what the planner called it, and what came of it."""

    name: str
    called: str
    answer: Answer


def keep(
    kept: Sequence[KeptWhatIf], called: str, answer: Answer | None, instance: Instance, levers: Sequence[Lever]
) -> tuple[KeptWhatIf, ...]:
    """The list with another what-if; one without a name is named by its changes.

    Raises InputError where it has no answer yet, or its changes are kept already.
    """
    if answer is None:
        raise InputError("keep", [Fault("", "is not answered yet; wait for its plan")])
    same = next((item for item in kept if dict(item.answer.changes) == dict(answer.changes)), None)
    if same is not None:
        raise InputError("keep", [Fault("", f"the same changes are kept already, as {same.name!r}")])
    called = " ".join(called.split()) or name_of(answer.changes, levers)
    taken = {*instance.scenarios, NOMINAL, NO_SCENARIO, *(item.name for item in kept)}
    return (*kept, KeptWhatIf(scenario_name(called, taken), called, answer))


def name_of(changes: Changes, levers: Sequence[Lever]) -> str:
    """A name that says what is changed."""
    words = []
    for lever in levers:
        if lever.off and all(path in changes and changes[path] is None for path in lever.off):
            words.append(f"no limit on {lever.name}")
        elif lever.key in changes:
            words.append(f"{lever.name} {changes[lever.key]}")
    return " / ".join(words) or AS_IT_STANDS


def scenario_name(called: str, taken: Collection[str]) -> str:
    """A name that an instance file takes, as near to what is given as can be, and unlike those taken."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", called) if not unicodedata.combining(c))
    plain = " ".join(_NOT_IN_NAMES.sub(" ", plain).split()).lstrip("_.-/ ")
    name = plain[:MOST_LETTERS].rstrip() or UNNAMED
    number = 1
    while name in taken:
        number += 1
        ending = f" {number}"
        name = f"{(plain or UNNAMED)[: MOST_LETTERS - len(ending)].rstrip()}{ending}"
    return name


def solve_command(given: str, instance: Instance, changes: Changes) -> str:
    """The command that solves a what-if; ``given`` is the instance with its options as typed."""
    return f"spareopt solve {command(given, _upon(given, instance, changes))}"


def as_overlay(kept: Iterable[KeptWhatIf], given: str, instance: Instance) -> Overlay:
    """The what-ifs as an overlay that holds a scenario for each; to be solved as ``solved_by`` says.

    Each scenario has the ``--set`` options of ``given`` too: those typed beside a scenario are applied after it.
    Raises InputError where there is none.
    """
    settings, scenarios = _settings(given), {}
    for item in kept:
        changes = _upon(given, instance, item.answer.changes)
        overrides = {path: value for path, value in settings.items() if path not in changes} | dict(changes)
        scenarios[item.name] = Scenario(description=description(item), overrides=overrides)
    if not scenarios:
        raise InputError("export", [Fault("", "nothing is kept yet; keep a what-if first")])
    name = scenario_name(f"what-ifs of {instance.name}", set(_overlay_names(given)))
    return Overlay(name=name, source=f"spareopt explore {given}", scenarios=scenarios)


def solved_by(given: str, file: str, name: str) -> str:
    """The command that solves a what-if from the overlay it was exported to."""
    source, *words = shlex.split(given)
    given_as = {option: [pair for pair in _pairs(words) if pair[0] == option] for option in ("--overlay", "--scenario")}
    pairs = [*given_as["--overlay"], ("--overlay", file), *given_as["--scenario"], ("--scenario", name)]
    return shlex.join(["spareopt", "solve", source, *(word for pair in pairs for word in pair)])


def description(item: KeptWhatIf) -> str:
    """What came of a what-if, in a sentence for the scenario."""
    plan, called = item.answer.plan, "" if item.called == item.name else f"{item.called}: "
    if plan is None:
        return f"{called}{item.answer.status}"
    c = plan.certificate
    return f"{called}{value_words(plan)}, {proof_words(c.status, c.gap, c.among)}"


def value_words(plan: Plan) -> str:
    """The objective of a plan with its name and unit."""
    c = plan.certificate
    return objective_text(c.objective, c.value, plan.evaluation.currency)


def comparison_table(kept: Iterable[KeptWhatIf]) -> pd.DataFrame:
    """A row for each what-if: its changes, its status, the numbers and decisions of its plan, units in the names."""
    rows = []
    for item in kept:
        answer = item.answer
        row: dict[str, Any] = {
            "name": item.name,
            "called": item.called,
            "changes": "; ".join(f"{path}={value}" for path, value in answer.changes.items()),
            "status": answer.status,
            "why": answer.why,
        }
        rows.append(row | ({} if answer.plan is None else _numbers(answer.plan)))
    return pd.DataFrame(rows)


def _numbers(plan: Plan) -> dict[str, Any]:
    c, e, zones = plan.certificate, plan.evaluation, plan.decisions.zones
    money = e.currency.lower()
    return {
        "objective": c.value,
        "objective_unit": c.unit,
        "bound": c.bound,
        "goodput_baseline_gpus": e.goodput,
        "availability": e.availability,
        f"capital_{money}": e.capital,
        f"yearly_cost_{money}_per_year": e.yearly_cost,
        f"cost_{money}_per_year": e.cost_per_year,
        "it_power_kw": e.it_power_kw,
        "design": _each(zones, lambda choice: choice.design),
        "racks": _each(zones, lambda choice: choice.racks),
        "intra_block_spares": _each(zones, lambda choice: choice.intra_block_spares),
        "inter_block_spares": _each(zones, lambda choice: choice.inter_block_spares),
        "repair_plan": _each(zones, lambda choice: choice.repair_plan),
        "checkpoint_plan": plan.decisions.checkpoint_plan,
    }


def _each(zones: Sequence[ZoneChoice], value: Any) -> str:
    """What zones decide, once where all do the same."""
    return ", ".join(dict.fromkeys(str(value(choice)) for choice in zones))


def _pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(words[::2], words[1::2], strict=True))


def _overlay_names(given: str) -> Iterator[str]:
    """The names of the overlays of an instance as typed, which another one beside them may not have."""
    for option, file in _pairs(shlex.split(given)[1:]):
        if option == "--overlay":
            with suppress(InputError):  # gone meanwhile: the command that needs it says so
                yield read_overlay(file).name


def _settings(given: str) -> dict[str, Any]:
    """The ``--set`` options of an instance as typed."""
    texts = [word for option, word in _pairs(shlex.split(given)[1:]) if option == "--set"]
    parts = [text.partition("=") for text in texts]
    return {path.strip(): read_value("--set", path, text) for path, _, text in parts}


def _upon(given: str, instance: Instance, changes: Changes) -> Changes:
    """Changes that may stand beside the ``--set`` options of an instance, or in their place.

    A path is set once: one that is set already gets what it comes to.
    """
    settings: Mapping[str, Any] = _settings(given)
    if not any(path in settings for path in changes):
        return changes
    before, after = instance.resolved(), changed(instance, changes).resolved()
    result: dict[str, Any] = {}
    for path, value in changes.items():
        fields = fields_of(before, path) if path in settings and value is not None else (path,)
        result |= {field: value_at(after, field) if path in settings else value for field in fields}
    return result
