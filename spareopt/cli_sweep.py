"""The command ``spareopt sweep``: solve an instance at every point of a grid of inputs."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from spareopt.cli_options import instance_options, json_option, many_solves_options, processes_option, typed_again
from spareopt.errors import Fault, InputError
from spareopt.exits import BAD_INPUT, INTERRUPTED, LIMIT_WITH_PLAN, written_to

if TYPE_CHECKING:
    from spareopt.instance import Instance
    from spareopt.sweep_result import Sweep


@click.command()
@instance_options
@click.option(
    "--over",
    multiple=True,
    required=True,
    metavar="AXIS",
    help="PATH[,PATH...]=VALUE,VALUE,... or =LOW:HIGH:COUNT[:log], such as limits.capital=0.8x:1.2x:9 or "
    "scenario=none,half-mtbf; each one more is another axis of the grid.",
)
@many_solves_options
@click.option("-o", "--output", metavar="FOLDER", help="Write the tables and every plan to a new folder.")
@processes_option("Points solved")
@click.option("--dask", metavar="ADDRESS", help="Solve on the Dask cluster at this address, such as tcp://host:8786.")
@click.option("--resume", is_flag=True, help="Go on with the sweep that stands in FOLDER.")
@json_option
def sweep(
    *,
    given: str,
    instance: Instance,
    over: tuple[str, ...],
    gap: float,
    time_limit: float | None,
    seed: int,
    model: Any,
    output: str | None,
    processes: int,
    dask: str | None,
    resume: bool,
    as_json: bool,
) -> None:
    """Solve INSTANCE at every point of a grid of inputs, and say which decisions change where."""
    from spareopt.axes import parse_axis  # noqa: PLC0415
    from spareopt.progress import PointsLine  # noqa: PLC0415
    from spareopt.sweep_folder import UnwrittenError  # noqa: PLC0415
    from spareopt.sweep_text import sweep_text  # noqa: PLC0415
    from spareopt.sweeps import run_sweep  # noqa: PLC0415
    from spareopt.what_if import SolveOptions  # noqa: PLC0415

    context = click.get_current_context()
    if resume and output is None:
        raise click.UsageError("--resume needs -o FOLDER, the folder of the sweep to go on with.")
    if dask is not None and context.get_parameter_source("processes") == click.core.ParameterSource.COMMANDLINE:
        raise click.UsageError("--processes does not go with --dask: the cluster has its own; leave one of them out.")
    axes = [parse_axis(text, "--over") for text in over]
    again = f"spareopt sweep {given}{typed_again(context, REPEATED)}"
    not_written: InputError | None = None
    with ExitStack() as stack:
        executor = None
        if dask is not None:
            from spareopt.clusters import dask_client  # noqa: PLC0415

            executor = stack.enter_context(dask_client(dask))
        line = stack.enter_context(PointsLine())
        try:
            result = run_sweep(
                instance, axes, SolveOptions(gap, time_limit, seed, model), processes=processes, executor=executor,
                folder=output, resume=resume, on_progress=line.show,
            )  # fmt: skip
        except UnwrittenError as error:
            not_written = InputError(error.source, [Fault("", f"{error.faults[0].message}: {again} --resume")])
            if error.sweep is None:
                raise not_written from None
            result = error.sweep  # what may have taken an hour is printed all the same
    if as_json:
        click.echo(result.to_json(), nl=False)
        if result.status == "interrupted" and output is not None:
            click.echo(f"interrupted; what is finished is kept. Go on: {again} --resume", err=True)
    else:
        click.echo(sweep_text(result), nl=False)
        if not_written is None:
            click.echo("\n" + _next_step(result, given, again, output))
    if not_written is not None:
        click.echo(f"error: {not_written}", err=True)
        context.exit(BAD_INPUT)
    codes = {"interrupted": INTERRUPTED, "not all proven": LIMIT_WITH_PLAN}
    context.exit(codes.get(result.status, 0))


REPEATED = ("over", "gap", "time_limit", "seed", "model", "output", "processes", "dask")


def _next_step(result: Sweep, given: str, again: str, output: str | None) -> str:
    from spareopt.settings import options_of  # noqa: PLC0415

    if result.status == "interrupted":
        if output is None:
            return f"Interrupted. Keep what is finished next time: {again} -o my-sweep"
        return f"Interrupted; what is finished is kept in {shlex.quote(output)}. Go on: {again} --resume"
    if output is None:
        return f"Next: {again} -o my-sweep"
    solved = [point for point in result.points if point.decisions is not None]
    if not solved:
        return written_to(output).strip()
    changes = options_of((entry.path, entry.given) for entry in solved[0].inputs)
    plan = shlex.join([*changes, "--plan", f"{output}/plans/{solved[0].point}.json"])
    return f"{written_to(output)}Next, any of its plans: spareopt neighbours {given} {plan}"
