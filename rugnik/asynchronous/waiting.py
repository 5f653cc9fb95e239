"""What waits besides the network, as in `rugnik.waiting`: written by hand, unlike the other modules of this package.

Files are read and written in threads, so that a slow disk does not stop the event loop.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterable
from typing import BinaryIO


async def sleep(given: Callable[[float], object] | None, seconds: float) -> None:
    """Wait, by the function that was given, which may be a coroutine function, or by the clock."""
    waited = (given or asyncio.sleep)(seconds)
    if inspect.isawaitable(waited):
        await waited


async def sent(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    """The pieces of a body, as httpx sends them."""
    iterator = iter(pieces)
    while (piece := await asyncio.to_thread(next, iterator, None)) is not None:
        yield piece


async def write(file: BinaryIO, piece: bytes) -> None:
    """Write a piece of a download."""
    await asyncio.to_thread(file.write, piece)
