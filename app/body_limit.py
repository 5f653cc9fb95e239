"""A limit on JSON bodies: the largest are workloads of boxes or points, and nobody may fill the memory with one."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import problems
from app.observability import is_upload

MAX_JSON_BYTES = 2**23  # 10,000 boxes or 100,000 points


class LimitBodies:
    """ASGI middleware: a body is read whole, up to the limit, before the route sees it; uploads stream past it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what fits."""
        if scope["type"] != "http" or is_upload(scope):
            await self._app(scope, receive, send)
            return
        messages: list[Message] = []
        size, more = 0, True
        while more:
            message = await receive()
            messages.append(message)
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
            if size > MAX_JSON_BYTES:
                detail = (
                    f"A JSON body has at most {MAX_JSON_BYTES:,} bytes. Rows go to PUT /v1/releases/{{id}}/records."
                )
                await problems.reply(413, "too-large", "The body is too large", detail)(scope, receive, send)
                return
        pending = iter(messages)

        async def replay() -> Message:
            return next(pending, None) or await receive()

        await self._app(scope, replay, send)
