# Made from rugnik/client.py by `python -m tools.asynchronous`. Do not edit.
"""Client: every route of a rugnik service as a typed method."""

from __future__ import annotations

import os
from typing import Self

from rugnik.arguments import unfit
from rugnik.asynchronous.asking import Asking
from rugnik.asynchronous.auditing import Administering, Auditing
from rugnik.asynchronous.counting import Counting
from rugnik.asynchronous.deciding import Deciding
from rugnik.asynchronous.taking import Taking
from rugnik.asynchronous.transport import Transport
from rugnik.client import ADDRESS
from rugnik.errors import UnfitArgument
from rugnik.transport import Retries


class AsyncClient(Counting, Deciding, Asking, Taking, Auditing, Administering):
    """A rugnik service at `url`, spoken to with `key`; a context manager that closes its connections.

    timeout   seconds to wait for a connection or an answer; an upload may take longer
    retries   how often and how patiently to repeat what is safe to repeat
    """

    def __init__(
        self, url: str | None = None, key: str | None = None, *, timeout: float = 60.0, retries: Retries | None = None
    ) -> None:
        if url is None:
            raise UnfitArgument(
                'A client needs the address of a service: Client("http://127.0.0.1:8000", key). '
                "Client.from_environment() takes it from RUGNIK_URL, and the key from RUGNIK_KEY."
            )
        if not isinstance(url, str):
            raise unfit("url", 'the address of a service, such as "http://127.0.0.1:8000"', url)
        super().__init__(Transport(url, key, timeout=timeout, retries=retries or Retries()))

    @classmethod
    def from_environment(cls, *, timeout: float = 60.0, retries: Retries | None = None) -> Self:
        """A client with the key in RUGNIK_KEY, of the service at RUGNIK_URL; without that, of one on this machine."""
        key = os.environ.get("RUGNIK_KEY")
        if not key:
            raise UnfitArgument("RUGNIK_KEY is not set: it holds the key that the client asks with.")
        client = cls(os.environ.get("RUGNIK_URL") or ADDRESS, key, timeout=timeout, retries=retries)
        client._transport.key_from = "the variable RUGNIK_KEY"
        return client

    @property
    def url(self) -> str:
        """The address of the service."""
        return self._transport.url

    async def close(self) -> None:
        """Close every connection."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self.url!r})"
