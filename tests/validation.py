"""The page docs/validation.md and its picture: every number from outside beside ours.

``python -m tests.validation`` computes all of them and writes both, the same bytes for the same versions; the means of
the simulator are those of docs/published.md, which `tests/test_published_simulated.py` plays again.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.oracle_values import (
    CASES,
    CHOICE,
    GRID,
    KINDS,
    MISSES,
    RECORDS,
    REPAIR,
    SLOW,
    SPARES,
    TIME,
    Origin,
    Record,
    Value,
    Way,
    beside,
    of_case,
    of_paper,
    of_point,
    of_record,
)

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "validation.md", DOCS / "figures" / "validation.svg"
LONG = 10
"""Lists of more numbers are shown by their largest difference alone."""
SHOWN = 0.01
"""Differences of a smaller share of the tolerance are not told: they may be those of rounding."""
PAPER, AIRESIM = "The published first-order model", "AIReSim"
SECTIONS = (PAPER, AIRESIM, REPAIR, SPARES, TIME, CHOICE)
ORIGIN_WORDS: dict[Origin, str] = {
    "printed": "printed in a publication",
    "calculation": "calculated outside, from a published formula or published rules",
    "peer tool": "by another tool",
    "simulation": "by another simulator, with its scatter",
}
WAY_WORDS: dict[Way, str] = {
    "exact model": "the exact model",
    "first-order model": "the first-order model",
    "optimiser": "the optimiser, `select`",
    "tests": "a calculation of the tests",
}
LEFT_OUT = {
    "MLSys 2026: its displayed equations and its table 1": (
        "not readable in the copy at hand; the formulas are rebuilt from its prose, with the 0.2 and the 16 of the LLM "
        "scale inferred, and give every number that its text prints"
    ),
    "MLSys 2026: an error of CETT below 1 % in its simulations (figure 6)": (
        "the other inputs of the figure are not readable; with ours the error is at most 0.06 % where crews are ample, "
        "see [two questions from the field](studies.md)"
    ),
    "Kokolis et al.: 7.9 h between faults of 1,024 GPUs": (
        "measured; it does not follow their own formula, which gives 28.8 h"
    ),
    "NTP paper: about 10 % less throughput with a tenth of a percent of the GPUs down": (
        "the effect of uneven tensor parallelism on throughput, which no instance states"
    ),
    "the allocations of the redundancy networks": "other allocations may be as good; their reliability is compared",
}
"""What sources of the records say and no record holds, or holds without a comparison, and why."""
INTRO = """\
# Validation

Every number from outside this project that it is held against, beside ours: printed in papers and textbooks,
calculated from their formulas, given by other tools and by other simulators. The records with their sources are in
`tests/oracles`, our values in `tests/oracle_values.py`; the same functions make the tests and this page:

```text
python -m tests.validation                    # computes everything, writes this page and its picture
pytest tests/test_oracles.py tests/test_validation.py
```

A *tolerance* is what the printed digits bear, the scatter that a simulation states, or the error of the arithmetic
where a number is known to all digits. What is outside is [below](#outside-the-tolerance), with the reason.
"""


class Simulated(NamedTuple):
    """A mean of our simulator beside an exact value and a mean of AIReSim's, each with its standard error."""

    case: str
    what: str
    theirs: str
    exact: float
    mean: float
    error: float

    @property
    def score(self) -> float:
        """Distance to the exact value in standard errors."""
        return (self.mean - self.exact) / self.error if self.error else 0.0 if self.mean == self.exact else math.inf


def simulated() -> list[Simulated]:
    """The rows of docs/published.md."""
    found = []
    for line in (DOCS / "published.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.match(r"\| A\d: ", line):
            mean, error = (float(part.replace(",", "")) for part in cells[4].split("±"))
            found.append(Simulated(cells[0], cells[1], cells[2], float(cells[3].replace(",", "")), mean, error))
    assert len(found) == 4 * len(CASES)
    return found


def sections(slow: bool = True) -> dict[str, list[Value]]:
    """All values, by section of the page; without the slow ones these are taken for what their records expect."""
    found: dict[str, list[Value]] = {section: [] for section in SECTIONS}
    found[PAPER] += of_paper()
    for name in CASES:
        found[AIRESIM] += of_case(name)
    for place in range(len(GRID)):
        found[AIRESIM] += of_point(place)
    for name, record in RECORDS.items():
        values = of_record(name) if slow or name not in SLOW else beside(name, record["expected"])
        found[KINDS[record["kind"]].section] += values
    return found


def number(value: float, theirs: float, tolerance: float) -> str:
    """Our number, one digit further than the tolerance tells it; a whole number as such where the other one is."""
    if theirs == round(theirs) and abs(value - round(value)) <= SHOWN * tolerance:
        return f"{value:,.0f}"
    digits = max(0, math.ceil(-math.log10(tolerance)) + 1) if tolerance else 12
    if 0 < abs(value) < 1e-3:
        return f"{value:.{max(2, digits + math.floor(math.log10(abs(value))) + 1)}g}"
    return f"{value:,.{digits}f}"


def theirs_of(value: Value) -> str:
    """The other number as its record has it."""
    if value.tolerance is None:
        low, high = value.theirs  # type: ignore[misc]
        return f"{low:g} to {high:g}"
    numbers = np.asarray(value.theirs)
    if numbers.size > LONG:
        return f"{numbers.size} numbers"
    return ", ".join(f"{one:,.15g}" for one in numbers.ravel().tolist())


def ours_of(value: Value) -> str:
    """Our number, or ours where there are several."""
    if value.tolerance is None:
        return number(float(value.ours), 0.5, 1e-3)  # type: ignore[arg-type]
    ours, theirs = np.ravel(value.ours).tolist(), np.ravel(value.theirs).tolist()
    if len(ours) > LONG:
        return f"{len(ours)} numbers"
    if len(set(ours)) == 1 < len(set(theirs)):
        ours = ours[:1]  # several prints of one number
    return ", ".join(number(one, other, value.tolerance) for one, other in zip(ours, theirs, strict=False))


def difference_of(value: Value) -> str:
    """The difference, and what share of the tolerance that is."""
    if value.tolerance is None or value.difference == 0 or value.share < SHOWN:
        return "0"
    share = f" ({100 * value.share:,.0f} %)" if math.isfinite(value.share) else ""
    return f"{value.difference:.2g}{share}"


def tolerance_of(value: Value) -> str:
    return "range" if value.tolerance is None else f"{value.tolerance:.2g}" if value.tolerance else "exact"


def row(value: Value) -> str:
    """A line of a table."""
    cells = (
        f"`{value.record}`", value.what, theirs_of(value), ours_of(value), tolerance_of(value), difference_of(value),
        "yes" if value.within else "**no**",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


HEAD = ("| record | what | its value | ours | tolerance | difference (of it) | within |", "|---" * 7 + "|")


def prose(text: str) -> str:
    """A paragraph or an item of a list, in lines of the length that the pages have."""
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(text, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def table(values: Iterable[Value]) -> list[str]:
    return [*HEAD, *(row(value) for value in values)]


def counts(found: dict[str, list[Value]]) -> list[str]:
    """How many values there are, by where they come from and how ours is made."""
    values = [value for part in found.values() for value in part]
    by = Counter((value.origin, value.way) for value in values)
    ways = [way for way in WAY_WORDS if any(way == key[1] for key in by)]
    lines = [
        f"| where its value comes from | values | within | ours by {' | by '.join(WAY_WORDS[way] for way in ways)} |",
        "|---" * (3 + len(ways)) + "|",
    ]
    for origin, words in ORIGIN_WORDS.items():
        part = [value for value in values if value.origin == origin]
        inside = sum(value.within for value in part)
        lines.append(f"| {words} | {len(part)} | {inside} | {' | '.join(str(by[origin, way] or '') for way in ways)} |")
    inside = sum(value.within for value in values)
    totals = [str(sum(by[origin, way] for origin in ORIGIN_WORDS)) for way in ways]
    return [*lines, f"| all | {len(values)} | {inside} | {' | '.join(totals)} |"]


def summary(found: dict[str, list[Value]]) -> list[str]:
    """The three legs: closed form, simulation, published value."""
    values = [value for part in found.values() for value in part]
    numbers = sum(np.size(value.theirs) if value.tolerance is not None else 1 for value in values)
    outside = [value for value in values if not value.within]
    played = simulated()
    near = [sum(abs(one.score) <= k for one in played) for k in (2, 3)]
    package = sum(value.way != "tests" for value in values)
    return [
        "## Summary",
        "",
        prose(
            f"{len(values)} values ({numbers:,} numbers, where lists are counted in full) of {len(RECORDS)} records, "
            f"of {len(CASES)} cases and {len(GRID)} points of AIReSim, and of the MLSys 2026 paper; "
            f"{len(values) - len(outside)} are within their tolerance, {len(outside)} are not. {package} of ours are "
            "by what plans are made with; the others are small calculations of the tests, which show that the terms "
            "and rules of a source are understood as it means them."
        ),
        "",
        *counts(found),
        "",
        "Three legs, of which two that agree make a test:",
        "",
        "- *Closed form*: the tables below.",
        prose(
            f"- *Simulation*: {near[0]} of {len(played)} means of AIReSim's jobs by our simulator are within two "
            f"standard errors of the exact value, {near[1]} within three ([below](#airesim), "
            "[more of them](published.md)). The exact model and the simulator are held against each other "
            "[case by case](agreement.md), with the measured error of each approximation."
        ),
        prose(
            "- *Published value*: the tables below; [the maps](map.md) of the MLSys 2026 paper; "
            "[419 interruptions](published.md#llama-3) of Llama 3 in 54 days; [a year of faults](studies.md) of 400 "
            "servers."
        ),
        "",
        "Optima have a fourth: small cases are stated a second time and [solved by SCIP](nonlinear.md).",
        "",
        f"![Differences as shares of the tolerance, by section: {len(outside)} are outside](figures/validation.svg)",
        "",
        "## Outside the tolerance",
        "",
        *table(outside),
        "",
        *(prose(f"- {of}: {why}.") for why, of in reasons()),
        "",
        "## Not compared",
        "",
        "| what | why |",
        "|---|---|",
        *(f"| {what} | {why} |" for what, why in LEFT_OUT.items()),
    ]


def reasons() -> list[tuple[str, str]]:
    """Each reason with its misses, by record."""
    found: dict[str, dict[str, list[str]]] = {}
    for (name, what), why in MISSES.items():
        found.setdefault(why, {}).setdefault(name, []).append(what)
    return [
        (why, ", ".join(f"`{name}` ({'; '.join(whats)})" for name, whats in of.items())) for why, of in found.items()
    ]


def paper_section(values: list[Value]) -> list[str]:
    return [
        prose(
            "The closed form of *Sparing Strategies to Minimize Reliability Impact on Large Training Jobs* (MLSys "
            "2026), which `--model first-order` scores with. Its text prints nine numbers, ours are those of the "
            "shipped instance `meta-2026`; the rows and best R are evaluations of its formulas by a script outside "
            "this project."
        ),
        "",
        *table(sorted(values, key=lambda value: value.origin != "printed")),
    ]


def airesim_section(values: list[Value]) -> list[str]:
    """Cases value by value, the grid point by point, and our simulator."""
    cases = [value for value in values if value.record in CASES]
    lines = [
        prose(
            "A public simulator of one training job (arXiv:2603.07041). A record made outside this project has means "
            "of its own runs and exact values of six cases and of 84 points of a grid; servers age only while the job "
            "computes. Ours is a Markov chain of the rules, in the tests, as the exact model leaves standbys and host "
            "selections out. Means of its runs are given three standard errors."
        ),
        "",
        *table(cases),
        "",
        prose(
            "The same cases by our simulator, 400 jobs each, means ± standard errors; z is the distance to the exact "
            "value in standard errors:"
        ),
        "",
        "| case | mean of a job | AIReSim's runs | exact | ours | z | within three |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in simulated():
        cells = (
            one.case, one.what, one.theirs, f"{one.exact:,.1f}", f"{one.mean:,.1f} ± {one.error:,.1f}",
            f"{one.score:+.1f}", "yes" if abs(one.score) <= 3 else "**no**",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        prose(
            "The grid by the exact model (`ageing: computing`): share of the time in which the job computes in the "
            "long run, and minutes that a job of 90 days takes and is blocked. Tolerances are the printed digits."
        ),
        "",
        "| servers + spares | share, its | ours | time, its | ours | blocked, its | ours | difference | within |",
        "|---" * 9 + "|",
    ]
    rest = [value for value in values if value.record not in CASES]
    for place in range(0, len(rest), 3):
        three = rest[place : place + 3]
        pairs = [f"{theirs_of(value)} | {shown(value)}" for value in three]
        share = max(value.share for value in three)
        within = "yes" if all(value.within for value in three) else "**no**"
        difference = f"{100 * share:.0f} % of it" if share >= SHOWN else "0"
        lines.append(f"| {three[0].record} | {' | '.join(pairs)} | {difference} | {within} |")
    return lines


def shown(value: Value) -> str:
    """Our value with as many digits as the record prints."""
    digits = 8 if "cett" in value.what else 4
    return f"{float(value.ours):,.{digits}f}"  # type: ignore[arg-type]


def records_section(section: str, values: list[Value]) -> list[str]:
    """What the kinds of records prove, all values, and the sources."""
    used = [kind for kind in KINDS if KINDS[kind].section == section]
    records = [record for record in RECORDS.values() if record["kind"] in used]
    lines = ["| records | what it proves | ours by |", "|---|---|---|"]
    for kind in used:
        names = ", ".join(f"`{record['id']}`" for record in records if record["kind"] == kind)
        ways = {value.way for value in values if RECORDS[value.record]["kind"] == kind}
        words = " and ".join(WAY_WORDS[way] for way in WAY_WORDS if way in ways)
        lines.append(f"| {names} | {KINDS[kind].proves} | {words} |")
    sources: dict[str, list[Record]] = {}
    for record in records:
        sources.setdefault(record["source"], []).append(record)
    lines += ["", *table(values), "", "Sources:", ""]
    for source, of in sources.items():
        lines.append(prose(f"- {', '.join('`' + record['id'] + '`' for record in of)}: {source}"))
    return lines


def page(slow: bool = True) -> str:
    """The whole page."""
    found = sections(slow)
    lines = [INTRO, *summary(found)]
    for section, values in found.items():
        lines += ["", f"## {section}", ""]
        if section == PAPER:
            lines += paper_section(values)
        elif section == AIRESIM:
            lines += airesim_section(values)
        else:
            lines += records_section(section, values)
    return "\n".join(lines) + "\n"


def picture(path: Path, slow: bool = True) -> None:
    """Draw every difference as a share of its tolerance, by section, marked by how our value is made."""
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    from spareopt.pictures import BLUE, GREEN, GREY, LINES, ORANGE, STYLE, save  # noqa: PLC0415

    marks: dict[Way, tuple[str, str]] = {
        "exact model": ("o", BLUE),
        "first-order model": ("s", GREEN),
        "optimiser": ("^", ORANGE),
        "tests": ("x", GREY),
    }
    least, most = SHOWN, 1e3
    found = sections(slow)
    outside = sum(not value.within for part in found.values() for value in part)
    with mpl.rc_context(STYLE | LINES):
        figure = Figure(figsize=(7.6, 4.0), layout="constrained")
        axes = figure.add_subplot()
        for way, (marker, colour) in marks.items():
            xs, ys = [], []
            for line, values in enumerate(found.values()):
                for place, value in enumerate(values):
                    if value.way == way:
                        xs.append(min(max(value.share, least), most))
                        ys.append(line + 0.66 * ((place * 0.61803398875) % 1) - 0.33)
            label = f"by {WAY_WORDS[way].replace('`', '')}"
            axes.scatter(xs, ys, s=13, marker=marker, color=colour, linewidths=0.8, alpha=0.8, label=label)
        axes.axvline(1.0, color="black", linewidth=1.0)
        axes.axvspan(1.0, 3 * most, color="#000000", alpha=0.06, linewidth=0)
        axes.text(1.25, -0.42, "outside the tolerance", fontsize=8, va="center")
        line = list(found).index(SPARES)
        why = "two points of one frontier, whose\ninputs are not all printed"
        axes.text(2.2, line + 0.58, why, fontsize=8, va="center", color="#333333")
        axes.text(0.8, -0.42, "within", fontsize=8, va="center", ha="right")
        axes.set_xscale("log")
        axes.set_xlim(least / 1.6, 3 * most)
        axes.set_xticks([0.01, 0.1, 1, 10, 100, 1000])
        axes.set_xticklabels(["≤ 1 %", "10 %", "100 %", "10 times", "100 times", "more"])
        axes.minorticks_off()
        axes.set_yticks(range(len(found)), [f"{name} ({len(values)})" for name, values in found.items()])
        axes.set_ylim(len(found) - 0.5, -0.6)
        axes.set_xlabel("difference from the outside value, as a share of its tolerance")
        total = sum(map(len, found.values()))
        axes.set_title(f"{total - outside} of {total} values are within the tolerance of their source")
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
        save(figure, path)


def main() -> None:
    """Write the page and its picture."""
    PAGE.write_text(page(), encoding="utf-8")
    picture(PICTURE)
    print(f"wrote {PAGE} and {PICTURE}")


if __name__ == "__main__":
    main()
