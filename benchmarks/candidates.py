"""How many candidates are scored and pruned a second, beside the time of the whole solve: ratios of one run.

python benchmarks/candidates.py [INSTANCE ...]
"""

from __future__ import annotations

import sys
import time

from spareopt import read_instance, solve
from spareopt.candidates import enumerate_candidates
from spareopt.dominance import prune
from spareopt.schemes import recovery_schemes

REPEATS = 5


def main(names: list[str]) -> None:
    """Print a row per instance: the best of a few repeats of scoring and pruning, and one solve."""
    head = ("candidates", "scored/s", "score s", "prune s", "select s", "ratio")
    print(f"{'instance':20}", *(f"{name:>10}" for name in head))
    for name in names:
        instance = read_instance(name)
        schemes = recovery_schemes(instance, "exact")
        scoring, pruning = float("inf"), float("inf")
        for _ in range(REPEATS):
            start = time.perf_counter()
            candidates = enumerate_candidates(instance)
            scored = time.perf_counter()
            prune(candidates, schemes)
            scoring = min(scoring, scored - start)
            pruning = min(pruning, time.perf_counter() - scored)
        audit = solve(instance).audit
        assert audit is not None
        selection = audit.seconds["selection"]
        rows = len(candidates.table)
        ratio = (scoring + pruning) / selection
        cells = (f"{rows:,}", f"{rows / scoring:,.0f}", *(f"{x:.3f}" for x in (scoring, pruning, selection, ratio)))
        print(f"{name:20}", *(f"{cell:>10}" for cell in cells))


if __name__ == "__main__":
    main(sys.argv[1:] or ["gb200-4x256", "h100-100k", "h100-16k-llama3", "power-capped-20mw"])
