"""`python -m docs.reference`: rewrite the generated parts of the reference pages."""

from __future__ import annotations

from docs.reference.pages import write_all

for path in write_all():
    print(f"Rewritten: {path}")  # noqa: T201 - the output of a command
