"""The page of ``spareopt explore`` in a real browser."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from spareopt.cli import main
from tests import browser

browser_page = browser.browser_page
pytestmark = pytest.mark.skipif(find_spec("panel") is None, reason="panel is not installed")


@dataclass
class Served:
    """The command at work."""

    url: str
    export: Path
    process: subprocess.Popen[str]


@pytest.fixture
def served(browser_page: browser.Watched, tmp_path: Path) -> Iterator[Served]:
    """``spareopt explore academic-1k``, on a port of its own; started only where there is a browser."""
    export = tmp_path / "kept.yaml"
    words = ["explore", "academic-1k", "--no-browser", "--json", "-o", str(export)]
    process = subprocess.Popen([sys.executable, "-m", "spareopt", *words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            assert line, f"ended with {process.wait()}: {text}"
            text += line
        yield Served(json.loads(text)["url"], export, process)
    finally:
        process.kill()
        process.communicate()


def set_lever(page: Any, name: str, text: str) -> None:
    box = page.locator(f".lever-{name} input[type=text]")
    box.fill(text)
    box.press("Enter")


def answered(page: Any, what: str, kind: str = "proven") -> str:
    """The headline once what is asked is answered."""
    banner = page.locator(f".banner.{kind}", has_text=what)
    banner.wait_for()
    return str(banner.locator("h1").inner_text())


def test_a_moved_cap_gives_a_new_proven_plan_that_the_command_line_finds_too(
    browser_page: browser.Watched, served: Served, tmp_path: Path
) -> None:
    """Proves that the page solves what its levers say, tab by tab, and that what it exports solves to the same value.

    A tighter yearly cost gives a new proven plan; kept, written and downloaded it is the same scenario, which the
    command line solves to the value shown.  A cap that can't be met says so and leads back to a plan.  Another tab
    knows nothing of it.  No script fails, nothing but this machine is asked, a narrow window does not scroll
    sideways, and Ctrl-C ends the command with code 0, as the page then says.
    """
    page = browser_page.page
    page.goto(served.url)
    nominal = answered(page, "The instance as it stands")
    assert "proven within" in nominal

    set_lever(page, "limits-yearly_cost", "1.5 M$ per year")
    found = answered(page, "What if: yearly cost 1.5 M$ per year")
    assert "proven within" in found and found != nominal

    page.get_by_role("textbox", name="name of the what-if").fill("tight “Büro”")
    page.get_by_role("button", name="Keep this what-if").click()
    page.get_by_role("button", name="Write ").click()
    page.get_by_text("Written to").wait_for()
    with page.expect_download() as download:
        page.get_by_text("Download what-ifs.yaml").click()
    download.value.save_as(tmp_path / "what-ifs.yaml")
    assert (tmp_path / "what-ifs.yaml").read_bytes() == served.export.read_bytes()

    words = ["solve", "academic-1k", "--overlay", str(served.export), "--scenario", "tight Buro", "--json"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    value = json.loads(result.stdout)["certificate"]["value"]
    assert found.startswith(f"Goodput {value:,.1f} baseline GPUs")

    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function("document.documentElement.scrollWidth <= 400")  # pictures follow a moment later
    set_lever(page, "limits-yearly_cost", "0.5 M$ per year")
    assert answered(page, "the least possible", "infeasible") == "No plan meets every limit (proven)."
    page.get_by_role("button", name="Set yearly cost").click()
    assert "proven within" in answered(page, "What if: yearly cost")

    other = browser_page.tab()
    other.goto(served.url)
    assert answered(other, "The instance as it stands") == nominal
    assert other.get_by_text("None yet").is_visible()

    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(timeout=60) == 0
    page.get_by_role("alert").get_by_text("spareopt explore has ended").wait_for()
    assert page.locator("body > [inert]").count() > 0  # nothing moves beside an old answer
    lost = [error for error in browser_page.errors if "WebSocket" not in error and "ERR_CONNECTION" not in error]
    assert (lost, browser_page.outside) == ([], [])
