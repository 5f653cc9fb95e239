"""The reference pages: hand-written text, a marker line, generated text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from app.http.access_document import access_page
from app.main import ROUTERS
from docs.reference import cli, http, promises, python

DOCS = Path(__file__).parents[1]
MARKER = "<!-- Generated from here on by `python -m docs.reference`. Do not edit. -->"
PAGES: dict[str, Callable[[], str]] = {
    "http.md": http.text,
    "python.md": python.text,
    "cli.md": cli.text,
    "permissions.md": partial(access_page, ROUTERS),
    "privacy/promises.md": promises.text,
}


def expected(name: str) -> str:
    """What a page should contain: its hand-written text as it is on disk, and the generated text of today."""
    by_hand, marker, _ = (DOCS / name).read_text(encoding="utf-8").partition(MARKER)
    if not marker:
        raise ValueError(f"docs/{name} has no marker line: {MARKER}")
    return f"{by_hand}{MARKER}\n\n{PAGES[name]().strip()}\n"


def write_all() -> list[Path]:
    """Rewrite the pages that are out of date; their paths."""
    changed = []
    for name in PAGES:
        path, text = DOCS / name, expected(name)
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed
