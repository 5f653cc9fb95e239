"""Headers that every reply carries: browsers guess no types, tell other sites nothing, and frame nothing of ours.

What changes is kept by nobody: a reply that says nothing of caches is no-store. Answers and files that never change
say so themselves.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ALWAYS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"same-origin")]
_UNKEPT = (b"cache-control", b"no-store")
# For replies that are no page of ours: a browser that shows one runs nothing in it.
_NOTHING = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")


class AddSafetyHeaders:
    """ASGI middleware around everything."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and add what is missing to the reply."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                names = {name for name, _ in headers}
                missing = [header for header in (_NOTHING, _UNKEPT) if header[0] not in names]
                message = {**message, "headers": [*headers, *_ALWAYS, *missing]}
            await send(message)

        await self._app(scope, receive, adding)
