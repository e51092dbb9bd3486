"""Ask many what-ifs; where the solver fails at its own tolerance, ask again with a wider gap instead of giving up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from spareopt.errors import SolverError
from spareopt.what_if import Answer, SolveOptions, WhatIf, answer, answers

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
