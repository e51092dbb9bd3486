"""A browser for tests of pages: where Chromium is, and a page that notes what should not happen on it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
LOCAL = ("127.0.0.1", "")
"""Hosts that a page of this program may ask; a page in a file has none."""
PATIENCE = 60_000.0
"""ms that a busy machine may take for one step."""


def chromium() -> str | None:
    """The path of Chromium: $CHROMIUM, or what is installed; None where there is none."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@dataclass
class Watched:
    """A page of a browser, and what went wrong on it."""

    page: Any
    """As playwright has it."""
    errors: list[str] = field(default_factory=list)
    """Errors of scripts, and what they say on the console as an error."""
    warnings: list[str] = field(default_factory=list)
    """What they say on the console as a warning."""
    asked: list[str] = field(default_factory=list)
    """Addresses asked, but for data that stand in the page itself."""
    outside: list[str] = field(default_factory=list)
    """Those of them that are not of this machine."""

    def watch(self, page: Any) -> Any:
        """Note what goes wrong on a page, such as a second tab; returns the page."""
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._hear)
        page.on("request", lambda asked: self._note(asked.url))
        page.on("websocket", lambda socket: self._note(socket.url))
        return page

    def tab(self) -> Any:
        """Another tab of the same browser, watched too."""
        return self.watch(self.page.context.new_page())

    def _hear(self, told: Any) -> None:
        if told.type in ("error", "warning"):
            (self.errors if told.type == "error" else self.warnings).append(told.text)

    def _note(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme in ("data", "blob"):
            return
        self.asked.append(address)
        if (parts.hostname or "") not in LOCAL:
            self.outside.append(address)


@contextmanager
def launched() -> Iterator[Any]:
    """Chromium at work; skips where playwright or Chromium is not there."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = chromium()
    if path is None:
        pytest.skip("no Chromium: install it, or name it in $CHROMIUM")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture
def browser_page() -> Iterator[Watched]:
    """A page of Chromium, 1200 pixels wide."""
    with launched() as browser:
        page = browser.new_context(viewport={"width": 1200, "height": 900}).new_page()
        watched = Watched(page)
        watched.watch(page)
        yield watched
