"""CSV that people open in a spreadsheet."""

from __future__ import annotations

_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four are wide forms


def as_text(cell: str) -> str:
    """A cell of free text that no spreadsheet runs as a formula: one that begins like a formula gets an apostrophe.

    So does one that begins with apostrophes before that, so that different texts stay different.
    """
    return f"'{cell}" if cell.lstrip("'").startswith(_BEGINNINGS) else cell
