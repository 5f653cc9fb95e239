"""Minimal FlatBuffers reader: the part of the format that the metadata of Arrow messages uses.

Many places of a buffer may point to the same table or string. A small buffer can therefore expand to something large.
Callers must count each table as often as it is reached, not once. Offsets point forward, so there are no cycles.
Malformed input raises some exception (ValueError, struct.error, …); callers wrap calls in `errors.attempt`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Self


class Table:
    """A FlatBuffer table at offset `at`.

    It starts with the signed distance back to its vtable. The vtable has, for each slot, the offset of the field from
    the start of the table, or 0 if the field is left out.
    """

    def __init__(self, data: bytearray, at: int) -> None:
        self._data = data
        self._at = at
        self._vtable = at - read_number("<i", data, at)

    @classmethod
    def root(cls, data: bytearray) -> Self:
        """The root table of a buffer."""
        return cls(data, read_number("<I", data, 0))

    def _place(self, slot: int) -> int:
        """Offset of a field in the buffer; 0 if it is left out."""
        entry = 4 + 2 * slot
        if entry >= read_number("<H", self._data, self._vtable):
            return 0
        distance = read_number("<H", self._data, self._vtable + entry)
        return self._at + distance if distance else 0

    def number(self, slot: int, layout: str) -> int:
        """The number in a slot, in the given struct layout; 0 if it is left out."""
        place = self._place(slot)
        return read_number(layout, self._data, place) if place else 0

    def table(self, slot: int) -> Table | None:
        """The table that a slot points to; None if it is left out."""
        place = self._place(slot)
        return Table(self._data, place + read_number("<I", self._data, place)) if place else None

    def vector(self, slot: int) -> tuple[int, int]:
        """Offset of the first element of a vector, and the number of elements; (0, 0) if it is left out."""
        place = self._place(slot)
        if not place:
            return 0, 0
        start = place + read_number("<I", self._data, place)
        return start + 4, read_number("<I", self._data, start)

    def tables(self, slot: int) -> Iterator[Table]:
        """The elements of a vector of tables."""
        start, count = self.vector(slot)
        for place in range(start, start + 4 * count, 4):
            yield Table(self._data, place + read_number("<I", self._data, place))


def read_number(layout: str, data: bytearray, at: int) -> int:
    """The number at offset `at`; raises if that is outside of the buffer."""
    if at < 0:
        raise ValueError
    (number,) = struct.unpack_from(layout, data, at)
    return int(number)
