"""Curves on disk: a folder with the result, its table and its picture, and the result read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from pydantic import BaseModel, ValidationError

from spareopt.efficient import Frontier
from spareopt.errors import Fault, InputError
from spareopt.exposure import Tornado
from spareopt.marginal import MarginalValues
from spareopt.store import write_folder

Result = TypeVar("Result", bound=BaseModel)
Draw = Callable[[Any, Path], None]


def write_curve(result: Frontier | MarginalValues | Tornado, folder: str | Path, draw: Draw | None = None) -> Path:
    """Write the result as JSON, its table as CSV and, with ``draw``, its picture as SVG.  Raises InputError."""
    name = _name(type(result))
    table: pd.DataFrame = result.table()

    def fill(whole: Path) -> None:
        (whole / f"{name}.json").write_text(result.to_json(), encoding="utf-8")
        table.to_csv(whole / f"{name}.csv", index=False)
        if draw is not None:
            draw(result, whole / f"{name}.svg")

    return write_folder(folder, fill)


def read_frontier(source: str | Path) -> Frontier:
    """A frontier from its folder or its frontier.json.  Raises InputError."""
    return _read(Frontier, source)


def read_marginal_values(source: str | Path) -> MarginalValues:
    """Marginal values from their folder or their marginal.json.  Raises InputError."""
    return _read(MarginalValues, source)


def read_tornado(source: str | Path) -> Tornado:
    """A tornado from its folder or its tornado.json.  Raises InputError."""
    return _read(Tornado, source)


def _name(model: type[BaseModel]) -> str:
    return {Frontier: "frontier", MarginalValues: "marginal", Tornado: "tornado"}[model]


def _read(model: type[Result], source: str | Path) -> Result:
    path = Path(source)
    path = path / f"{_name(model)}.json" if path.is_dir() else path
    try:
        return model.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(path), [Fault("", f"can't be read: {error.strerror or error}")]) from None
    except (ValidationError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        raise InputError(str(path), [Fault("", f"is not a {_name(model)} that spareopt wrote ({first})")]) from None
