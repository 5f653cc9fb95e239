"""Workspace: arrays that are filled again for every block of rows.

A fresh array of a few hundred KiB is memory that the operating system hands out page by page and takes back at once.
That costs more than the arithmetic in it. Blocks of BLOCK_ROWS rows in arrays that exist already stay in the cache.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

# A column of doubles of that many rows takes 256 KiB. Measured in bench/counting.py.
BLOCK_ROWS = 2**15


def blocks(rows: int) -> Iterator[slice]:
    """Slices of at most BLOCK_ROWS rows, in order."""
    return (slice(start, min(start + BLOCK_ROWS, rows)) for start in range(0, rows, BLOCK_ROWS))


class Workspace:
    """Arrays by name, for one thread. They hold private rows, so a workspace lives as long as one release at most."""

    def __init__(self) -> None:
        self._arrays: dict[Hashable, NDArray[Any]] = {}

    def array(self, name: Hashable, rows: int, dtype: DTypeLike) -> NDArray[Any]:
        """An array of so many elements with arbitrary content. The next call with this name returns the same memory."""
        held = self._arrays.get(name)
        if held is None or len(held) < rows or held.dtype != dtype:
            held = self._arrays[name] = np.empty(rows, dtype=dtype)
        return held[:rows]

    def __repr__(self) -> str:
        return "Workspace(…)"
