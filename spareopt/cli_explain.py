"""The command ``spareopt explain``: what binds, what is nearly as good, and why not something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import click

from spareopt.cli_options import instance_options, json_option, many_solves_options, read_plan_option, read_share
from spareopt.errors import InfeasibleError, InputError, StoppedError
from spareopt.exits import LIMIT_WITH_PLAN, emit

if TYPE_CHECKING:
    from spareopt.alternatives import WhyNot
    from spareopt.decisions import Decisions
    from spareopt.instance import Instance
    from spareopt.plan import Plan


@click.command()
@instance_options
@click.option(
    "--within",
    default="0.1%",
    show_default=True,
    metavar="SHARE",
    help="How far from the best a plan may be to be listed.",
)
@click.option(
    "--alike/--mixed",
    default=True,
    show_default=True,
    help="List plans that build all zones of a class alike, or each zone its own way.",
)
@click.option(
    "--most",
    type=click.IntRange(1, 100_000),
    default=20,
    show_default=True,
    metavar="N",
    help="The most plans that are listed.",
)
@click.option(
    "--why-not",
    "questions",
    multiple=True,
    metavar="WHAT",
    help="Decisions such as intra_block_spares=0, or a plan file, to be held against the best plan; may be repeated.",
)
@many_solves_options
@json_option
def explain(
    *,
    given: str,
    instance: Instance,
    within: str,
    alike: bool,
    most: int,
    questions: tuple[str, ...],
    gap: float,
    time_limit: float | None,
    seed: int,
    model: Any,
    as_json: bool,
) -> None:
    """Explain the best plan of INSTANCE: what binds it, what is nearly as good, why not something else."""
    from spareopt import optimise  # noqa: PLC0415
    from spareopt.alternatives import why_not  # noqa: PLC0415
    from spareopt.binding import what_binds  # noqa: PLC0415
    from spareopt.decisions import Decisions  # noqa: PLC0415
    from spareopt.explain_text import explanation_text  # noqa: PLC0415
    from spareopt.near import near_optimal  # noqa: PLC0415
    from spareopt.plan import INTERRUPTED as SOLVE_INTERRUPTED  # noqa: PLC0415
    from spareopt.plan import PROVEN  # noqa: PLC0415
    from spareopt.progress import Progress  # noqa: PLC0415

    share = read_share("--within", within, or_zero=True)
    asked = [(question, _question(instance, question, model)) for question in questions]
    options: dict[str, Any] = {"gap": gap, "time_limit": time_limit, "seed": seed, "model": model}
    try:
        with Progress(instance) as progress:
            plan = optimise.solve(instance, **options, on_progress=progress.show)
    except InfeasibleError as error:
        _infeasible(given, instance, error, model, time_limit, as_json)
    with Progress(instance) as progress:
        if plan.certificate.status == SOLVE_INTERRUPTED:
            raise StoppedError("interrupted while the instance was solved; nothing is explained")
        binds = what_binds(instance, plan, **options, on_progress=progress.show)
        near = near_optimal(
            instance, share, alike=alike, most=most, plan=plan, time_limit=time_limit, model=model,
            on_progress=progress.show,
        )  # fmt: skip
        why = [
            why_not(
                instance, wanted, plan=plan, asked=question if isinstance(wanted, Decisions) else None, **options,
                on_progress=progress.show,
            )
            for question, wanted in asked
        ]  # fmt: skip
    if as_json:
        emit(
            {
                "plan": plan.model_dump(mode="json"),
                "binds": [row.model_dump(mode="json") for row in binds],
                "near_optimal": near.model_dump(mode="json"),
                "why_not": [item.model_dump(mode="json") for item in why],
            }
        )
    else:
        click.echo(explanation_text(plan, binds, near, why, instance), nl=False)
        click.echo(_next_step(given, instance, plan, why))
    done = plan.certificate.status == PROVEN and near.in_time
    done = done and all(row.status != "not known" or row.limit == "goodput_target" for row in binds)
    done = done and all(item.outcome != "not known" for item in why)
    click.get_current_context().exit(0 if done else LIMIT_WITH_PLAN)


def _question(instance: Instance, question: str, model: Any) -> str | Decisions:
    """Decisions to be forced (as text, checked), or those of a plan.  Raises InputError."""
    from spareopt.alternatives import read_forced  # noqa: PLC0415
    from spareopt.evaluation import evaluate  # noqa: PLC0415

    if "=" in question:
        read_forced(instance, question)
        return question
    decisions = read_plan_option(question)
    try:
        evaluate(instance, decisions, model=model)
    except InputError as error:
        raise InputError(question, error.faults) from None
    return decisions


def _infeasible(
    given: str, instance: Instance, error: InfeasibleError, model: Any, time_limit: float | None, as_json: bool
) -> NoReturn:
    """Explain why there is no plan, and end with the error's exit code."""
    from spareopt.conflict_text import infeasibility_text  # noqa: PLC0415
    from spareopt.conflicts import explain_infeasible  # noqa: PLC0415
    from spareopt.progress import Progress  # noqa: PLC0415

    with Progress(instance) as progress:
        found = explain_infeasible(instance, model, time_limit, progress.show)
    if as_json:
        emit({"error": "InfeasibleError", "message": str(error), "exit_code": error.exit_code,
              "infeasibility": found.model_dump(mode="json")})  # fmt: skip
    else:
        click.echo(infeasibility_text(found, instance, given), nl=False)
    raise click.exceptions.Exit(error.exit_code)


def _next_step(given: str, instance: Instance, plan: Plan, why: list[WhyNot]) -> str:
    """The command to try next."""
    if any(item.outcome == "not known" for item in why) or plan.certificate.status == "limit reached":
        return f"Next: spareopt explain {given} --time-limit 600"
    if not why:
        choice = plan.decisions.zones[0]
        design = next(item for item in instance.designs if item.name == choice.design)
        for decision in ("intra_block_spares", "inter_block_spares"):
            others = [value for value in getattr(design, decision) if value != getattr(choice, decision)]
            if others:
                return f"Next: spareopt explain {given} --why-not {decision}={others[0]}"
    return f"Next: spareopt solve {given} -o my-plan, then spareopt neighbours {given} --plan my-plan"
