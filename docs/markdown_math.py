"""Formulas of the pages as MathML, which browsers draw without a script: in lines and in blocks of their own.

A Markdown extension for the site.  In a line a formula stands between ``$``, by the rules of GitHub, so that a page
reads alike in both places; a block is fenced and marked ``math``.
"""

from __future__ import annotations

import re
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from math_core import LatexToMathML

IN_A_LINE = r"(?<![\\$\w])\$(?![\s$])([^$]+?)(?<![\s\\])\$(?![\w$])"
AFTER_CODE = 185  # priority: code in backticks (190) is left alone, backslashes (180) are not eaten


def mathml(formula: str, *, display: bool) -> str:
    """A formula as a ``math`` element.  Raises LatexError."""
    return LatexToMathML(fancy_error=False).convert_with_local_state(formula, displaystyle=display)


def block(source: str, *_: Any, **__: Any) -> str:
    """A block marked ``math``, in the signature that fences of pymdownx.superfences have."""
    return f'<div class="formula">{mathml(source, display=True)}</div>'


class _InALine(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:
        return self.md.htmlStash.store(mathml(m[1], display=False)), m.start(0), m.end(0)


class MathExtension(Extension):
    """Adds the formulas in lines; those in blocks are a custom fence of mkdocs.yml."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.inlinePatterns.register(_InALine(IN_A_LINE, md), "formula", AFTER_CODE)


def makeExtension(**options: Any) -> MathExtension:
    """What Markdown asks of a module that is an extension."""
    return MathExtension(**options)
