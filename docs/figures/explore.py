"""Take the picture of the page of ``spareopt explore`` on docs/explore.md: academic-1k with a what-if kept.

Run from the repository, with the extras ``explore`` and ``test``: ``python docs/figures/explore.py``.  It needs
Chromium, in $CHROMIUM or under its usual names.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).with_suffix(".png")
COMMAND = (sys.executable, "-m", "spareopt", "explore", "academic-1k", "--no-browser", "--json")
CHANGES = {"limits-yearly_cost": "1.8 M$ per year", "failures-tray-mtbf": "0.5x"}
WIDTH, HEIGHT = 1180, 1500
COLOURS = 160


def move(page: Any, lever: str, text: str) -> None:
    """Type a value into the box of a lever, and wait for its plan."""
    box = page.locator(f".lever-{lever} input[type=text]")
    box.fill(text)
    box.press("Enter")
    page.locator(".banner.proven", has_text=text).wait_for()


def taken(address: str) -> bytes:
    """The page after some changes, one of them kept, as PNG."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(address)
        page.locator(".banner.proven").wait_for()
        for lever, text in CHANGES.items():
            move(page, lever, text)
        page.get_by_role("button", name="Keep this what-if").click()
        page.get_by_text("Kept as").wait_for()
        page.wait_for_timeout(1000)  # pictures are drawn a moment later
        result: bytes = page.screenshot()
        browser.close()
        return result


def main() -> None:
    """Serve the page, take its picture, and end."""
    served = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True)
    assert served.stdout is not None
    try:
        lines = [next(served.stdout) for _ in range(3)]
        picture = Image.open(BytesIO(taken(json.loads("".join(lines))["url"]))).convert("RGB")
    finally:
        served.terminate()
    picture.quantize(COLOURS).save(PICTURE, optimize=True)
    print(f"{PICTURE.name}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
