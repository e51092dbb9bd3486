"""Whether groups are in series: the value of a choice is the product of its members' values.

A selection is only right for such systems.  A bridge, or parallel paths of several groups, has no such product, and the
best product need not be the best system.  So a system is checked against a callable that scores choices exactly: on
the worst and the best candidate of each group, on choices drawn at random, and on the choice found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import exp, isfinite
from numbers import Real

import numpy as np
import pandas as pd

from spareopt.errors import Fault, InputError
from spareopt.selection_table import SelectionTable

System = Callable[[pd.DataFrame], float]
"""The exact value of a choice, from its rows of the candidates' table, one for each member."""
SAMPLE = 64  # choices drawn at random
AGREEMENT = 1e-9  # of the value or of what it lacks of 1, whichever is smaller
ARITHMETIC = 1e-12  # relative; what two ways to compute a product may differ by


def chosen_rows(table: SelectionTable, counts: Mapping[int, int]) -> pd.DataFrame:
    """The rows of a choice, one for each member, by group and then in the table's order."""
    order = sorted(counts, key=lambda row: (table.group[row], row))
    return table.frame.iloc[np.repeat(order, [counts[row] for row in order])]


def check_choice(table: SelectionTable, system: System, counts: Mapping[int, int]) -> None:
    """Compare a choice's score with the product.  Raises InputError where they differ."""
    product = exp(table.total(table.log_value, counts))
    score = system(chosen_rows(table, counts))
    if not isinstance(score, Real | np.number) or isinstance(score, bool) or not isfinite(float(score)):
        message = f"the callable gives {score!r}, expected a finite number, the value of the choice it is given"
        raise InputError("select", [Fault("structure", message)])
    difference = abs(float(score) - product)
    if difference <= AGREEMENT * min(product, abs(1.0 - product)) + ARITHMETIC * product:
        return
    order = sorted(counts, key=lambda row: (table.group[row], row))
    named = [f"{table.groups[table.group[row]]!r}: {_times(counts[row])}{table.labels[row]!r}" for row in order]
    message = (
        f"the groups are not in series: of the choice {{{', '.join(named)}}} the callable gives {float(score):.9g}, "
        f"the product is {product:.9g} ({difference / product:.2g} of it apart), expected the same; make groups that "
        "are in series (with a candidate for each way to build a part that is not), or score the choices of "
        "undominated(...) one by one"
    )
    raise InputError("select", [Fault("structure", message)])


def _times(count: int) -> str:
    return f"{count} × " if count > 1 else ""


def check_sample(table: SelectionTable, system: System) -> int:
    """Check the worst, the best and random choices, whatever their totals; how many there were.  Raises InputError.

    The choices are drawn with a seed of their own, so that they are the same every time.
    """
    number = 0
    for counts in _sample(table):
        check_choice(table, system, counts)
        number += 1
    return number


def _sample(table: SelectionTable) -> Iterator[dict[int, int]]:
    rows = [np.flatnonzero(table.group == z) for z in range(len(table.groups))]
    for extreme in (np.argmin, np.argmax):
        yield {int(own[extreme(table.log_value[own])]): number for own, number in zip(rows, table.members, strict=True)}
    generator = np.random.default_rng(0)
    for _ in range(SAMPLE):
        counts: dict[int, int] = {}
        for own, number in zip(rows, table.members, strict=True):
            drawn, times = np.unique(generator.choice(own, size=number), return_counts=True)
            counts |= dict(zip(drawn.tolist(), times.tolist(), strict=True))
        yield counts
