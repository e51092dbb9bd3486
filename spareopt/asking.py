"""Ask what-ifs that belong to one result: none may fail, and one whose solver does is asked again with a wider gap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from spareopt.errors import InfeasibleError, LimitError, SolverError, StoppedError
from spareopt.plan import Plan
from spareopt.what_if import Answer, SolveOptions, WhatIf, answer, answers

OnCount = Callable[[int, int], None]
"""Told after each solve: how many are done, and of how many."""
WIDEST = 1e-3
"""The widest gap that a question is asked again with."""
TIGHTEST = 1e-7


def ask(asked: Sequence[WhatIf], options: SolveOptions) -> Iterator[Answer]:
    """The answers, in their order.  The certificate of one that was asked again states the gap it reached.

    The solver may end a very tight proof with an error, its own feasibility tolerance being as large.  Raises
    SolverError where it fails with a wide gap, too.
    """
    done = 0
    while done < len(asked):
        try:
            for result in answers(asked[done:], options):
                done += 1
                yield result
        except SolverError:
            yield _again(asked[done], options)
            done += 1


def _again(what_if: WhatIf, options: SolveOptions) -> Answer:
    while True:
        if options.gap > WIDEST / 10:
            return answer(what_if, options)
        options = replace(options, gap=10 * max(options.gap, TIGHTEST))
        try:
            return answer(what_if, options)
        except SolverError:
            continue


def ask_around(asked: Sequence[WhatIf], options: SolveOptions, on_count: OnCount | None) -> tuple[Plan, list[Answer]]:
    """The plan of the first what-if, with which the others are compared, and the answers, in their order.

    On Ctrl-C there are fewer answers.  Raises InfeasibleError, LimitError or StoppedError where there is no such plan.
    """
    got: list[Answer] = []
    with suppress(KeyboardInterrupt):  # between two solves
        for result in ask(asked, options):
            if result.status == "interrupted":
                break
            got.append(result)
            if on_count is not None:
                on_count(len(got), len(asked))
    if not got:
        raise StoppedError("interrupted before the plan to compare with was found")
    if got[0].plan is None:
        raise (InfeasibleError if got[0].status == "infeasible" else LimitError)(got[0].why)
    return got[0].plan, got
