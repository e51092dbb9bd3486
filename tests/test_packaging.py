"""The wheel that users install: what it holds, that it runs outside the checkout, and that its types hold."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean | environment, capture_output=True, text=True, check=False
    )


def litter() -> set[Path]:
    """What a build from the checkout itself leaves there."""
    return {path for pattern in ("build", "*.egg-info", "*/*.egg-info") for path in ROOT.glob(pattern)}


@pytest.fixture(scope="module")
def before() -> set[Path]:
    """What an installation left in the checkout before these tests."""
    return litter()


@pytest.fixture(scope="module")
def wheel(before: set[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of what git would commit, so that the checkout stays clean."""
    folder = tmp_path_factory.mktemp("wheel")
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    assert listed.returncode == 0, listed.stderr
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / "source" / name)
    built = run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ".", cwd=folder / "source")
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the wheel is installed in, without its dependencies."""
    target = tmp_path_factory.mktemp("installed")
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", target, wheel)
    result = run(*pip, cwd=target)
    assert result.returncode == 0, result.stderr
    return target


def test_wheel_holds_every_module_and_instance(wheel: Path) -> None:
    """Proves that the package-dir mapping ships all packages, the YAML files and py.typed, and nothing else.

    A package left out of pyproject.toml, or YAML no longer package data, works in the checkout and fails for users.
    """
    package = ROOT / "spareopt"
    expected = {f"spareopt/{path.relative_to(package)}" for path in package.rglob("*.py")} | {"spareopt/py.typed"}
    expected |= {f"spareopt/reports/templates/{path.name}" for path in (package / "reports" / "templates").iterdir()}
    for folder in ("formulations", "instances"):
        paths = [path for pattern in ("*.py", "*.yaml") for path in (ROOT / folder).glob(pattern)]
        expected |= {f"spareopt/{folder}/{path.name}" for path in paths}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == expected
    assert sum(name.endswith(".yaml") for name in names) >= 7


def test_wheel_solves_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    """Proves that an installed wheel solves a shipped instance from another folder, and is what was imported.

    An import that only resolves in the checkout, or an instance read relative to it, would fail here.
    """
    where = "import spareopt, spareopt.instances as i; print(spareopt.__file__); print(i.path('academic-1k'))"
    result = run(sys.executable, "-c", where, cwd=tmp_path, PYTHONPATH=str(installed))
    assert result.returncode == 0, result.stderr
    assert all(line.startswith(str(installed)) for line in result.stdout.split())
    command = (sys.executable, "-m", "spareopt", "solve", "academic-1k", "--json")
    result = run(*command, cwd=tmp_path, PYTHONPATH=str(installed))
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["certificate"]["status"] == "proven"


def test_wheel_works_from_within_a_checkout() -> None:
    """Proves that Python started in a checkout, where it finds this package before an installed one, finds its parts.

    Formulations and instances lie beside the package there, not in it.  The editable install is kept out of the way.
    """
    code = (
        "import sys; sys.meta_path = [f for f in sys.meta_path if '__editable__' not in repr(f)]; "
        "import spareopt; from spareopt.formulations import selection; "
        "print(spareopt.read_instance('academic-1k').name)"
    )
    result = run(sys.executable, "-c", code, cwd=ROOT)
    assert (result.returncode, result.stdout.strip()) == (0, "academic-1k"), result.stderr


def test_types_hold_in_the_installed_wheel(installed: Path, tmp_path: Path) -> None:
    """Proves that ``mypy --strict`` finds nothing in the package as users get it, formulations included.

    Type checkers do not follow the package-dir mapping of an editable install, hence the wheel.
    """
    config = ("--config-file", ROOT / "pyproject.toml", "--cache-dir", ROOT / ".mypy_cache" / "wheel")
    result = run(
        sys.executable, "-m", "mypy", *config, "--strict", "-p", "spareopt", cwd=tmp_path, MYPYPATH=str(installed)
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_simulating_writes_nothing_into_the_installation(installed: Path, tmp_path: Path) -> None:
    """Proves that compiled code of the simulator is kept in the user's cache folder, and where SPAREOPT_CACHE says.

    What an installation has not brought, an uninstallation leaves behind: a folder that hides an editable install.
    """
    draws = "spareopt.simulation.kernel.draws"
    code = f"from {draws} import uniforms; import numpy as np; uniforms(np.ones(2, np.uint64), 1, 1, 1, 1)"
    places = {"XDG_CACHE_HOME": tmp_path / "user" / "spareopt", "SPAREOPT_CACHE": tmp_path / "named"}
    before = {path for path in installed.rglob("*") if path.suffix != ".pyc"}
    for variable, place in places.items():
        environment = {"XDG_CACHE_HOME": str(tmp_path / "user"), "NUMBA_CACHE_DIR": "", "SPAREOPT_CACHE": ""}
        environment |= {variable: str(place.parent if place.name == "spareopt" else place)}
        result = run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(installed), **environment)
        assert result.returncode == 0, result.stderr
        assert [*place.rglob("draws.*.nbc")], variable
    assert {path for path in installed.rglob("*") if path.suffix != ".pyc"} <= before | {
        *installed.rglob("__pycache__")
    }


@pytest.mark.parametrize("command", [("check",), ("format", "--check")], ids=" ".join)
def test_ruff_is_clean(command: tuple[str, ...]) -> None:
    """Proves that the whole tree passes the linter and is formatted."""
    result = run(sys.executable, "-m", "ruff", *command, "-q", ".", cwd=ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_checkout_stays_clean(before: set[Path], installed: Path) -> None:
    """Proves that building the wheel leaves nothing in the checkout, whatever an installation left there before."""
    assert installed.is_dir()
    assert litter() == before
