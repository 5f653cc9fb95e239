"""View -> HTML for a notebook: without scripts, links or style sheets, and readable on dark and light paper.

Everything goes through `element`, which escapes whatever is not Markup: names of datasets, attributes and categories
are other people's texts.
"""

from __future__ import annotations

import html
import re

from rugnik.shown.digits import NONE
from rugnik.shown.view import Row, Table, View

_PAGE = "font:13px/1.5 system-ui,sans-serif;max-width:64em;overflow-x:auto;text-align:left"
_CELL = "padding:1px 10px 1px 0;text-align:{side};white-space:nowrap;border:0"
_TABLE = "font:inherit;color:inherit;background:none;border-collapse:collapse;margin:4px 0"
_FAINT = "opacity:.75"
_NUMBER = re.compile(r"-?[0-9][0-9,]*(\.[0-9]+)?(e[+-]?[0-9]+)?( \(.*\))?")


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def element(name: str, *inner: str, **attributes: object) -> Markup:
    """An element. Texts in it and values of its attributes are escaped; `text_anchor` is the attribute text-anchor."""
    spelled = {key.rstrip("_").replace("_", "-"): escaped(str(value)) for key, value in attributes.items()}
    named = "".join(f' {key}="{value}"' for key, value in spelled.items())
    return Markup(f"<{name}{named}>{''.join(map(escaped, inner))}</{name}>")


def escaped(text: str) -> str:
    """A text without markup of its own."""
    return text if isinstance(text, Markup) else html.escape(text, quote=True)


def page(view: View) -> str:
    """What a notebook shows."""
    from rugnik.shown.svg import drawn  # noqa: PLC0415 - it builds on `element`

    head = element("div", element("b", view.title), f" {view.line}")
    charts = [element("div", *map(drawn, view.charts), style="margin:4px 0")] if view.charts else []
    remarks = [element("div", remark, style=_FAINT) for remark in view.remarks]
    return element("div", head, *charts, *map(_table, view.tables), *remarks, style=_PAGE)


def _table(table: Table) -> Markup:
    sides = [_side(table, x) for x in range(len(table.columns))]
    head = _row("th", table.columns, sides)
    body = [_row("td", row, sides) for row in table.rows]
    rest = table.total - len(table.rows)
    more = element("div", f"… and {rest:,} more", style=_FAINT) if rest > 0 else Markup("")
    return element("div", element("table", head, *body, style=_TABLE), more)


def _row(kind: str, texts: Row, sides: Row) -> Markup:
    cells = zip(texts, sides, strict=True)
    return element("tr", *(element(kind, text, style=_CELL.format(side=side)) for text, side in cells))


def _side(table: Table, x: int) -> str:
    """Numbers to the right, texts to the left."""
    texts = [row[x] for row in table.rows if row[x] not in ("", NONE)]
    return "right" if texts and all(map(_NUMBER.fullmatch, texts)) else "left"
