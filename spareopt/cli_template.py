"""The command ``spareopt template``: tables for a planner to fill in."""

from __future__ import annotations

import shlex

import click

from spareopt.overlays.templates import TEMPLATES


@click.command()
@click.argument("kind", type=click.Choice(list(TEMPLATES)))
@click.option("-o", "--output", metavar="FILE", help="Write it to a new file; it is printed when left out.")
@click.option(
    "--from",
    "source",
    default="gb200-4x256",
    show_default=True,
    metavar="INSTANCE",
    help="The instance (a shipped name or a file) whose items and figures it is filled in with.",
)
def template(kind: str, output: str | None, source: str) -> None:
    """Write a table to fill in, with comments that say how."""
    from spareopt.folders import write_new_file  # noqa: PLC0415
    from spareopt.overlays.templates import template_text  # noqa: PLC0415
    from spareopt.reading import read_instance  # noqa: PLC0415

    text = template_text(kind, read_instance(source))
    if output is None:
        click.echo(text, nl=False)
        return
    write_new_file(output, text)
    then = TEMPLATES[kind].next_step.format(instance=shlex.quote(source), file=shlex.quote(output))
    click.echo(f"Wrote {output} with the figures of {source}: replace them by your own.\nNext: {then}")


template.help = f"{template.help}\n\n\b\n" + "\n".join(f"{kind:<10} {item.what}" for kind, item in TEMPLATES.items())
