"""The folder in which compiled code is kept: the user's own, one for each version, installation and processor."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numba
from numba.core import config
from numba.core.registry import cpu_target

HERE = Path(__file__).parent
SOURCES = [*sorted(HERE.glob("*.py")), *(HERE.parent / f"{name}.py" for name in ("laws", "outcome", "system"))]

CACHE = "SPAREOPT_CACHE"
"""The environment variable that says where compiled code is kept."""

UNUSED = 90 * 86_400.0
"""Seconds after which compiled code that no process has asked for is removed: that of versions no longer installed."""


def _key() -> str:
    """A hash of all that compiled code depends on: numba looks at a function's own file only.

    Where the sources are is part of it, because numba keeps compiled code by that, and so is the processor: what one
    installation has compiled is not there for another, or for another machine with the same home.
    """
    machine = cpu_target.target_context.codegen().magic_tuple()
    digest = hashlib.sha256(repr((numba.__version__, sys.version_info[:2], machine, str(HERE))).encode())
    for path in SOURCES:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _own_cache() -> Path:
    """The user's cache folder for spareopt, where the system at hand has such folders."""
    if given := os.environ.get("XDG_CACHE_HOME"):
        return Path(given).expanduser() / "spareopt"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path("~", "AppData", "Local").expanduser()) / "spareopt" / "cache"
    if sys.platform == "darwin":
        return Path("~/Library/Caches/spareopt").expanduser()
    return Path("~/.cache/spareopt").expanduser()


def _parents() -> Iterator[Path]:
    """Where compiled code may be kept, best first: never in the package, whose folder an uninstallation would leave."""
    for given in (os.environ.get(CACHE), config.CACHE_DIR):
        if given:
            yield Path(given).expanduser()
    with contextlib.suppress(RuntimeError):  # there is no home
        yield _own_cache()
    if (parent := _temporary()) is not None:
        yield parent


def _temporary() -> Path | None:
    """A folder below that for temporary files, if it is this user's alone: what it holds is run."""
    own = getattr(os, "getuid", lambda: None)()
    folder = Path(tempfile.gettempdir()) / f"spareopt-{'cache' if own is None else own}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    others = own is not None and (found.st_uid != own or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    return None if others or not stat.S_ISDIR(found.st_mode) else folder


def folder_for_code() -> Path | None:
    """The folder in which compiled code is kept, or None where none can be written."""
    name = f"kernel-{_key()}"
    for parent in _parents():
        folder = parent / name
        try:
            if not folder.is_dir():
                folder.mkdir(parents=True, exist_ok=True)
                _remove_unused(parent)
            tempfile.TemporaryFile(dir=folder).close()
            os.utime(folder)  # it is in use
        except OSError:
            continue
        return folder
    return None


def _remove_unused(parent: Path) -> None:
    """Remove what was compiled for versions that no process has asked for in a long time."""
    for folder in parent.glob("kernel-*"):
        with contextlib.suppress(OSError):  # another process has removed it
            if time.time() - folder.stat().st_mtime > UNUSED:
                shutil.rmtree(folder, ignore_errors=True)
