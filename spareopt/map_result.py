"""A map of strategies: who wins in each cell of a grid, by how much, and what the whole map says."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import cached_property
from math import isnan
from typing import Any, Literal

import pandas as pd

from spareopt.axes import Spacing
from spareopt.decisions import Decisions
from spareopt.record import Frozen, Result

CLOSE = 0.01
"""A win by less than this share is a close one."""
VERY_CLOSE = 0.005


class MapAxis(Frozen):
    """One axis of a map."""

    paths: tuple[str, ...]
    """The fields that move along it."""
    values: tuple[str, ...]
    """As they were given: a multiple such as ``0.5x``, a quantity, or a scenario."""
    shown: tuple[tuple[str, ...], ...]
    """For each path what each value comes to, such as ``10000.0 h``; empty where that is no one value."""
    spacing: Spacing
    """How its values are spaced, as a picture draws them."""


class Cell(Frozen):
    """One cell: the best plan of each strategy there, and who wins."""

    x: int
    """Place on the x axis, from 0."""
    y: int
    """Place on the y axis, from 0."""
    given: bool
    """Whether the instance as it was given is that of this cell."""
    winner: str | None
    """None where no strategy has a plan that does any useful work within the limits."""
    value: float | None
    """The objective of the winner's plan."""
    runner_up: str | None
    """The second best; None where there is none."""
    margin: float | None
    """By what share the winner is better than the runner-up: larger goodput over smaller, or dearer over cheaper."""
    values: dict[str, float]
    """The objective of each strategy that has a plan."""
    decisions: Decisions | None
    """The winner's plan."""
    bound: float | None
    """No plan of the winner's or any other strategy is better, where that was proven; None where it was not asked."""


class StrategyMap(Result):
    """Which strategy wins over a grid.  ``to_json`` gives the same bytes for the same input and versions."""

    schema_version: Literal[1] = 1
    instance: str
    """Name of the instance."""
    input_hash: str
    """Of the instance that the cells change."""
    applied: tuple[str, ...]
    """Overlays, scenarios and overrides that were laid over the instance."""
    objective: Literal["goodput", "cost", "goodput_per_dollar"]
    """What is best."""
    unit: str
    """Of the objective."""
    currency: str
    """Of all money."""
    model: Literal["exact", "first-order"]
    """The availability model that scored the plans."""
    plans: str
    """What the plan of a strategy is: scored as given, or the best of which plans."""
    x: MapAxis
    """The axis across."""
    y: MapAxis
    """The axis up."""
    strategies: tuple[str, ...]
    """In the order in which they were given; with all decisions free the winners first, and of more than 26 only those
    that win or come second somewhere."""
    grouped_by: tuple[str, ...]
    """The decisions that tell strategies apart where all are free; empty where strategies were given."""
    cells: tuple[Cell, ...]
    """Row by row of y; fewer than the grid has where the user stopped the run."""
    versions: dict[str, str]
    """Of spareopt, Python, the solver and the libraries."""

    @property
    def complete(self) -> bool:
        """Whether every cell was scored."""
        return len(self.cells) == len(self.x.values) * len(self.y.values)

    @cached_property
    def by_place(self) -> dict[tuple[int, int], Cell]:
        """The cells by their places on x and y."""
        return {(cell.x, cell.y): cell for cell in self.cells}

    def shares(self) -> dict[str, float]:
        """The share of the scored cells that each strategy wins, the largest first."""
        won = [cell.winner for cell in self.cells]
        shares = {name: won.count(name) / len(won) for name in self.strategies if name in won}
        return dict(sorted(shares.items(), key=lambda item: -item[1]))

    def close_share(self, margin: float) -> float:
        """The share of the scored cells in which the winner is within ``margin`` of the next."""
        close = [cell.margin is not None and cell.margin < margin for cell in self.cells]
        return sum(close) / len(close) if close else 0.0

    def median_margin(self, strategy: str) -> float | None:
        """The median of the margins by which a strategy wins; None where it wins alone or nowhere."""
        margins = [cell.margin for cell in self.cells if cell.winner == strategy and cell.margin is not None]
        return statistics.median(margins) if margins else None

    @property
    def value_column(self) -> str:
        """The objective's name in tables, with its unit."""
        return {
            "goodput": "goodput_baseline_gpus",
            "cost": f"cost_{self.currency}_per_year",
            "goodput_per_dollar": f"goodput_gpu_hours_per_{self.currency}",
        }[self.objective]

    def table(self) -> pd.DataFrame:
        """A row per cell: its values on both axes, the winner and its plan, the runner-up, the margin."""
        rows = []
        for cell in self.cells:
            row: dict[str, Any] = self._place(cell) | {
                "given": cell.given,
                "winner": cell.winner,
                self.value_column: cell.value,
                "runner_up": cell.runner_up,
                "margin": cell.margin,
                "bound": cell.bound,
            }
            zones = cell.decisions.zones if cell.decisions else ()
            for name in ("design", "racks", "intra_block_spares", "inter_block_spares", "repair_plan"):
                row[name] = " + ".join(dict.fromkeys(str(getattr(zone, name)) for zone in zones)) or None
            row["checkpoint_plan"] = cell.decisions.checkpoint_plan if cell.decisions else None
            rows.append(row)
        return pd.DataFrame(rows)

    def scores_table(self) -> pd.DataFrame:
        """A row per cell and strategy: the objective of its plan, and how far it is from the winner's."""
        column = self.value_column
        rows: list[dict[str, Any]] = []
        for cell in self.cells:
            for name in self.strategies:
                value = cell.values.get(name)
                rows.append(
                    self._place(cell) | {"strategy": name, column: value, "behind_winner": self._behind(cell, value)}
                )
        return pd.DataFrame(rows)

    def _behind(self, cell: Cell, value: float | None) -> float | None:
        if value is None or cell.value is None:
            return None
        return advantage(self.objective, cell.value, value)

    def _place(self, cell: Cell) -> dict[str, Any]:
        """Where a cell is: the values given, and what each path comes to, a number where that is one."""
        row: dict[str, Any] = {"x": self.x.values[cell.x], "y": self.y.values[cell.y]}
        for columns, place in ((self._columns[0], cell.x), (self._columns[1], cell.y)):
            row |= {name: values[place] for name, values in columns.items()}
        return row

    @cached_property
    def _columns(self) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        first, second = (
            dict(_column(path, texts) for path, texts in zip(axis.paths, axis.shown, strict=False))
            for axis in (self.x, self.y)
        )
        return first, second


def _column(path: str, texts: Sequence[str]) -> tuple[str, list[Any]]:
    """A column of what a path comes to, with the unit in its name where all values have the same."""
    numbers, unit = numbers_of(texts)
    if numbers is None:
        return path, list(texts)
    return (f"{path} ({unit})" if unit else path), list(numbers)


def numbers_of(texts: Sequence[str]) -> tuple[list[float] | None, str]:
    """The numbers and the one unit of quantities; None where they are no such."""
    parts = [text.partition(" ") for text in texts]
    try:
        numbers = [float(head) for head, _, _ in parts]
    except ValueError:
        return None, ""
    found = {unit for _, _, unit in parts}
    return (numbers, found.pop()) if len(found) == 1 else (None, "")


def advantage(objective: str, better: float, worse: float) -> float:
    """By what share one value of the objective is better than another."""
    if objective == "cost":
        better, worse = worse, better
    ratio = better / worse if worse else float("inf")
    return 0.0 if isnan(ratio) else ratio - 1.0
