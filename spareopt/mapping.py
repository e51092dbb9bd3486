"""Map which strategy wins over a grid of two inputs, given strategies or all decisions free."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spareopt.axes import Axis, check_values, grid, parse_axis
from spareopt.candidates import check_model, enumerate_candidates
from spareopt.comparison import objective_value
from spareopt.decision_words import value_words
from spareopt.decisions import DECISION_FIELDS, Decisions, read_decisions
from spareopt.errors import Fault, InputError, OverloadedError
from spareopt.evaluation import evaluate
from spareopt.instance import Instance
from spareopt.levels import level_instances
from spareopt.map_result import Cell, MapAxis, StrategyMap, advantage
from spareopt.overrides import value_at
from spareopt.plan import versions
from spareopt.problem import Problem, build_problem
from spareopt.relaxation import WORTHLESS, check_cost
from spareopt.schemes import Model, recovery_schemes
from spareopt.settings import NO_SCENARIO, SCENARIO
from spareopt.what_if import Changes, SolveOptions, WhatIf, answer, changed
from spareopt.yaml_source import load_yaml

Strategy = Changes | Decisions
"""Changes of the instance that leave the other decisions free, or all decisions."""
OnCell = Callable[[int, int, float], None]
"""Told after each cell: cells done, cells of the map, seconds since the start."""

MOST_CELLS = 10_000
MOST_WINNERS = 26
"""Strategies that a map can tell apart, by a letter each."""
USUAL = ("design", "intra_block_spares", "repair_plan")
"""What tells strategies apart when not said otherwise; the numbers that follow from them would make a patchwork."""

ALIKE = "the best of the plans that build all zones alike"
SOLVED = "the optimum (zones may differ)"
AS_GIVEN = "as given"


@dataclass(frozen=True)
class _Best:
    """The best plan of a strategy in a cell."""

    value: float
    decisions: Decisions


def strategy_map(
    instance: Instance,
    x: Axis | str,
    y: Axis | str,
    *,
    strategies: Mapping[str, Strategy] | None = None,
    by: Iterable[str] | None = None,
    model: Model = "exact",
    prove: bool = False,
    on_cell: OnCell | None = None,
) -> StrategyMap:
    """Which strategy wins in each cell of the grid of two axes (``spareopt.axes.parse_axis``), and by how much.

    ``strategies``: by name, changes of the instance (what they leave open is chosen anew in each cell) or whole
    Decisions.  Without them all decisions are free, and ``by`` says which of them tell strategies apart (of
    ``spareopt.decisions.DECISION_FIELDS``; when left out, block design, I and repair plan as far as the instance offers
    several).  With one zone class the best plan that builds its zones alike is found by scoring all; with several the
    instance is solved.  ``prove`` adds a bound on all plans, mixed ones too.  Raises InputError.
    """
    x = parse_axis(x, "x") if isinstance(x, str) else x
    y = parse_axis(y, "y") if isinstance(y, str) else y
    check_model(instance, model)
    points = grid([y, x], instance.resolved())
    if len(points) > MOST_CELLS:
        message = f"expected at most {MOST_CELLS:,} cells, got {len(y.values):,} × {len(x.values):,}; take fewer values"
        raise InputError("map", [Fault("", message)])
    changed_cells = [changed(instance, point) for point in points]
    check_values([y, x], [cell.input_hash() for cell in changed_cells])
    alike = len(instance.zones) == 1
    if strategies is not None:
        if by is not None or prove:
            word = "by" if by is not None else "prove"
            raise InputError("map", [Fault(word, "goes with free decisions only, not with given strategies")])
        columns: tuple[str, ...] = ()
        _check_strategies(instance, strategies, x, y, changed_cells)
    else:
        columns = _grouping(instance, by)
    started, given, data = time.perf_counter(), instance.resolved(), [cell.resolved() for cell in changed_cells]
    cells: list[Cell] = []
    try:
        for place, (point, cell_instance) in enumerate(zip(points, changed_cells, strict=True)):
            if strategies is None:
                found = _free(cell_instance, model, columns) if alike else _solved(cell_instance, model, columns)
            else:
                found = _given(instance, cell_instance, point, strategies, model)
            bound = _bound(cell_instance, model) if prove else None
            row, column = divmod(place, len(x.values))
            here = data[place] == given
            cells.append(_cell(instance, column, row, here, found, bound, known=strategies is not None or alike))
            if on_cell is not None:
                on_cell(len(cells), len(points), time.perf_counter() - started)
    except KeyboardInterrupt:
        if not cells:
            raise
    names = tuple(strategies) if strategies is not None else _who_matters(cells)
    return StrategyMap(
        instance=instance.name,
        input_hash=instance.input_hash(),
        applied=instance.applied,
        objective=instance.objective.kind,
        unit=instance.objective_unit,
        currency=instance.currency,
        model=model,
        plans=_plans(strategies, alike),
        x=_map_axis(x, data, len(x.values), True),
        y=_map_axis(y, data, len(x.values), False),
        strategies=names,
        grouped_by=columns,
        cells=tuple(_kept(cell, names) for cell in cells),
        versions=versions(),
    )


def read_strategies(text: str, instance: Instance) -> dict[str, Strategy]:
    """Strategies from a YAML file (by name: ``overrides``, ``decisions``, or ``plan``, a file or folder), or the names
    of scenarios of the instance, separated by commas (``none``: no scenario).  Raises InputError."""
    path = Path(text)
    if not path.is_file():
        names = [name.strip() for name in text.split(",")]
        unknown = [name for name in names if name != NO_SCENARIO and name not in instance.scenarios]
        if unknown or len(set(names)) < len(names):
            known = ", ".join(instance.scenarios) or "none"
            wrong = f"no file and no scenario {unknown[0]!r}" if unknown else "a scenario is named twice"
            message = f"{wrong}; expected a YAML file of strategies, or names of scenarios (there are {known})"
            raise InputError("--strategies", [Fault("", message)])
        return {name: {} if name == NO_SCENARIO else {SCENARIO: name} for name in names}
    data, lines = load_yaml(path, text)
    faults, result = [], dict[str, Strategy]()
    for name, entry in data.items():
        kinds = ("overrides", "decisions", "plan")
        if not isinstance(entry, dict) or len(entry) != 1 or next(iter(entry)) not in kinds:
            message = "expected one of overrides (path: value), decisions (as in a plan file), plan (a file or folder)"
            faults.append(Fault(str(name), message, lines.get((name,))))
            continue
        kind, value = next(iter(entry.items()))
        if kind == "overrides" and not isinstance(value, dict):
            faults.append(Fault(f"{name}.overrides", "expected path: value", lines.get((name, kind))))
        elif kind == "overrides":
            result[str(name)] = {str(at): new for at, new in value.items()}
        else:
            source = value if kind == "decisions" else path.parent / str(value)
            try:
                result[str(name)] = read_decisions(source)
            except (InputError, TypeError, ValueError) as error:
                faults.append(Fault(f"{name}.{kind}", str(error), lines.get((name, kind))))
    if not data:
        faults.append(Fault("", "expected at least one strategy, such as spare-trays: {overrides: {...}}"))
    if faults:
        raise InputError(text, faults)
    return result


def _check_strategies(
    instance: Instance, strategies: Mapping[str, Strategy], x: Axis, y: Axis, cells: Sequence[Instance]
) -> None:
    """Refuse strategies that can't be told apart, clash with an axis, or do not fit the instance."""
    if not 1 <= len(strategies) <= MOST_WINNERS:
        message = f"expected from 1 to {MOST_WINNERS} strategies, got {len(strategies)}"
        raise InputError("strategies", [Fault("", message)])
    for name, strategy in strategies.items():
        if isinstance(strategy, Decisions):
            evaluate(cells[0], strategy)  # names and counts do not change over the map
            continue
        if clash := set(strategy) & {*x.paths, *y.paths}:
            message = "is on an axis of the map; a strategy can't set it too"
            raise InputError(f"strategy {name}", [Fault(min(clash), message)])
        changed(instance, strategy)


def _grouping(instance: Instance, by: Iterable[str] | None) -> tuple[str, ...]:
    """The decisions that tell strategies apart."""
    if by is not None:
        asked = tuple(by)
        if unknown := [name for name in asked if name not in DECISION_FIELDS] or (not asked and ["nothing"]):
            message = f"unknown decision {unknown[0]!r}; expected {', '.join(DECISION_FIELDS)}"
            raise InputError("by", [Fault("", message)])
        if twice := [name for name in asked if asked.count(name) > 1]:
            raise InputError("by", [Fault(twice[0], "is given twice; keep one of them")])
        return asked
    offered = {
        "design": len(instance.designs) > 1,
        "intra_block_spares": any(len(design.intra_block_spares) > 1 for design in instance.designs),
        "repair_plan": len(instance.repair_plans) > 1,
    }
    return tuple(name for name in USUAL if offered[name]) or ("inter_block_spares",)


def _plans(strategies: Mapping[str, Strategy] | None, alike: bool) -> str:
    free = ALIKE if alike else SOLVED
    whole = [isinstance(strategy, Decisions) for strategy in (strategies or {}).values()]
    if whole and all(whole):
        return AS_GIVEN
    return f"{AS_GIVEN}, or {free}" if any(whole) else free


def _alike_problems(instance: Instance, model: Model) -> Iterable[Problem]:
    """All candidates of the only zone class, at each level of what its zones share."""
    for part in level_instances(instance):
        candidates = enumerate_candidates(part, model)
        if candidates.table.empty:
            continue
        schemes = recovery_schemes(part, model)
        problem = build_problem(candidates, None, schemes)
        try:
            problem.check_load()
        except OverloadedError:
            continue
        check_cost(problem)
        yield problem


def _best_alike(problem: Problem) -> _Best | None:
    """The best plan of a problem that builds all zones alike; None where none works within the limits."""
    outcome = problem.uniform()
    if outcome is None or not outcome.goodput > np.exp(WORTHLESS):
        return None
    return _Best(problem.objective_value(outcome.score), problem.decisions(outcome.counts, outcome.option))


def _better(instance: Instance, one: _Best | None, two: _Best | None) -> _Best | None:
    if one is None or two is None:
        return one or two
    sign = -1.0 if instance.objective.kind == "cost" else 1.0
    return two if sign * two.value > sign * one.value else one


def _free(instance: Instance, model: Model, columns: tuple[str, ...]) -> dict[str, _Best]:
    """The best plan of each group of candidates that agree in ``columns``."""
    found: dict[str, _Best] = {}
    for problem in _alike_problems(instance, model):
        for positions in _groups(problem, columns):
            best = _best_alike(problem.subset(positions))
            if best is not None:
                name = _group_name(best.decisions, columns)
                kept = _better(instance, found.get(name), best)
                assert kept is not None
                found[name] = kept
    return found


def _groups(problem: Problem, columns: tuple[str, ...]) -> list[NDArray[np.int64]]:
    names = ["gpu_limit_kw" if column == "gpu_limit" else column for column in columns]
    keys = problem.table[names].astype(float).fillna(-1.0)
    return [np.sort(rows) for rows in keys.groupby(names, sort=True).indices.values()]


def _solved(instance: Instance, model: Model, columns: tuple[str, ...]) -> dict[str, _Best]:
    """The optimum of an instance of several zone classes, under the name of its decisions."""
    plan = answer(WhatIf(instance), SolveOptions(model=model)).plan
    if plan is None:
        return {}
    return {_group_name(plan.decisions, columns): _Best(plan.certificate.value, plan.decisions)}


def _given(
    instance: Instance, cell: Instance, point: Changes, strategies: Mapping[str, Strategy], model: Model
) -> dict[str, _Best]:
    """The best plan of each given strategy."""
    found: dict[str, _Best | None] = {}
    for name, strategy in strategies.items():
        if isinstance(strategy, Decisions):
            result = evaluate(cell, strategy, model=model)
            value = objective_value(cell, result)
            works = value is not None and not result.violated and result.goodput > np.exp(WORTHLESS)
            found[name] = _Best(value, strategy) if works and value is not None else None
            continue
        here = changed(instance, {**strategy, **point}) if strategy else cell
        if len(here.zones) > 1:
            plan = answer(WhatIf(here), SolveOptions(model=model)).plan
            found[name] = None if plan is None else _Best(plan.certificate.value, plan.decisions)
            continue
        best: _Best | None = None
        for problem in _alike_problems(here, model):
            best = _better(here, best, _best_alike(problem))
        found[name] = best
    return {name: best for name, best in found.items() if best is not None}


def _bound(instance: Instance, model: Model) -> float | None:
    plan = answer(WhatIf(instance), SolveOptions(model=model)).plan
    return None if plan is None else plan.certificate.bound


def _cell(
    instance: Instance, x: int, y: int, given: bool, found: dict[str, _Best], bound: float | None, *, known: bool
) -> Cell:
    """A cell with its winner; ``known``: whether what the others come to is known."""
    kind = instance.objective.kind
    order = sorted(found, key=lambda name: found[name].value if kind == "cost" else -found[name].value)
    winner, second = [*order[:2], None, None][:2]
    value = None if winner is None else found[winner].value
    return Cell(
        x=x,
        y=y,
        given=given,
        winner=winner,
        value=value,
        runner_up=second,
        margin=None if value is None or second is None or not known else advantage(kind, value, found[second].value),
        values={name: best.value for name, best in found.items()},
        decisions=None if winner is None else found[winner].decisions,
        bound=bound,
    )


def _who_matters(cells: Sequence[Cell]) -> tuple[str, ...]:
    """The groups that win, by how often, then those that come second somewhere, then all others if they are few."""
    won: dict[str, int] = {}
    for cell in cells:
        if cell.winner is not None:
            won[cell.winner] = won.get(cell.winner, 0) + 1
    if len(won) > MOST_WINNERS:
        message = f"{len(won)} strategies win somewhere, a map can show {MOST_WINNERS}; group by fewer decisions"
        raise InputError("map", [Fault("by", message)])
    second = dict.fromkeys(cell.runner_up for cell in cells if cell.runner_up is not None)
    names = dict.fromkeys([*sorted(won, key=lambda name: -won[name]), *second])
    every = names | dict.fromkeys(name for cell in cells for name in cell.values)
    return tuple(every if len(every) <= MOST_WINNERS else names)


def _kept(cell: Cell, names: tuple[str, ...]) -> Cell:
    return cell.model_copy(update={"values": {name: cell.values[name] for name in names if name in cell.values}})


def _group_name(decisions: Decisions, columns: tuple[str, ...]) -> str:
    """What tells a group of plans apart, in words; zones that differ stand one after the other."""
    words = []
    for zone in decisions.zones:
        parts = []
        for column in columns:
            value = getattr(zone, column)
            if value is not None:
                parts.append(_word(column, value))
        words.append(", ".join(parts))
    return " + ".join(dict.fromkeys(words))


def _word(column: str, value: Any) -> str:
    return {
        "racks": f"{value} racks",
        "intra_block_spares": f"I={value}",
        "inter_block_spares": f"R={value}",
        "crews": f"{value} crews",
        "shelf_trays": f"{value} on the shelf",
        "start_at": f"repair at {value} down",
    }.get(column) or value_words(column, value)


def _map_axis(axis: Axis, data: Sequence[dict[str, Any]], width: int, horizontal: bool) -> MapAxis:
    """The axis with what its values come to, read from the cells where all cells of a value agree."""
    shown = []
    for path in axis.paths if axis.paths != (SCENARIO,) else ():
        texts: list[set[str]] = [set() for _ in axis.values]
        hidden = False  # such as an MTBF where the instance states a rate
        for place, resolved in enumerate(data):
            row, column = divmod(place, width)
            at = column if horizontal else row
            found_there = value_at(resolved, path)
            hidden |= found_there is None and axis.values[at] is not None
            texts[at].add(_quantity(found_there))
        if not hidden and all(len(found) == 1 for found in texts):
            shown.append(tuple(found.pop() for found in texts))
    whole = tuple(shown) if len(shown) == len(axis.paths) else ()
    return MapAxis(paths=axis.paths, values=axis.texts, shown=whole, spacing=axis.spacing)


def _quantity(value: Any) -> str:
    """A value as it is read back, without the digits of a conversion."""
    if isinstance(value, str):
        head, space, unit = value.partition(" ")
        try:
            return f"{float(f'{float(head):.6g}'):g}{space}{unit}"
        except ValueError:
            return value
    return "none" if value is None else str(value)
