"""What waits besides the network: pauses, and the reading and writing of files.

`rugnik.asynchronous.waiting` has the same three functions for the asynchronous client. Everything else of that client
is made from the modules of this one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO


def sleep(given: Callable[[float], object] | None, seconds: float) -> None:
    """Wait, by the function that was given or by the clock."""
    (given or time.sleep)(seconds)


def sent(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a body, as httpx sends them."""
    return iter(pieces)


def write(file: BinaryIO, piece: bytes) -> None:
    """Write a piece of a download."""
    file.write(piece)
