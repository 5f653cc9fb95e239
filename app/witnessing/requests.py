"""POST requests to several servers at once, each with one deadline for everything and a small reply.

The servers are not trusted: a reply that drips in byte by byte, never ends or is compressed must not hold the caller.
A timeout of httpx is for each read; only a cancelled task bounds the whole. So the requests run on an event loop, in a
thread of its own, because the caller's thread may have a loop already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from ssl import SSLContext
from threading import Thread

import httpx

MAX_REPLY_BYTES = 2**16
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Reply:
    """Status, media type without parameters, and body."""

    status: int
    media_type: str
    body: bytes

    @property
    def words(self) -> str:
        """Status and the first line of the body, for a message: printable ASCII, and not much of it."""
        line = self.body.partition(b"\n")[0][:120].decode("ascii", "replace")
        said = "".join(letter for letter in line if letter.isascii() and letter.isprintable()).strip().rstrip(".")
        return f"{self.status} {said}".strip()


def post_all(bodies: Mapping[str, tuple[str, bytes]], *, seconds: float) -> dict[str, Reply | str]:
    """The replies to bodies, given by name with their addresses; in place of a reply, why there is none.

    Returns after `seconds` at the latest. Redirects are not followed.
    """
    replies: dict[str, Reply | str] = {}

    def run() -> None:
        loop = asyncio.new_event_loop()
        try:
            replies.update(loop.run_until_complete(_post_all(bodies, seconds)))
        finally:
            loop.close()  # does not wait for a name server that is still asked

    if bodies:
        thread = Thread(target=run, name="witnesses")
        thread.start()
        thread.join()
    return {name: replies.get(name, "the request failed") for name in bodies}


async def _post_all(bodies: Mapping[str, tuple[str, bytes]], seconds: float) -> dict[str, Reply | str]:
    # A proxy of the environment cannot reach this machine's own addresses.
    local = {f"all://{host}": None for host in _LOCAL}
    async with httpx.AsyncClient(verify=_certificates(), mounts=local, timeout=seconds) as client:
        tasks = [_post(client, address, body, seconds) for address, body in bodies.values()]
        return dict(zip(bodies, await asyncio.gather(*tasks), strict=True))


async def _post(client: httpx.AsyncClient, address: str, body: bytes, seconds: float) -> Reply | str:
    headers = {"Content-Type": "text/plain; charset=utf-8", "Accept-Encoding": "identity"}
    try:
        async with (
            asyncio.timeout(seconds),
            client.stream("POST", address, content=body, headers=headers, follow_redirects=False) as response,
        ):
            content = b""
            async for piece in response.aiter_raw():
                content += piece
                if len(content) > MAX_REPLY_BYTES:
                    return "its reply is too long"
            media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            return Reply(response.status_code, media_type, content)
    except (TimeoutError, httpx.TimeoutException):
        return f"nothing came within {seconds:g} s"
    except (httpx.HTTPError, OSError) as error:
        return f"it is not reached ({type(error).__name__})"
    except Exception as error:  # of httpx's libraries; no other witness's reply is lost
        return f"the request failed ({type(error).__name__})"


@cache
def _certificates() -> SSLContext:
    """Made once: reading all certificates takes longer than a request."""
    return httpx.create_ssl_context()
