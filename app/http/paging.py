"""Lists in pages: `limit` entries after one that the caller names, and where to read on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

from fastapi import Query

_Entry = TypeVar("_Entry")

Limit = Annotated[int, Query(ge=1, le=1000, description="The most entries in this reply.")]


def page(entries: Sequence[_Entry], names: Sequence[str], limit: int) -> tuple[Sequence[_Entry], str | None]:
    """The first `limit` entries, and the last one's name if there are more: the `after` of the next page."""
    return entries[:limit], names[limit - 1] if len(entries) > limit else None
