"""Arrow schemas that are small when sent and huge when read, because everything in them is shared."""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Sequence

from app.ingest.thrift import BINARY, LIST
from tests.app.ingest.bodies import parquet_body, table
from tests.app.ingest.hostile_parquet import closed, footer_of

_END = b"\xff\xff\xff\xff\0\0\0\0"
_STRUCT_TYPE, _FLOATING_TYPE = 13, 3

Slot = tuple[int, str, int | str]  # its number, its layout, and its value or the name of what it points to


class _Builder:
    """Builds a FlatBuffer from front to back. References are names, resolved at the end, so they may be repeated."""

    def __init__(self) -> None:
        self._data = bytearray(4)
        self._places: dict[str, int] = {}
        self._references = [(0, "message")]

    def table(self, name: str, *slots: Slot) -> None:
        """A table of some fields, after its vtable."""
        content, vtable = bytearray(4), [0] * (1 + max(number for number, _, _ in slots))
        pointers = []
        for number, layout, value in slots:
            content += bytes(-len(content) % struct.calcsize(layout))
            vtable[number] = len(content)
            if isinstance(value, str):
                pointers.append((len(content), value))
            content += struct.pack(layout, 0 if isinstance(value, str) else value)
        head = struct.pack(f"<{2 + len(vtable)}H", 4 + 2 * len(vtable), len(content), *vtable)
        self._data += bytes(-(len(self._data) + len(head)) % 8)
        self._data += head
        start = self._places[name] = len(self._data)
        content[:4] = struct.pack("<i", len(head))
        self._data += content
        self._references += [(start + place, target) for place, target in pointers]

    def vector(self, name: str, elements: Sequence[str]) -> None:
        """A vector of references."""
        self._align(name)
        self._data += struct.pack("<I", len(elements))
        for element in elements:
            self._references.append((len(self._data), element))
            self._data += bytes(4)

    def text(self, name: str, text: bytes) -> None:
        """A string."""
        self._align(name)
        self._data += struct.pack("<I", len(text)) + text + b"\0"

    def message(self) -> bytes:
        """The buffer as a message without a body."""
        self._data += bytes(-len(self._data) % 8)
        for place, target in self._references:
            self._data[place : place + 4] = struct.pack("<I", self._places[target] - place)
        return b"\xff\xff\xff\xff" + struct.pack("<i", len(self._data)) + bytes(self._data)

    def _align(self, name: str) -> None:
        self._data += bytes(-len(self._data) % 4)
        self._places[name] = len(self._data)


def schema(*, fan: int = 1, name_bytes: int = 1, pairs: int = 0, padding: int = 0) -> bytes:
    """A schema message of x, y and a nested column of fan^3 fields, which share one name and `pairs` of metadata.

    `padding` is for Arrow, which takes at most eight tables for a byte.
    """
    made = _Builder()
    made.table("message", (0, "<h", 4), (1, "<B", 1), (2, "<I", "schema"), (3, "<q", 0))
    made.table("schema", (0, "<h", 0), (1, "<I", "columns"), (2, "<I", "pairs"))
    made.vector("columns", ["x", "y", "nested0"])
    for name in ("x", "y"):
        made.table(name, (0, "<I", f"{name} name"), (2, "<B", _FLOATING_TYPE), (3, "<I", "double"), (5, "<I", "none"))
    for depth in range(3):
        children = f"children{depth}"
        made.table(
            f"nested{depth}", (0, "<I", "long name"), (2, "<B", _STRUCT_TYPE), (3, "<I", "struct"), (5, "<I", children)
        )
        made.vector(children, [f"nested{depth + 1}"] * fan)
    made.table("nested3", (0, "<I", "long name"), (2, "<B", _FLOATING_TYPE), (3, "<I", "double"), (5, "<I", "none"))
    made.vector("none", [])
    made.vector("pairs", ["pair"] * pairs)
    made.table("pair", (0, "<I", "long name"), (1, "<I", "long name"))
    made.table("double", (0, "<h", 2))
    made.table("struct", (0, "<h", 0))
    made.text("x name", b"x")
    made.text("y name", b"y")
    made.text("long name", b"n" * name_bytes)
    made.text("padding", bytes(padding))
    return made.message()


def stream(message: bytes) -> bytes:
    """An Arrow stream without rows."""
    return message + _END


def parquet(message: bytes) -> bytes:
    """A Parquet file with this schema in its footer, where pyarrow looks for one."""
    body = parquet_body(table(10))
    footer, start = footer_of(body)
    footer[5, LIST] = [{(1, BINARY): b"ARROW:schema", (2, BINARY): b64encode(message)}]
    return closed(body[:start], footer)
