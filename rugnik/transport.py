"""One request at a time, repeated where that is safe: what was never sent, and what changes nothing when sent twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from random import SystemRandom
from typing import Any

import httpx

from rugnik.errors import (
    NotAuthenticated,
    NotReached,
    Problem,
    RugnikError,
    UnexpectedReply,
    UnfitArgument,
    problem_of,
)
from rugnik.waiting import sent, sleep

_LATER = (408, 429, 502, 503, 504)  # statuses that say "not now" rather than "no"
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_jitter = SystemRandom()


@dataclass(frozen=True, slots=True)
class Retries:
    """How often to try in all, and how long to wait in between: twice as long each time, or as the service asks.

    Where the service asks for more than `longest_wait` seconds, its refusal is raised instead: coming back earlier
    than asked would be rude, and waiting silently for longer would surprise. `sleep` is what waits: time.sleep, or
    asyncio.sleep in an AsyncClient, unless something else is given.
    """

    attempts: int = 4
    first_wait: float = 0.5
    longest_wait: float = 60.0
    sleep: Callable[[float], object] | None = None

    def wait(self, tried: int, error: RugnikError) -> float | None:
        """The seconds to wait before another try; None where there is none left, or not soon enough."""
        asked = error.retry_after if isinstance(error, Problem) else None
        if tried >= self.attempts or (asked is not None and asked > self.longest_wait):
            return None
        wait = min(self.longest_wait, self.first_wait * 2 ** (tried - 1)) * _jitter.uniform(0.75, 1.25)
        return wait if asked is None else asked


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
        over: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"User-Agent": f"rugnik-client/{_version()}"}
        if key is not None:
            headers["Authorization"] = f"Bearer {header_text(key)}"
        try:
            self.http = httpx.Client(
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

    def send(self, method: str, path: str, *, repeatable: bool, **options: Any) -> httpx.Response:
        """A reply that succeeded, or the error it stands for. `repeatable`: sending it twice changes nothing."""
        for tried in count(1):
            try:
                with self.stream(method, path, **options) as response:
                    response.read()
                    return response
            except RugnikError as error:
                if not (repeatable and may_pass(error)) and not never_sent(error):
                    raise
                if not self.pause(tried, error):
                    raise
        raise AssertionError

    def pause(self, tried: int, error: RugnikError) -> bool:
        """Wait before another try; False where there is none left, or not soon enough."""
        seconds = self.retries.wait(tried, error)
        if seconds is None:
            return False
        self.sleep(seconds)
        return True

    def sleep(self, seconds: float) -> None:
        """Wait."""
        sleep(self.retries.sleep, seconds)

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        pieces: Iterable[bytes] | None = None,
        **options: Any,
    ) -> Iterator[httpx.Response]:
        """A reply that succeeded, its body not yet read; one try. Parameters that are None are left out.

        `pieces` are a body that is sent piece by piece.
        """
        given = {name: value for name, value in (params or {}).items() if value is not None}
        if pieces is not None:
            options["content"] = sent(pieces)
        try:
            with self.http.stream(method, path, params=given, **options) as response:
                if not response.is_success:
                    response.read()
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

    def close(self) -> None:
        """Close every connection."""
        self.http.close()


def header_text(key: str) -> str:
    """A key that a header can hold. Otherwise httpx would fail, with the key in its message."""
    if not isinstance(key, str) or not key.isascii() or not key.isprintable() or " " in key:
        raise UnfitArgument("This is no key: it is no text, or holds a blank, a line end or another odd character.")
    return key


def not_reached(url: str, error: Exception) -> str:
    """What to say where no connection came about, or it broke."""
    if isinstance(error, httpx.UnsupportedProtocol) or "://" not in url:
        return f"{url!r} is no address of a service: it begins with http:// or https://."
    advice = " Is a service running there? `rugnik serve` starts one." if isinstance(error, _NEVER_SENT) else ""
    return f"{url} is not reached: {str(error).rstrip('.') or type(error).__name__}.{advice}"


def decoded(content: bytes) -> Any:
    """JSON, or UnexpectedReply."""
    try:
        return json.loads(content)
    except ValueError:
        raise UnexpectedReply("The answer is something other than JSON. Is this rugnik's address?") from None


def never_sent(error: RugnikError) -> bool:
    """Whether no connection came about, so that nothing can have happened."""
    return isinstance(error, NotReached) and isinstance(error.__cause__, _NEVER_SENT)


def may_pass(error: RugnikError) -> bool:
    """Whether the same request might succeed in a moment."""
    if isinstance(error, NotReached):
        return not isinstance(error.__cause__, httpx.UnsupportedProtocol)
    if isinstance(error, UnexpectedReply):
        return error.status in _LATER
    return isinstance(error, Problem) and error.status in _LATER


def _version() -> str:
    try:
        return version("rugnik")
    except PackageNotFoundError:  # the client alone, copied out of its package
        return "unknown"
