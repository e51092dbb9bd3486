"""The command ``spareopt compare``: plans side by side, and why each differs from the one before it."""

from __future__ import annotations

import shlex

import click

from spareopt.cli_options import EACH_SOLVE, Finite, json_option, output_option
from spareopt.exits import INTERRUPTED, LIMIT_WITH_PLAN, finish, written_to


@click.command()
@click.argument("plans", metavar="PLAN...", nargs=-1, required=True)
@click.option(
    "--against",
    type=click.Choice(["previous", "first"]),
    default="previous",
    show_default=True,
    help="Hold each plan against the one before it, or against the first one.",
)
@click.option(
    "--causes/--no-causes", default=True, show_default=True, help="Solve again to split each change by cause."
)
@click.option(
    "--gap",
    type=Finite(0, 1, max_open=True),
    default=None,
    metavar="NUMBER",
    help="Relative gap of each solve; the smaller one of the two plans' when left out.",
)
@click.option("--time-limit", type=Finite(0, min_open=True), default=None, metavar="SECONDS", help=EACH_SOLVE)
@output_option("the comparison, its tables and a picture of each change")
@json_option
def compare(
    *,
    plans: tuple[str, ...],
    against: str,
    causes: bool,
    gap: float | None,
    time_limit: float | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Put plan folders (two PLANs or more) side by side, and split the change from one to the next by cause."""
    from spareopt import change_text, plan_comparison, plan_comparison_store  # noqa: PLC0415
    from spareopt.progress import SolvesLine  # noqa: PLC0415

    with SolvesLine() as line:
        result = plan_comparison.compare_plans(
            plans,
            against="first" if against == "first" else "previous",
            causes=causes,
            gap=gap,
            time_limit=time_limit,
            on_count=line.show,
        )
    proven = all(named.plan.certificate.status == "proven" for named in result.plans)
    proven = proven and all(change.status != "not all proven" for change in result.changes)
    given = shlex.join(plans)

    def next_step(folder: str | None) -> str:
        if not causes:
            return f"{written_to(folder)}Next: spareopt compare {given}"
        if folder is None:
            return f"Next: spareopt compare {given} -o my-comparison"
        return f"{written_to(folder)}Read it in Python: spareopt.read_plan_comparison({folder!r})"

    finish(
        result,
        lambda: change_text.comparison_text(result),
        next_step,
        as_json=as_json,
        output=output,
        write=lambda folder: plan_comparison_store.write_plan_comparison(result, folder),
        code=INTERRUPTED if result.interrupted else 0 if proven else LIMIT_WITH_PLAN,
    )
