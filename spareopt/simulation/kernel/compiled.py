"""Compile functions, and keep what was compiled for as long as no source of the kernel changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core import config

from spareopt.simulation.kernel.folder import folder_for_code

_FOLDER = folder_for_code()


def kept(module: str) -> bool:
    """Whether compiled code of a module of these sources is kept, so that there is nothing to wait for."""
    return _FOLDER is not None and any(_FOLDER.rglob(f"{module}.go_on-*.nbc"))  # which is compiled last


def compiled(function: Callable[..., Any]) -> Any:
    """A function for other compiled ones; what it computes is that of the plain one."""
    return _compiled(function, no_cpython_wrapper=True)


def inlined(function: Callable[..., Any]) -> Any:
    """The same, but a part of every function that calls it: for short ones that are called at every event."""
    return _compiled(function, no_cpython_wrapper=True, forceinline=True)


def entry(function: Callable[..., Any], **options: bool) -> Any:
    """A compiled function that plain Python may call, too."""
    return _compiled(function, **options)


def _compiled(function: Callable[..., Any], **options: bool) -> Any:
    # without what is not used: calls from C, arrays made on the way (and so who uses them), errors of divisions
    options |= {"no_cfunc_wrapper": True, "_nrt": False}
    if _FOLDER is None:
        return numba.njit(error_model="numpy", **options)(function)
    before = config.CACHE_DIR
    config.CACHE_DIR = str(_FOLDER)  # where numba looks when it decorates
    try:
        return numba.njit(error_model="numpy", cache=True, **options)(function)
    finally:
        config.CACHE_DIR = before
