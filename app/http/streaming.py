"""Replies in pieces, and replies that stop when their client goes away.

A stream is made piece by piece in a lane. Between two pieces it holds neither a thread nor a database connection,
however slowly its client reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.access.principal import Principal
from app.http.middleware.observe_requests import is_noted
from app.operations.lanes import Lanes

_Result = TypeVar("_Result")
Pieces = Generator[bytes, None, None]
STALLED_SECONDS = 120.0  # a client that takes no 64 KiB in this time has gone, whatever its connection says
_SLICE = 2**16  # bytes handed to the server at once: what waits for a slow client stays small


async def while_connected(receive: Receive, work: Coroutine[Any, Any, _Result]) -> _Result:
    """The result of some work, which is cancelled where its client goes away before; then ClientDisconnect."""

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(gone())
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


class Stream(StreamingResponse):
    """The bytes that `pieces()` generates. Whatever `pieces()` itself raises is a problem reply; so is 429."""

    def __init__(
        self,
        caller: Principal,
        pieces: Callable[[], Pieces],
        *,
        media_type: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(iter(()), media_type=media_type, headers=headers)
        self._key, self._pieces = caller.id, pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the end, or until the client goes away or takes nothing more."""
        lanes: Lanes = scope["app"].state.lanes
        noted = is_noted(scope)
        with lanes.stream(self._key, noted=noted), suppress(ClientDisconnect):
            await while_connected(receive, self._send(lanes, send, noted=noted))

    async def _send(self, lanes: Lanes, send: Send, *, noted: bool) -> None:
        pieces = await self._step(lanes, self._pieces, noted=noted)
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while (piece := await self._step(lanes, lambda: next(pieces, None), noted=noted)) is not None:
                whole = memoryview(piece)
                for start in range(0, len(whole), _SLICE):
                    body = bytes(whole[start : start + _SLICE])
                    await _taken(send({"type": "http.response.body", "body": body, "more_body": True}))
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            pieces.close()

    async def _step(self, lanes: Lanes, work: Callable[[], _Result], *, noted: bool) -> _Result:
        future = await lanes.pieces.start(self._key, work, noted=noted)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait({future})  # a step is short, and a generator at work cannot be closed
            raise


async def _taken(sending: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(STALLED_SECONDS):
            await sending
    except TimeoutError:
        raise ClientDisconnect from None
