"""Results on disk, whatever they are: a folder that appears whole or not at all, and a result read back from it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from spareopt.errors import Fault, InputError

Model = TypeVar("Model", bound=BaseModel)
_EXISTS = "already exists; choose another name, or move the old one away"


def check_new_folder(folder: str | Path) -> Path:
    """The path of a folder that can be written without losing anything.  Raises InputError."""
    path = Path(folder)
    parent = path.absolute().parent
    message = ""
    try:
        if not str(folder).strip() or "\0" in str(folder):
            message = "expected the name of a new folder"
        elif path.is_symlink():
            message = "is a link; name a new folder"
        elif path.exists() and (not path.is_dir() or any(path.iterdir())):
            message = "already exists; name a new folder, or move the old one away"
        elif not path.name or path.name == "..":
            message = "expected the name of a new folder"
        elif not parent.is_dir():
            message = f"its parent folder {parent} does not exist; make it first"
        elif not os.access(parent, os.W_OK | os.X_OK):
            message = f"its parent folder {parent} can't be written to"
    except OSError as error:  # such as a name too long
        message = f"can't be a folder: {error.strerror or error}"
    if message:
        raise InputError(str(folder)[:200] or "''", [Fault("", message)])
    return path


def write_folder(folder: str | Path, fill: Callable[[Path], None]) -> Path:
    """Write a folder, which appears complete or not at all.  Raises InputError where something stands there."""
    path = check_new_folder(folder)
    try:
        with tempfile.TemporaryDirectory(prefix=".spareopt-", dir=path.absolute().parent) as scratch:
            whole = Path(scratch) / "whole"
            whole.mkdir()
            fill(whole)
            if path.exists():
                path.rmdir()  # refuses a folder that has been filled meanwhile
            whole.rename(path)
    except OSError as error:
        raise InputError(str(folder), [Fault("", f"can't be written: {error.strerror or error}")]) from None
    return path


def check_new_file(path: str | Path) -> Path:
    """The path of a file that can be written without losing anything.  Raises InputError."""
    file, label = Path(path), str(path)[:200] or "''"
    message = ""
    try:
        if not str(path).strip() or "\0" in str(path) or not file.name or file.name == "..":
            message = "expected the name of a new file"
        elif file.exists() or file.is_symlink():
            message = _EXISTS
        elif not file.absolute().parent.is_dir():
            message = f"can't be written: its folder {file.absolute().parent} does not exist; make it first"
    except OSError as error:  # such as a name too long
        message = f"can't be written: {error.strerror or error}"
    if message:
        raise InputError(label, [Fault("", message)])
    return file


def write_new_file(path: str | Path, content: str | bytes) -> None:
    """Write a new file, which appears whole or not at all; texts in UTF-8.  Raises InputError where there is one."""
    file, label = check_new_file(path), str(path)[:200]
    data = content.encode("utf-8") if isinstance(content, str) else content
    scratch = None
    try:
        with tempfile.NamedTemporaryFile(dir=file.absolute().parent, prefix=".spareopt-", delete=False) as stream:
            scratch = Path(stream.name)
            stream.write(data)
        scratch.chmod(0o666 & ~_umask())
        try:
            os.link(scratch, file)  # fails where something has come to stand there meanwhile
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            with file.open("xb") as new:
                new.write(data)
    except FileExistsError:
        raise InputError(label, [Fault("", _EXISTS)]) from None
    except OSError as error:
        raise InputError(label, [Fault("", f"can't be written: {error.strerror or error}")]) from None
    finally:
        if scratch is not None:
            scratch.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_result(model: type[Model], source: str | Path, name: str, what: str) -> Model:
    """A result from its JSON file, or from the folder that holds it under a name.

    Raises InputError where nothing can be read there, or it is not ``what`` (such as "a plan").
    """
    path = Path(source)
    path = path / name if path.is_dir() else path
    try:
        return model.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(path), [Fault("", f"can't be read: {error.strerror or error}")]) from None
    except (ValidationError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        raise InputError(str(path), [Fault("", f"is not {what} that spareopt wrote ({first})")]) from None


def json_text(data: Any) -> str:
    """Plain data as the text of a JSON file."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def fingerprints(files: Iterable[Path], folder: Path) -> dict[str, str]:
    """The SHA-256 of each file, by its path within the folder."""
    return {file.relative_to(folder).as_posix(): fingerprint(file) for file in files}


def fingerprint(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
