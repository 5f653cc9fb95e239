"""As much of the FlatBuffers format as reading the metadata of Arrow messages takes.

A buffer may point to one table or string from many places. What is small in the buffer can be large once it is read, so
whoever reads one counts what is reached, not what is stored. Offsets point forward, so there are no cycles. Anything
unexpected raises, whatever comes to hand.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Self


class Table:
    """A FlatBuffer table: a signed distance back to its vtable, which has the place of each field or 0."""

    def __init__(self, data: bytearray, at: int) -> None:
        self._data = data
        self._at = at
        self._vtable = at - read_number("<i", data, at)

    @classmethod
    def root(cls, data: bytearray) -> Self:
        """The table that the buffer holds."""
        return cls(data, read_number("<I", data, 0))

    def _place(self, slot: int) -> int:
        entry = 4 + 2 * slot
        if entry >= read_number("<H", self._data, self._vtable):
            return 0
        distance = read_number("<H", self._data, self._vtable + entry)
        return self._at + distance if distance else 0

    def number(self, slot: int, layout: str) -> int:
        """A number, 0 where it is left out."""
        place = self._place(slot)
        return read_number(layout, self._data, place) if place else 0

    def table(self, slot: int) -> Table | None:
        """A table within this one."""
        place = self._place(slot)
        return Table(self._data, place + read_number("<I", self._data, place)) if place else None

    def vector(self, slot: int) -> tuple[int, int]:
        """Where the elements of a vector start, and how many there are."""
        place = self._place(slot)
        if not place:
            return 0, 0
        start = place + read_number("<I", self._data, place)
        return start + 4, read_number("<I", self._data, start)

    def tables(self, slot: int) -> Iterator[Table]:
        """The tables of a vector of tables."""
        start, count = self.vector(slot)
        for place in range(start, start + 4 * count, 4):
            yield Table(self._data, place + read_number("<I", self._data, place))


def read_number(layout: str, data: bytearray, at: int) -> int:
    """A number at some place, which must be in the buffer."""
    if at < 0:
        raise ValueError
    (number,) = struct.unpack_from(layout, data, at)
    return int(number)
