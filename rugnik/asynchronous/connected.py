# Made from rugnik/connected.py by `python -m tools.asynchronous`. Do not edit.
"""What all parts of the client share: one transport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rugnik.asynchronous.transport import Transport
from rugnik.connected import _ACCEPTED, _PAGE
from rugnik.errors import NeedsApproval, UnexpectedReply
from rugnik.transport import decoded
from rugnik.wire.base import Body, dumped
from rugnik.wire.requests import ApprovalRequest


class Connected:
    """Something that speaks to one service."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def _json(self, method: str, path: str, *, repeatable: bool | None = None, **options: Any) -> Any:
        """A decoded reply, None for an empty one; a GET is repeatable by nature. NeedsApproval for a 202."""
        safe = method == "GET" if repeatable is None else repeatable
        response = await self._transport.send(method, path, repeatable=safe, **options)
        reply = decoded(response.content) if response.content else None
        if response.status_code == _ACCEPTED:
            raise NeedsApproval(ApprovalRequest.of(reply))
        return reply

    async def _post(
        self, path: str, body: Body, *, repeatable: bool = False, headers: Mapping[str, str] | None = None
    ) -> Any:
        """The decoded reply to a JSON body. `repeatable`: sending it twice changes nothing."""
        sent = {"Content-Type": "application/json", **(headers or {})}
        return await self._json("POST", path, repeatable=repeatable, content=dumped(body), headers=sent)

    async def _listed(self, path: str, name: str) -> list[Any]:
        """The list under one name in a reply and in the pages that follow it."""
        entries: list[Any] = []
        after: str | None = None
        while True:
            reply = await self._json("GET", path, params={"limit": _PAGE, "after": after})
            listed = reply.get(name) if isinstance(reply, dict) else None
            if not isinstance(listed, list):
                raise UnexpectedReply(f"The answer has no list of {name}. Is this rugnik's address?")
            entries += listed
            before, after = after, reply.get("next")
            if after is None or after == before:
                return entries
