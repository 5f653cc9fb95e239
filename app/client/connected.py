"""What all parts of the client share: one transport."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from app.client.errors import UnexpectedReply
from app.client.transport import Transport


class Connected:
    """Something that speaks to one service."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _json(self, method: str, path: str, *, repeatable: bool | None = None, **options: Any) -> Any:
        """A decoded reply; a GET is repeatable by nature."""
        safe = method == "GET" if repeatable is None else repeatable
        return self._transport.json(method, path, repeatable=safe, **options)

    def _listed(self, path: str, name: str) -> list[Any]:
        """The list under one name in a reply."""
        found = self._json("GET", path)
        listed = found.get(name) if isinstance(found, dict) else None
        if not isinstance(listed, list):
            raise UnexpectedReply(f"The answer has no list of {name}. Is this rugnik's address?")
        return listed


def quoted(part: str) -> str:
    """A name as one segment of a path, whatever characters it has."""
    return quote(part, safe="")
