"""Where compiled code is kept: never in the package, and a place that only its user can write."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest
from numba.core import config

import spareopt
from spareopt.simulation.kernel import folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without any variable set, whose home and temporary files lie in a folder of this test."""
    for name in ("XDG_CACHE_HOME", folder.CACHE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))


def test_code_is_kept_in_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves which folder is taken on each system, and that what the environment names goes before it."""
    monkeypatch.setattr(sys, "platform", "linux")
    places = {"linux": ".cache/spareopt", "darwin": "Library/Caches/spareopt", "win32": "AppData/Local/spareopt/cache"}
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    for system, place in places.items():
        monkeypatch.setattr(sys, "platform", system)
        found = folder.folder_for_code()
        assert found is not None
        assert found.parent == tmp_path / "home" / place
    for name in ("XDG_CACHE_HOME", folder.CACHE):
        monkeypatch.setenv(name, str(tmp_path / name))
        found = folder.folder_for_code()
        assert found is not None
        assert found.is_relative_to(tmp_path / name)
        assert not found.is_relative_to(Path(spareopt.__file__).parent)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders of other users are told by their numbers")
def test_another_place_where_the_first_can_not_be_written(tmp_path: Path) -> None:
    """Proves that a home that is no folder leads to a folder for temporary files, one that others can't write."""
    (tmp_path / "home").write_text("no folder")
    found = folder.folder_for_code()
    assert found is not None
    assert found.parent.parent == tmp_path
    found.parent.chmod(0o777)  # as another user may have made it, to have code of theirs run
    assert folder.folder_for_code() is None
    found.parent.chmod(0o700)
    assert folder.folder_for_code() == found


def test_versions_do_not_clash_and_the_unused_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that each installation has a folder of its own, and that only what is long unused is removed."""
    first = folder.folder_for_code()
    monkeypatch.setattr(folder, "HERE", tmp_path / "another installation")
    second = folder.folder_for_code()
    assert first is not None
    assert second is not None
    assert first != second
    assert first.is_dir()
    os.utime(first, (1e9, 1e9))
    assert folder.folder_for_code() == second
    assert first.is_dir()  # nothing is removed while there is nothing new
    monkeypatch.setattr(folder, "HERE", tmp_path / "a third")
    assert folder.folder_for_code() is not None
    assert second.is_dir()
    assert not first.exists()
