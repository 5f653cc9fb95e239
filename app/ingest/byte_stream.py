"""Helpers for the byte stream of a body: size limit, gzip decompression, pieces of a given size."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import partial

from app.ingest.errors import Cap, UnreadableFile, UploadTooLarge, attempt
from app.ingest.limits import KIB

# gzip members can be as short as 20 bytes, and zlib copies the bytes after a member once per member. Short pieces keep
# a body of many empty members from taking quadratic time.
_PIECE_BYTES = 16 * KIB
_STEP = 256 * KIB  # the most that is decompressed at once
_GZIP = 16 + zlib.MAX_WBITS
_NOT_GZIP = "The body is not a gzip file, or a damaged one."


def capped(chunks: Iterable[bytes], cap: Cap, allowed: int) -> Iterator[bytes]:
    """Yield the chunks; raises UploadTooLarge(cap, allowed) once they have more than `allowed` bytes together."""
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > allowed:
            raise UploadTooLarge(cap, allowed)
        yield chunk


def inflate(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the content of a gzip body of one or more members, in chunks of at most _STEP bytes.

    Raises UnreadableFile if the body is not gzip, is damaged, or ends early.
    """
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
    """The same bytes in chunks of at most `most` bytes."""
    for chunk in chunks:
        for start in range(0, len(chunk), most):
            yield chunk[start : start + most]


class ByteSource:
    """Reads a given number of bytes at a time from a stream of chunks."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._left = memoryview(b"")

    def take(self, count: int) -> bytearray:
        """The next `count` bytes, or fewer at the end. Memory grows with the bytes that arrive, not with `count`."""
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
