"""The command ``spareopt robust``: one plan for several scenarios with weights."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from spareopt.cli_options import Finite, instance_options, json_option, many_solves_options, output_option
from spareopt.errors import Fault, InputError
from spareopt.exits import finish, proof_code, written_to

if TYPE_CHECKING:
    from spareopt.instance import Instance


@click.command()
@instance_options
@click.option(
    "--scenario-weights",
    "weights_text",
    required=True,
    metavar="NAME=WEIGHT,...",
    help="Scenarios of the instance, and nominal for the instance as it stands, with weights that sum to 1.",
)
@click.option(
    "--criterion",
    type=click.Choice(["expected", "worst", "cvar"]),
    default="expected",
    show_default=True,
    help="The mean goodput, the worst scenario's, or the mean over the worst share ALPHA of the weight.",
)
@click.option(
    "--alpha",
    type=Finite(0, 1, min_open=True),
    default=0.1,
    show_default=True,
    metavar="ALPHA",
    help="The worst share of the weight that cvar looks at.",
)
@many_solves_options
@output_option("the plan and the comparison")
@json_option
def robust(
    *,
    given: str,
    instance: Instance,
    weights_text: str,
    criterion: Any,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Find one plan of INSTANCE for several scenarios, and what robustness costs and gains."""
    from spareopt import robust as robust_plans  # noqa: PLC0415
    from spareopt import robust_store, robust_text  # noqa: PLC0415
    from spareopt.progress import Progress  # noqa: PLC0415

    weights = read_weights(weights_text)
    with Progress(instance) as progress:
        result = robust_plans.compare_robust(
            instance, weights, criterion=criterion, on_progress=progress.show, **options
        )
    seconds = {"total": progress.elapsed()}
    finish(
        result,
        lambda: robust_text.robust_text(result, instance),
        lambda folder: _next_step(given, weights_text, criterion, folder),
        as_json=as_json,
        output=output,
        write=lambda folder: robust_store.write_robust(result, instance, folder, seconds),
        code=proof_code(result.plan.certificate.status),
    )


def read_weights(text: str) -> dict[str, float]:
    """Weights from NAME=WEIGHT,...: numbers, fractions such as 1/3, or percentages.  Raises InputError."""
    from fractions import Fraction  # noqa: PLC0415

    weights: dict[str, float] = {}
    for part in text.split(",") if text.strip() else ():
        name, equals, number = (piece.strip() for piece in part.partition("="))
        fault = ""
        if not equals or not name:
            fault = f"expected NAME=WEIGHT such as nominal=0.5, got {part.strip()!r}"
        elif name in weights:
            fault = f"{name} is given twice; keep one of them"
        else:
            try:
                share = Fraction(number.removesuffix("%").strip()) / (100 if number.endswith("%") else 1)
                weights[name] = float(share)
            except (ValueError, ZeroDivisionError, OverflowError):
                fault = f"{name}: expected a weight such as 0.25, 25% or 1/4, got {number!r}"
        if fault:
            raise InputError("--scenario-weights", [Fault("", fault)])
    return weights


def _next_step(given: str, weights: str, criterion: str, output: str | None) -> str:
    if output is None:
        asked = f"--scenario-weights {shlex.quote(weights)} --criterion {criterion}"
        return f"Next: spareopt robust {given} {asked} -o my-robust-plan"
    file = shlex.quote(f"{output}/decisions.json")
    return f"{written_to(output)}Next: spareopt neighbours {given} --plan {file}"
