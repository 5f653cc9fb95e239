"""Hooks of mkdocs: reference pages are brought up to date before a build, and formulas become MathML.

MathML is drawn by the browser, so that the site loads no script and no font from anywhere else.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

from docs.reference.pages import write_all

_FORMULA = re.compile(r'<(span|div) class="arithmatex">(?:\\\((.*?)\\\)|\\\[(.*?)\\\])</\1>', re.DOTALL)


def on_pre_build(**_: Any) -> None:
    """Rewrite the generated pages that are out of date."""
    write_all()


def on_page_content(content: str, **_: Any) -> str:
    """A page with its formulas as MathML."""
    return _FORMULA.sub(_mathml, content)


def _mathml(match: re.Match[str]) -> str:
    _, inline, block = match.groups()
    formula = html.unescape(inline if inline is not None else block).strip()
    return str(convert(formula, display="inline" if inline is not None else "block"))
