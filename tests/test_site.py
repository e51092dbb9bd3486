"""The documentation as a site: it builds without a warning, its links lead somewhere, and it asks nothing of others."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import inspect
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from pydantic import BaseModel

import spareopt
from spareopt.record import Result
from tests import browser

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
browser_page = browser.browser_page
LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}
"""What a browser fetches by itself, by tag, and the attribute that says from where."""
NAMED = re.compile(r"^::: spareopt\.(\w+)$(?:\n    options:\n      members: \[(.*)\])?", re.MULTILINE)
"""A public name on a page of Python, and the members of a class that are shown."""


def build(tool: str, folder: Path) -> tuple[Path, str]:
    """The site built in a copy of the checkout by ``python -m TOOL build --strict``, and what was printed."""
    missing = [name for name in (tool, "mkdocstrings_handlers.python", "math_core") if not found(name)]
    if missing:
        pytest.skip(f"not installed, see the extra docs: {', '.join(missing)}")
    for name in ("docs", "spareopt"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "mkdocs.yml", folder)
    command = (sys.executable, "-m", tool, "build", "--strict")
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site", built.stdout + built.stderr


def found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    return build("zensical", tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def site(built: tuple[Path, str]) -> Path:
    return built[0]


class Page(HTMLParser):
    """The anchors of a built page, where its links lead, and what a browser fetches to show it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.formulas = 0
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.formulas += tag == "math"
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if (
            tag in LOADED
            and LOADED[tag] in given
            and (tag != "link" or "icon" in given["rel"] or "style" in given["rel"])
        ):
            self.fetched.append(given[LOADED[tag]])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {file: Page(file) for file in sorted(site.rglob("*.html"))}


def test_site_builds_without_a_warning(built: tuple[Path, str]) -> None:
    """Proves that the pages, their links, the references to code and every formula are built, with nothing to say."""
    site, output = built
    assert "No issues found" in output
    assert not re.search("warn|error", output, re.IGNORECASE), output
    assert {page.relative_to(DOCS).with_suffix("") for page in DOCS.rglob("*.md")} == {
        page.relative_to(site).with_suffix("") for page in site.rglob("*.html")
    } - {Path("404")}


def test_links_of_the_site_lead_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    """Proves that each link and each file that a built page fetches is there, with the anchor that the link names."""
    assert pages
    for file, page in pages.items():
        for link in page.links + page.fetched:
            address, anchor = urldefrag(unquote(link))
            if urlsplit(address).scheme or file.name == "404.html":
                continue
            target = (file.parent / address).resolve() if address else file
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{file.relative_to(site)}: {link}"
            assert not anchor or target.suffix != ".html" or anchor in pages[target].anchors, f"{file}: {link}"


def test_the_site_fetches_nothing_from_others(pages: dict[Path, Page]) -> None:
    """Proves that no built page names a script, style sheet, font or picture of another server."""
    for file, page in pages.items():
        assert not [link for link in page.fetched if urlsplit(link).scheme or link.startswith("//")], file


def test_formulas_are_drawn(pages: dict[Path, Page], site: Path) -> None:
    """Proves that the formulas of the mathematics page are MathML, and no TeX is left in its text."""
    source = re.sub(r"`[^`\n]+`", "", (DOCS / "mathematics.md").read_text(encoding="utf-8"))
    inline = re.findall(r"(?<![\\$\w])\$[^$\s][^$]*\$", source)
    assert pages[site / "mathematics.html"].formulas == len(inline) + source.count("```math") > 100
    text = re.sub(r"<math.*?</math>|<script.*?</script>", "", (site / "mathematics.html").read_text(encoding="utf-8"))
    assert not re.search(r"\\[a-zA-Z]{2,}|\$", text)


def test_money_is_no_formula(pages: dict[Path, Page], site: Path) -> None:
    """Proves that dollars in prices are left alone: a page that states many has no formula."""
    assert "M$" in (DOCS / "instances.md").read_text(encoding="utf-8")
    assert pages[site / "instances.html"].formulas == 0


def test_docstrings_hold_no_markup_of_other_tools() -> None:
    """Proves that no docstring has a role such as :func: or :math:, which the site would show as it stands."""
    for folder in ("spareopt", "formulations"):
        for file in (ROOT / folder).rglob("*.py"):
            assert not re.search(r":[a-z]+:`|^\s*\.\. \w+::", file.read_text(encoding="utf-8"), re.MULTILINE), file


def test_every_page_is_in_the_navigation() -> None:
    """Proves that the navigation of mkdocs.yml holds each page once."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    listed = re.findall(r": ([\w/-]+\.md)$", nav, re.MULTILINE)
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.stem)
def test_outside_links_are_well_formed(page: Path) -> None:
    """Proves that links to other sites are https with a host, and no link names a scheme a browser can't follow."""
    for target in re.findall(r"\]\(([a-z]+:[^)\s]*)\)|<(https?:[^>]*)>", page.read_text(encoding="utf-8")):
        address = urlsplit("".join(target))
        assert address.scheme == "https" and re.fullmatch(r"[\w-]+(\.[\w-]+)+", address.netloc), target


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.heavy
def test_a_browser_asks_nothing_of_others(
    site: Path, pages: dict[Path, Page], address: str, browser_page: browser.Watched
) -> None:
    """Proves that each page in Chromium asks nothing of another host, has no error, and fits a screen of 400 pixels.

    What a script of the theme fetches is seen here only.
    """
    view, wide = browser_page.page, []
    view.set_viewport_size({"width": 400, "height": 900})
    for file in pages:
        view.goto(address + str(file.relative_to(site)))
        wide += [file.name] if view.evaluate("document.documentElement.scrollWidth") > 400 else []
    assert pages and (browser_page.outside, browser_page.errors, wide) == ([], [], [])


@pytest.mark.heavy
def test_mkdocs_builds_the_same_pages(site: Path, tmp_path: Path) -> None:
    """Proves that the configuration is no dialect: mkdocs with its material theme builds the same pages, strictly."""
    if not found("material"):
        pytest.skip("needs mkdocs-material")
    other, _ = build("mkdocs", tmp_path)
    assert {p.relative_to(other) for p in other.rglob("*.html")} == {p.relative_to(site) for p in site.rglob("*.html")}


def test_every_public_name_is_on_one_page() -> None:
    """Proves that the pages of Python hold each name of ``spareopt.__all__`` once, classes with all their methods."""
    pages = [page.read_text(encoding="utf-8") for page in sorted((DOCS / "reference").glob("*.md"))]
    found = [match for page in pages for match in NAMED.findall(page)]
    assert sorted(name for name, _ in found) == sorted(spareopt.__all__)
    for name, members in found:
        if inspect.isclass(thing := getattr(spareopt, name)):
            listed = set(filter(None, members.split(", ")))
            inherited = {"model_post_init", *vars(Result)}
            public = {
                method
                for method, value in vars(thing).items()
                if not method.startswith("_")
                and (inspect.isfunction(value) or isinstance(value, property | cached_property | classmethod))
            }
            fields = set() if issubclass(thing, BaseModel) else set(getattr(thing, "__annotations__", ()))
            assert listed == (public | fields) - inherited, name
