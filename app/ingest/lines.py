"""Splits a stream of bytes into blocks of whole lines, in bounded memory however long a line is.

A line ends at LF and nowhere else. One CR before the LF belongs to the line end. The meaning of a line must not depend
on other lines, so nothing here looks beyond the next LF: there are no quoted newlines, no encodings, and a lone CR
does not end a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from app.ingest.byte_stream import pieces
from app.ingest.limits import KIB, MIB

BLOCK_BYTES = MIB
_PIECE_BYTES = 64 * KIB
MAX_BLOCK_BYTES = BLOCK_BYTES + _PIECE_BYTES
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, repr=False)
class Block:
    """Whole lines that each end in LF, and the number of lines that were left out because they are too long."""

    text: bytes
    long_lines: int


def first_line(chunks: Iterable[bytes], *, max_line_bytes: int) -> tuple[bytes | None, Iterator[bytes]]:
    """The first line without its line end, and the chunks after it; the line is None if it is too long."""
    rest = iter(chunks)
    line = bytearray()
    for chunk in rest:
        before, end, after = chunk.partition(b"\n")
        line += before
        if len(line) > max_line_bytes:
            return None, rest
        if end:
            rest = chain([after], rest)
            break
    return bytes(line).removesuffix(b"\r"), rest


def blocks(chunks: Iterable[bytes], *, max_line_bytes: int) -> Iterator[Block]:
    """Yield the lines of a stream in blocks of about BLOCK_BYTES, at most MAX_BLOCK_BYTES + max_line_bytes + 2."""
    begun = b""  # the part of a line whose end has not been read yet
    for piece in _regrouped(chunks):
        text = begun + piece
        end = text.rfind(b"\n") + 1
        if end:
            yield _block(text[:end], max_line_bytes)
        # A line that is already too long stays too long, so one byte beyond the limit is all that must be kept of it.
        begun = text[end : end + max_line_bytes + 1]
    if begun:
        yield _block(begun + b"\n", max_line_bytes)


def _regrouped(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of BLOCK_BYTES to MAX_BLOCK_BYTES; the last piece may be shorter."""
    gathered: list[bytes] = []
    size = 0
    for piece in pieces(chunks, _PIECE_BYTES):
        gathered.append(piece)
        size += len(piece)
        if size >= BLOCK_BYTES:
            yield b"".join(gathered)
            gathered.clear()
            size = 0
    yield b"".join(gathered)


def _block(text: bytes, max_line_bytes: int) -> Block:
    text, long_lines = _without_long_lines(text, max_line_bytes)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    return Block(text, long_lines)


def _without_long_lines(text: bytes, limit: int) -> tuple[bytes, int]:
    """The lines of at most `limit` bytes, and the number of longer lines, which are removed.

    Search backwards for the last LF within `limit` bytes from the start of a line. If there is one, all lines up to it
    are short enough. If there is none, this line is too long. So a block of short lines needs one search per `limit`
    bytes (64 KiB by default) instead of one per line.
    """
    kept: list[bytes] = []
    long_lines = start = position = 0
    while len(text) - position > limit:
        cut = text.rfind(b"\n", position, position + limit + 1)
        if cut < 0:
            kept.append(text[start:position])
            cut = text.index(b"\n", position + limit)
            start = cut + 1
            long_lines += 1
        position = cut + 1
    if not long_lines:
        return text, 0
    kept.append(text[start:])
    return b"".join(kept), long_lines
