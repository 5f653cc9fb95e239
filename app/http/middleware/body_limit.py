"""Limits on bodies other than rows: who may send one, how large it may be, how long it may take.

A body is held in memory as a whole, so it is read for callers who have shown a valid key or session, and for nobody
else; uploads stream past this (`app.http.uploads` has their limits). Outside of /v1 there is nothing to send but the
small forms of signing in and out.
"""

from __future__ import annotations

from collections import Counter

import anyio
from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import Busy, RefusedRequest, TooLarge, TooSlow
from app.http import problems
from app.http.callers import authenticated
from app.http.middleware.observe_requests import is_upload

MAX_JSON_BYTES = 2**23  # 10,000 boxes or 100,000 points
MAX_FORM_BYTES = 2**14  # a key and an address of ours
SMALL_BYTES = 2**16  # a body up to this size is taken whatever else its key sends
MAX_HELD_BYTES = 2 * MAX_JSON_BYTES  # of the larger bodies that one key sends at once
BODY_SECONDS = 30.0  # for a whole body
_RETRY_SECONDS = 5


class LimitBodies:
    """ASGI middleware: a body is read whole, within the limits, before the route sees it; uploads stream past it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._held: Counter[str] = Counter()  # bytes of bodies in memory, by key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what fits."""
        if scope["type"] != "http" or is_upload(scope) or not _has_body(scope):
            await self._app(scope, receive, send)
            return
        try:
            body = await self._begin(Request(scope, receive))
        except problems.REFUSALS as error:
            await problems.response_to(error)(scope, receive, send)
            return
        try:
            try:
                await body.read(receive)
            except problems.REFUSALS as error:
                await problems.response_to(error)(scope, receive, send)
                return
            pending = iter(body.messages)

            async def replay() -> Message:
                return next(pending, None) or await receive()

            await self._app(scope, replay, send)
        finally:
            body.let_go()

    async def _begin(self, request: Request) -> _Body:
        """An empty body for a caller who may send one, and no more than fits by its own word."""
        if not request.url.path.startswith("/v1/"):
            most, sender = MAX_FORM_BYTES, None
        else:
            most, sender = MAX_JSON_BYTES, (await authenticated(request)).id
        length = request.headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit():
            raise RefusedRequest("Content-Length must be a whole number.")
        if len(length) > 18 or int(length) > most:
            raise _too_large(most)
        return _Body(most, sender, self._held)


class _Body:
    """A body as it comes, counted in `held` by its sender; a form has no sender and is too small to be counted."""

    def __init__(self, most: int, sender: str | None, held: Counter[str]) -> None:
        self.messages: list[Message] = []
        self._most = most
        self._sender = sender
        self._held = held
        self._size = 0
        self._counted = 0

    async def read(self, receive: Receive) -> None:
        """Receive all of it, or raise what is wrong with it."""
        more = True
        with anyio.move_on_after(BODY_SECONDS) as reading:
            while more:
                message = await receive()
                self._take(len(message.get("body", b"")))
                self.messages.append(message)
                more = message.get("more_body", False)
        if reading.cancelled_caught:
            raise TooSlow(f"The body was not whole within {BODY_SECONDS:g} s. Send it again.")

    def _take(self, count: int) -> None:
        self._size += count
        if self._size > self._most:
            raise _too_large(self._most)
        if self._sender is not None and self._size > SMALL_BYTES:
            counted = self._size - self._counted
            if self._held[self._sender] + counted > MAX_HELD_BYTES:
                raise Busy("This key sends as many large bodies as one key may at once.", retry_after=_RETRY_SECONDS)
            self._held[self._sender] += counted
            self._counted = self._size

    def let_go(self) -> None:
        """The body is no longer in memory."""
        if self._sender is not None and self._counted:
            self._held[self._sender] -= self._counted
            if not self._held[self._sender]:
                del self._held[self._sender]


def _has_body(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


def _too_large(most: int) -> TooLarge:
    if most == MAX_FORM_BYTES:
        return TooLarge(f"A form has at most {most:,} bytes.")
    return TooLarge(f"A JSON body has at most {most:,} bytes. Rows go to PUT /v1/releases/{{id}}/records.")
