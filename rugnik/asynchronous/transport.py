# Made from rugnik/transport.py by `python -m tools.asynchronous`. Do not edit.
"""One request at a time, repeated where that is safe: what was never sent, and what changes nothing when sent twice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import httpx

from rugnik.asynchronous.waiting import sent, sleep
from rugnik.errors import (
    NotAuthenticated,
    NotReached,
    RugnikError,
    UnexpectedReply,
    problem_of,
)
from rugnik.transport import Retries, _version, header_text, may_pass, never_sent, not_reached


class Transport:
    """httpx with a key, with errors as this client's classes, and with Retries.

    `over` is what httpx sends requests with: the network, unless something else is given, such as a bundle.
    `key_from` says in words where the key came from, for the message where it is refused; None without a key.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        *,
        timeout: float,
        retries: Retries,
        over: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        headers = {"User-Agent": f"rugnik-client/{_version()}"}
        if key is not None:
            headers["Authorization"] = f"Bearer {header_text(key)}"
        try:
            self.http = httpx.AsyncClient(
                base_url=url,
                headers=headers,
                timeout=httpx.Timeout(timeout, connect=min(timeout, 10.0)),
                transport=over,
                # A proxy of the environment cannot reach this machine's own addresses.
                mounts={f"all://{host}": None for host in ("127.0.0.1", "localhost", "[::1]")},
            )
        except (httpx.InvalidURL, UnicodeError, TypeError) as error:
            raise NotReached(f"The address {url!r} is not a URL: {error}") from None
        self.url = url.rstrip("/")
        self.retries = retries
        self.key_from = None if key is None else "the argument `key`"

    async def send(self, method: str, path: str, *, repeatable: bool, **options: Any) -> httpx.Response:
        """A reply that succeeded, or the error it stands for. `repeatable`: sending it twice changes nothing."""
        for tried in count(1):
            try:
                async with self.stream(method, path, **options) as response:
                    await response.aread()
                    return response
            except RugnikError as error:
                if not (repeatable and may_pass(error)) and not never_sent(error):
                    raise
                if not await self.pause(tried, error):
                    raise
        raise AssertionError

    async def pause(self, tried: int, error: RugnikError) -> bool:
        """Wait before another try; False where there is none left, or not soon enough."""
        seconds = self.retries.wait(tried, error)
        if seconds is None:
            return False
        await self.sleep(seconds)
        return True

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await sleep(self.retries.sleep, seconds)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        pieces: Iterable[bytes] | None = None,
        **options: Any,
    ) -> AsyncIterator[httpx.Response]:
        """A reply that succeeded, its body not yet read; one try. Parameters that are None are left out.

        `pieces` are a body that is sent piece by piece.
        """
        given = {name: value for name, value in (params or {}).items() if value is not None}
        if pieces is not None:
            options["content"] = sent(pieces)
        try:
            async with self.http.stream(method, path, params=given, **options) as response:
                if not response.is_success:
                    await response.aread()
                    raise self._refusal(response)
                yield response
        except httpx.TimeoutException as error:
            raise NotReached(f"{self.url} did not answer in time.") from error
        except (httpx.TransportError, httpx.UnsupportedProtocol) as error:
            raise NotReached(not_reached(self.url, error)) from error
        except httpx.DecodingError as error:
            raise UnexpectedReply(f"{self.url} sent a reply that cannot be decoded.") from error

    def _refusal(self, response: httpx.Response) -> RugnikError:
        """The error that a reply stands for; of a refused key with where it came from."""
        error = problem_of(response)
        if isinstance(error, NotAuthenticated):
            error.explain(self.key_from)
        return error

    async def close(self) -> None:
        """Close every connection."""
        await self.http.aclose()
