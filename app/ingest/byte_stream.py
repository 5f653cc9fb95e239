"""The bytes of a body: counted against their cap, inflated where gzip, taken in pieces of a wanted size."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import partial

from app.ingest.errors import Cap, UnreadableFile, UploadTooLarge, attempt
from app.ingest.limits import KIB

# gzip members can be as short as 20 bytes, and what follows a member is copied once per member: short pieces keep a
# body of nothing but empty members from costing quadratic time.
_PIECE_BYTES = 16 * KIB
_STEP = 256 * KIB  # inflated at once
_GZIP = 16 + zlib.MAX_WBITS
_NOT_GZIP = "The body is not a gzip file, or a damaged one."


def capped(chunks: Iterable[bytes], cap: Cap, allowed: int) -> Iterator[bytes]:
    """The chunks, as long as they do not exceed the bytes allowed."""
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > allowed:
            raise UploadTooLarge(cap, allowed)
        yield chunk


def inflate(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a gzip body of one or more members, in steps of bounded size however well it was compressed."""
    member = zlib.decompressobj(_GZIP)
    started = False  # whether the current member has been given a byte
    complete = False  # whether a member has ended
    for piece in pieces(chunks, _PIECE_BYTES):
        rest = piece
        while rest:
            inflated = attempt(partial(member.decompress, rest, _STEP), _NOT_GZIP)
            started = True
            if inflated:
                yield inflated
            rest = member.unconsumed_tail
            if member.eof:
                rest = member.unused_data
                member = zlib.decompressobj(_GZIP)
                started, complete = False, True
    if started or not complete:
        raise UnreadableFile("The gzip body ends early.")


def pieces(chunks: Iterable[bytes], most: int) -> Iterator[bytes]:
    """The same bytes in chunks of at most so many."""
    for chunk in chunks:
        for start in range(0, len(chunk), most):
            yield chunk[start : start + most]


class ByteSource:
    """Bytes of a stream, in the numbers that are asked for."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._left = memoryview(b"")

    def take(self, count: int) -> bytearray:
        """The next `count` bytes, or fewer where the stream ends. Grows with what arrives, not with what is asked."""
        taken = bytearray()
        while len(taken) < count:
            if not self._left:
                chunk = next(self._chunks, None)
                if chunk is None:
                    break
                self._left = memoryview(chunk)
            part = self._left[: count - len(taken)]
            taken += part
            self._left = self._left[len(part) :]
        return taken
