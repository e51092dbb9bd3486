"""The page of all modules by their first lines, in the order of their imports, and the table of packages.

``python -m docs.module_map`` writes both anew.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).parent / "reference" / "modules.md"
CONTRIBUTING = Path(__file__).parent / "contributing.md"
HEAD = """# All modules

Each module holds one idea, and its first line says which. [Contributing](../contributing.md) says how they hang
together.

This page is made by `python -m docs.module_map`, and a test proves it fresh.
"""
EDGES = {
    "Commands": r"cli(_.*)?|exits|__main__",
    "Results as text": r".*_text|listings",
    "Results as pictures": r"(.*_)?pictures",
    "Results on disk": r"(.*_)?store|sweep_folder|kept_runs|once|run_.*",
}
"""Modules of the edge by their names; all others are listed in the order of their imports."""


def first_line(file: Path) -> str:
    """What a module says of itself in its first line."""
    words = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").splitlines()[0]
    return words.replace("``", "`")


def imported(file: Path) -> set[str]:
    """The modules of spareopt that a module imports when it is loaded: by name, packages as a whole."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "spareopt":
            parts = node.module.split(".")[1:2]
            names |= set(parts or (alias.name for alias in node.names))
    return names


def packages() -> dict[str, Path]:
    """Each package, dotted, and its folder; that of the formulations lies beside spareopt."""
    found = {"spareopt": ROOT / "spareopt"}
    for start in sorted((ROOT / "spareopt").rglob("__init__.py")):
        if start.parent != ROOT / "spareopt":
            found[".".join(start.parent.relative_to(ROOT).parts)] = start.parent
    return found | {"spareopt.formulations": ROOT / "formulations", "spareopt.instances": ROOT / "instances"}


def packages_table() -> str:
    """All packages and their first lines, as the contributing page has them."""
    rows = [f"| `{name}` | {first_line(folder / '__init__.py')} |" for name, folder in packages().items()]
    return "\n".join(["| package | what it holds |", "|---|---|", *rows]) + "\n"


def edge_of(name: str) -> str | None:
    """The part of the edge that a module belongs to."""
    return next((edge for edge, rule in EDGES.items() if re.fullmatch(rule, name)), None)


def ranks() -> dict[str, int]:
    """For each module that is not of the edge, how many arrows lead to it at most: 0 imports none of the others."""
    files = {file.stem: file for file in (ROOT / "spareopt").glob("*.py") if not file.stem.startswith("__")}
    core = {name: file for name, file in files.items() if edge_of(name) is None}

    @cache
    def rank(name: str) -> int:
        return max((rank(other) + 1 for other in imported(core[name]) & set(core)), default=0)

    return {name: rank(name) for name in core}


def table(files: list[Path]) -> str:
    """Modules and their first lines."""
    rows = [f"| `{file.stem}` | {first_line(file).replace('|', chr(92) + '|')} |" for file in files]
    return "\n".join(["| module | what it holds |", "|---|---|", *rows]) + "\n"


def page() -> str:
    """The text of the page."""
    top = ROOT / "spareopt"
    text = HEAD + "\n## spareopt: models and searches\n\nOf this table each module imports only those above it.\n\n"
    order = sorted(ranks().items(), key=lambda item: (item[1], item[0]))
    text += table([top / f"{name}.py" for name, _ in order])
    for edge in EDGES:
        files = [file for file in sorted(top.glob("*.py")) if edge_of(file.stem) == edge]
        text += f"\n## spareopt: {edge.lower()}\n\n{table(files)}"
    for package, folder in packages().items():
        if package != "spareopt":
            files = [file for file in sorted(folder.glob("*.py")) if file.stem != "__init__"]
            text += f"\n## {package}\n\n{first_line(folder / '__init__.py')}\n"
            text += f"\n{table(files)}" if files else ""
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    text = CONTRIBUTING.read_text(encoding="utf-8")
    table_of_old = re.compile(r"\| package \| what it holds \|\n(?:\|.*\n)*")
    CONTRIBUTING.write_text(table_of_old.sub(lambda _: packages_table(), text), encoding="utf-8")
