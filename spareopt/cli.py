"""The command line: parse, call, print.  Exit codes: see EXIT_CODES."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from spareopt.errors import Fault, InputError, SpareoptError

if TYPE_CHECKING:
    from spareopt.instance import Instance
    from spareopt.optimise import SolveProgress

EXIT_CODES = """\b
Exit codes: 0 proven (or done), 1 internal error, 2 usage or bad input,
3 infeasible (or a limit broken), 4 limit reached with a plan in hand,
5 limit reached without one, 130 interrupted (a plan in hand is kept)."""
LIMIT_WITH_PLAN, BROKEN_LIMIT, INTERRUPTED = 4, 3, 130
PROGRESS_AFTER = 2.0  # s


class _Group(click.Group):
    """A group that turns refusals into one message and the documented exit code, as JSON where asked."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SpareoptError as error:
            _fail(error, ctx)
        except BrokenPipeError:
            sys.stderr.close()
            ctx.exit(1)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)


def _fail(error: SpareoptError, ctx: click.Context) -> None:
    if "--json" in sys.argv[1:] or ctx.meta.get("json"):
        details: dict[str, Any] = {"error": type(error).__name__.rstrip("_"), "message": str(error)}
        if isinstance(error, InputError):
            details["source"] = error.source
            details["faults"] = [{"field": f.field, "line": f.line, "message": f.message} for f in error.faults]
        click.echo(json.dumps(details, indent=2, ensure_ascii=False))
    else:
        click.echo(f"error: {error}", err=True)
    ctx.exit(error.exit_code)


@click.group(cls=_Group, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="spareopt")
def main() -> None:
    """Decide how to spare a large AI training cluster, and prove how good the plan is.

    Start with: spareopt solve meta-2026
    """


def _instance_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which instance is meant."""

    @click.argument("source", metavar="INSTANCE")
    @click.option(
        "--scenario", "scenarios", multiple=True, metavar="NAME", help="Apply a named scenario; may be repeated."
    )
    @click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="PATH=VALUE",
        help='Override a field, such as limits.capital="3.9 G$" or failures.tray.mtbf=0.5x; may be repeated.',
    )
    @wraps(command)
    def wrapped(source: str, scenarios: tuple[str, ...], settings: tuple[str, ...], **options: Any) -> Any:
        from spareopt.reading import read_instance  # noqa: PLC0415

        instance = read_instance(source, scenarios=scenarios, overrides=_overrides(settings))
        return command(source=source, instance=instance, **options)

    return wrapped


def _overrides(settings: tuple[str, ...]) -> dict[str, Any]:
    from spareopt.reading import parse_value  # noqa: PLC0415

    result = {}
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals or not path.strip():
            raise InputError(
                "--set", [Fault("", f"expected PATH=VALUE such as limits.capital='3.9 G$', got {setting!r}")]
            )
        result[path.strip()] = parse_value(text)
    return result


def _model_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--model",
        type=click.Choice(["exact", "first-order"]),
        default="exact",
        show_default=True,
        help="The exact model, or the published first-order one for comparison.",
    )(command)


_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON; nothing else goes to stdout.")


def _solve_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--gap",
            type=click.FloatRange(0, 1, max_open=True),
            default=1e-4,
            show_default=True,
            help="Relative gap to prove; 0 for the last digit.",
        ),
        click.option(
            "--time-limit",
            type=click.FloatRange(0, min_open=True),
            default=None,
            metavar="SECONDS",
            help="Stop after so many seconds with the best plan found.",
        ),
        click.option(
            "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Seed of the solver."
        ),
    ):
        command = option(command)
    return _model_option(command)


@main.command()
@_instance_options
@_solve_options
@click.option(
    "-o", "--output", metavar="FOLDER", help="Write the plan, its tables, the MILP and the log to a new folder."
)
@_json_option
def solve(
    source: str,
    instance: Instance,
    gap: float,
    time_limit: float | None,
    seed: int,
    model: Any,
    output: str | None,
    as_json: bool,
) -> None:
    """Find the best plan of INSTANCE (a shipped name or a file) and prove how good it is."""
    from spareopt import optimise, report, store  # noqa: PLC0415
    from spareopt.plan import PROVEN  # noqa: PLC0415

    if output is not None:
        store.check_new_folder(output)
    with _Progress() as progress:
        plan = optimise.solve(
            instance, gap=gap, time_limit=time_limit, seed=seed, model=model, on_progress=progress.show
        )
    if output is not None:
        store.write_plan(plan, instance, output)
    if as_json:
        click.echo(plan.to_json(), nl=False)
    else:
        click.echo(report.plan_text(plan, instance), nl=False)
        if output is not None:
            click.echo(f"Written to {output}. Next: spareopt evaluate {source} --plan {output}")
        else:
            click.echo(f"Next: spareopt solve {source} -o my-plan, or spareopt show {source}")
    if plan.certificate.status != PROVEN:
        interrupted = plan.certificate.status == "interrupted"
        click.get_current_context().exit(INTERRUPTED if interrupted else LIMIT_WITH_PLAN)


@main.command()
@_instance_options
@click.option(
    "--plan", "plan_source", required=True, metavar="PLAN", help="A plan file (YAML or JSON) or a plan folder."
)
@click.option(
    "--optimum/--no-optimum", default=True, show_default=True, help="Also solve, and compare decision by decision."
)
@_solve_options
@_json_option
def evaluate(
    source: str,
    instance: Instance,
    plan_source: str,
    optimum: bool,
    gap: float,
    time_limit: float | None,
    seed: int,
    model: Any,
    as_json: bool,
) -> None:
    """Score a planner's own PLAN, and put it beside the optimum."""
    from spareopt import evaluation as scoring  # noqa: PLC0415
    from spareopt import report  # noqa: PLC0415
    from spareopt.decisions import beyond_choices, read_decisions  # noqa: PLC0415

    mine = read_decisions(plan_source)
    try:
        result = scoring.evaluate(instance, mine, model=model)
    except InputError as error:
        raise InputError(plan_source, error.faults) from None
    beyond = beyond_choices(instance, mine)
    best, table = None, None
    if optimum:
        best, table = _optimum(instance, mine, gap, time_limit, seed, model)
    if as_json:
        document = {
            "evaluation": result.model_dump(mode="json"),
            "beyond_choices": beyond,
            "optimum": None if best is None else best.model_dump(mode="json"),
            "comparison": None if table is None else json.loads(table.to_json(orient="records")),
        }
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        title = f"{instance.name}: your plan {plan_source}"
        click.echo(report.evaluation_text(title, mine, result, instance), nl=False)
        if beyond:
            click.echo(f"Note: the instance does not offer {'; '.join(beyond)}.")
        if best is not None and table is not None:
            from spareopt.comparison import objective_value  # noqa: PLC0415

            kind = instance.objective.kind
            text = report.comparison_text(
                table, kind, objective_value(instance, result), best.certificate.value, instance.currency
            )
            click.echo("\n" + text, nl=False)
    if result.violated:
        click.get_current_context().exit(BROKEN_LIMIT)


def _optimum(instance: Instance, mine: Any, gap: float, time_limit: float | None, seed: int, model: Any) -> Any:
    from spareopt import optimise  # noqa: PLC0415
    from spareopt.comparison import compare_decisions  # noqa: PLC0415

    with _Progress() as progress:
        best = optimise.solve(
            instance, gap=gap, time_limit=time_limit, seed=seed, model=model, on_progress=progress.show
        )
    return best, compare_decisions(instance, mine, best.decisions, model)


@main.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@_json_option
def validate(files: tuple[str, ...], as_json: bool) -> None:
    """Check instance files, their scenarios too, and report all faults at once with line and field."""
    from spareopt.reading import check_scenarios, read_instance  # noqa: PLC0415

    results: list[dict[str, Any]] = []
    for file in files:
        faults: list[Fault] = []
        try:
            read_instance(file)
            faults = check_scenarios(file)
        except InputError as error:
            faults = error.faults
        results.append(
            {
                "file": file,
                "valid": not faults,
                "faults": [{"field": f.field, "line": f.line, "message": f.message} for f in faults],
            }
        )
        if not as_json:
            click.echo(f"{file}: valid" if not faults else str(InputError(file, faults)), err=bool(faults))
    if as_json:
        click.echo(json.dumps(results, indent=2, ensure_ascii=False))
    if not all(result["valid"] for result in results):
        click.get_current_context().exit(2)


@main.command()
@_instance_options
@click.option("--design", default=None, metavar="NAME", help="The block design to show; the first one when left out.")
@_json_option
def show(source: str, instance: Instance, design: str | None, as_json: bool) -> None:
    """Show the cluster of INSTANCE as a tree of fault domains: units, blast radius, faults a day."""
    from spareopt import report, topology  # noqa: PLC0415

    names = [item.name for item in instance.designs]
    if design is not None and design not in names:
        raise InputError("--design", [Fault("", f"unknown design {design!r}; expected one of {', '.join(names)}")])
    layouts = []
    for zone in instance.zones:
        allowed = [item for item in instance.designs if zone.designs is None or item.name in zone.designs]
        chosen = next((item for item in allowed if design is None or item.name == design), None)
        if chosen is not None:
            layouts.append(topology.ZoneLayout(zone.name, zone.count, chosen, max(zone.racks)))
    graph = topology.build_topology(instance, layouts)
    if as_json:
        click.echo(json.dumps(topology.as_data(graph), indent=2, ensure_ascii=False))
        return
    click.echo(report.topology_text(graph, instance), nl=False)
    if len(names) > 1:
        click.echo(f"Designs: {', '.join(names)}; show another with --design NAME.")


@main.command()
def schema() -> None:
    """Print the JSON schema of an instance file, for editors and checks."""
    from spareopt.instance import Instance  # noqa: PLC0415

    click.echo(json.dumps(Instance.model_json_schema(), indent=2, ensure_ascii=False))


@main.command()
@_json_option
def instances(as_json: bool) -> None:
    """List the shipped instances."""
    from spareopt import instances as shipped  # noqa: PLC0415
    from spareopt import report  # noqa: PLC0415
    from spareopt.reading import read_instance  # noqa: PLC0415

    rows = [(name, read_instance(name).description) for name in shipped.names()]
    if as_json:
        click.echo(
            json.dumps([{"name": name, "description": text} for name, text in rows], indent=2, ensure_ascii=False)
        )
        return
    click.echo(report.instances_text(rows), nl=False)
    click.echo("Next: spareopt solve NAME, or spareopt new my-cluster.yaml --from NAME")


@main.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--from",
    "template",
    default="gb200-4x256",
    show_default=True,
    metavar="NAME",
    help="The shipped instance to start from.",
)
def new(file: str, template: str) -> None:
    """Write a new instance FILE, a commented copy of a shipped one, to be edited."""
    from spareopt.reading import new_instance  # noqa: PLC0415

    new_instance(file, template)
    click.echo(f"Wrote {file}. Edit it, then: spareopt validate {file} && spareopt solve {file}")


class _Progress:
    """Says on stderr where a solve stands once it takes over two seconds: one line that is rewritten, or plain lines."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._started = time.perf_counter()
        self._shown = False
        self._last = ""

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def show(self, progress: SolveProgress) -> None:
        """Show where a solve stands."""
        if time.perf_counter() - self._started < PROGRESS_AFTER:
            return
        value = "no plan yet" if progress.value is None else f"best {progress.value:,.6g}"
        bound = "" if progress.bound is None else f", bound {progress.bound:,.6g}"
        text = f"{progress.phase}: {value}{bound}"
        if text == self._last and not self._live:
            return
        self._last, self._shown = text, True
        line = f"[{progress.seconds:5.1f} s] {text}"
        sys.stderr.write(f"\r\x1b[K{line}" if self._live else f"{line}\n")
        sys.stderr.flush()


if __name__ == "__main__":
    main()
