"""The map of the house is that of the code: packages, modules by their first lines, arrows, files that exist."""

from __future__ import annotations

import re
from pathlib import Path

from docs import module_map

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")


def test_the_page_of_modules_is_fresh() -> None:
    """Proves that docs/reference/modules.md has each module once, with its first line of today.

    Where this fails: ``python -m docs.module_map``.
    """
    text = module_map.PAGE.read_text(encoding="utf-8")
    assert text == module_map.page()
    listed = re.findall(r"^\| `(\w+)` \| \S", text.split("## spareopt.", maxsplit=1)[0], re.MULTILINE)
    there = [file.stem for file in (ROOT / "spareopt").glob("*.py") if file.stem != "__init__"]
    assert sorted(listed) == sorted(there)


def test_imports_have_no_cycle() -> None:
    """Proves that the modules can be put in an order in which each imports only those before it."""
    ranks = module_map.ranks()
    for name, rank in ranks.items():
        imported = module_map.imported(ROOT / "spareopt" / f"{name}.py") & set(ranks)
        assert all(ranks[other] < rank for other in imported), name


def test_every_package_is_on_the_map() -> None:
    """Proves that the contributing page lists each package with its first line, and pyproject.toml ships each."""
    assert module_map.packages_table() + "\n" in TEXT
    shipped = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("\npackages = [")[1].split("]")[0]
    assert set(re.findall(r'"([\w.]+)"', shipped)) == set(module_map.packages())


def test_files_that_the_page_names_exist() -> None:
    """Proves that each file and folder of the code that the contributing page tells to touch is there."""
    named = re.findall(r"`([\w/.]+(?:\.py|\.md|\.yml|/))`", TEXT)
    assert len(named) > 40
    for name in named:
        homes = (ROOT, ROOT / "spareopt")
        assert any((home / name).exists() for home in homes), name
