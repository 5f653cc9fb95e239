"""Small pieces of Markdown that the generators share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; an empty text if it has no rows."""
    lines = [f"| {' | '.join(cell(text) for text in row)} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *lines])


def cell(text: str) -> str:
    """Text that stays within its table cell: one line, no bar."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def prose(text: str) -> str:
    """Text in which `<` outside of code does not begin a tag."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


def sections(parts: Iterable[str]) -> str:
    """The parts that are not empty, with a blank line between them."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())
