"""RUGNIK_ALLOWED_HOSTS: which names the service answers to. Without it, any; no redirect follows Host anyway."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from app.http import problems

_FOR_PROBES = ("/healthz", "/readyz")  # asked by address and not by name, and always the same for everybody


def parse_hosts(text: str) -> frozenset[str]:
    """Names with commas between, in small letters."""
    return frozenset(name.strip().lower() for name in text.split(",") if name.strip())


class RequireHost:
    """ASGI middleware: 421 for a request whose Host header, without its port, is not on the list."""

    def __init__(self, app: ASGIApp, allowed: frozenset[str]) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is meant for this service."""
        answered = scope["type"] != "http" or scope["path"] in _FOR_PROBES or _host(scope) in self._allowed
        if answered:
            await self._app(scope, receive, send)
            return
        detail = "This service does not answer to this name. Its operator lists names in RUGNIK_ALLOWED_HOSTS."
        await problems.reply(421, "misdirected-request", "Not a name of this service", detail)(scope, receive, send)


def _host(scope: Scope) -> str | None:
    """The Host header without its port; None unless there is exactly one."""
    sent: list[str] = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"host"]
    if len(sent) != 1:
        return None
    name, _, port = sent[0].rpartition(":")
    return name if name and port.isdigit() else sent[0]
