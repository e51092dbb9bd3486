"""Where the inputs of a plan come from: its instance file with comments and scenarios, given or found by itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spareopt.errors import Fault, InputError
from spareopt.instance import Instance
from spareopt.plan import Plan
from spareopt.reading import read_instance
from spareopt.settings import SCENARIO as SCENARIO_PATH
from spareopt.settings import options_of
from spareopt.workbooks.comments import Comments, read_comments
from spareopt.workbooks.origin import SCENARIO
from spareopt.yaml_source import parse_value

OVERLAY = "overlay "


@dataclass(frozen=True)
class Source:
    """The instance file that a plan was made from; ``name`` is what to type, None where it is not known."""

    name: str | None
    comments: Comments


def source_of(plan: Plan, instance: Instance, given: str | Path | None) -> tuple[Source, Instance]:
    """The source of a plan, and its instance with the scenarios and intervals that the source states.

    ``given`` is what the instance was read from; left out, a shipped instance is found where the plan's changes make
    the plan's instance of it.  Raises InputError where the one given can't be read or is another instance.
    """
    if given is None:
        name = plan.provenance.instance
        known = _shipped(plan)
        if known is None:
            return Source(None, Comments((), {})), instance  # with the scenarios that it holds itself
        given = name
    else:
        known = read_instance(given)
        if known.name != plan.provenance.instance:
            message = f"the plan is of instance {plan.provenance.instance!r}, this is {known.name!r}"
            raise InputError("--instance", [Fault(str(given), message)])
    scenarios = {**known.scenarios, **instance.scenarios}
    intervals = {**known.intervals, **instance.intervals}
    told = instance.model_copy(update={"scenarios": scenarios, "intervals": intervals})
    return Source(str(given), read_comments(given)), told


def _shipped(plan: Plan) -> Instance | None:
    """The shipped instance of which the changes told by a plan make the plan's inputs; None where there is none."""
    from spareopt import instances  # noqa: PLC0415

    name = plan.provenance.instance
    if name not in instances.names():
        return None
    base = read_instance(instances.path(name))
    overlays, scenarios, overrides = split_changes(plan.provenance.applied)
    if overlays and scenarios:  # which replaces which can't be told again
        return None
    try:
        again = read_instance(instances.path(name), scenarios=scenarios, overrides={**overlays, **overrides})
    except InputError:
        return None
    return base if again.input_hash() == plan.provenance.input_hash else None


def split_changes(applied: tuple[str, ...]) -> tuple[dict[str, Any], list[str], dict[str, Any]]:
    """What was changed, as told by a plan: fields by overlays, names of scenarios, fields by settings."""
    overlays: dict[str, Any] = {}
    overrides: dict[str, Any] = {}
    scenarios: dict[str, None] = {}
    for text in applied:
        who, colon, change = text.partition(": ")
        if colon and who.startswith(SCENARIO):
            scenarios[who.removeprefix(SCENARIO)] = None
            continue
        of_overlay = bool(colon) and who.startswith(OVERLAY)
        path, _, value = (change if of_overlay else text).partition("=")
        (overlays if of_overlay else overrides)[path] = parse_value(value)
    return overlays, list(scenarios), overrides


def solve_again(plan: Plan, source: str, output: str) -> str:
    """The command that makes the plan again of its source, with its changes; overlays are to be named."""
    applied = plan.provenance.applied
    _, scenarios, overrides = split_changes(applied)
    overlays = dict.fromkeys(text.partition(": ")[0] for text in applied if text.startswith(OVERLAY))
    words = ["spareopt", "solve", source]
    for who in overlays:
        words += ["--overlay", f"FILE-OF-{who.removeprefix(OVERLAY)}"]
    words += options_of([*((SCENARIO_PATH, name) for name in scenarios), *_typed(applied, overrides)])
    return shlex.join([*words, *solve_options(plan), "-o", output])


def _typed(applied: tuple[str, ...], overrides: Iterable[str]) -> list[tuple[str, str]]:
    """Paths and values of settings, as they were told."""
    texts = dict(text.partition("=")[::2] for text in applied)
    return [(path, texts[path]) for path in overrides]


def solve_options(plan: Plan) -> list[str]:
    """The options of the solve that are not what they are by default, as they are typed."""
    options, words = plan.provenance.options, []
    if options.get("gap") is not None:
        words += ["--gap", f"{options['gap']:g}"]
    if options.get("time_limit_s") is not None:
        words += ["--time-limit", f"{options['time_limit_s']:g}"]
    if options.get("model", "exact") != "exact":
        words += ["--model", str(options["model"])]
    if options.get("alike"):
        words.append("--alike")
    if plan.provenance.seed:
        words += ["--seed", str(plan.provenance.seed)]
    return words
