"""WireRoute: a route whose reply follows the rule of `rugnik.wire.base` for fields that have their default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi.routing import APIRoute


class WireRoute(APIRoute):
    """A field of a reply is left out while it has its default; a field without a default is always written."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **(options | {"response_model_exclude_defaults": True}))
