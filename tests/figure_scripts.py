"""The scripts that make the figures of the documentation, as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "figures"
PAGE = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")


def figure_script(name: str) -> ModuleType:
    """The script of a figure; it draws nothing until it is asked to."""
    spec = importlib.util.spec_from_file_location(name, FIGURES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module
