"""Client: every route of a rugnik service as a typed method."""

from __future__ import annotations

from typing import Self

from rugnik.asking import Asking
from rugnik.auditing import Administering, Auditing
from rugnik.counting import Counting
from rugnik.deciding import Deciding
from rugnik.taking import Taking
from rugnik.transport import Retries, Transport


class Client(Counting, Deciding, Asking, Taking, Auditing, Administering):
    """A rugnik service at `url`, spoken to with `key`; a context manager that closes its connections.

    timeout   seconds to wait for a connection or an answer; an upload may take longer
    retries   how often and how patiently to repeat what is safe to repeat
    """

    def __init__(
        self, url: str, key: str | None = None, *, timeout: float = 60.0, retries: Retries | None = None
    ) -> None:
        super().__init__(Transport(url, key, timeout=timeout, retries=retries or Retries()))

    @property
    def url(self) -> str:
        """The address of the service."""
        return self._transport.url

    def close(self) -> None:
        """Close every connection."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"
