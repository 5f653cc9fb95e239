"""HeldBody: a body that is read after its last byte has come, like a seekable file.

Its first `Limits.buffer_bytes` stay in memory. Only what comes after them goes to a sealed spool, so a body that fits
touches no disk.
"""

from __future__ import annotations

import io
from bisect import bisect_right

import numpy as np
import pyarrow as pa

from app.ingest.errors import Cap, UploadTooLarge
from app.ingest.limits import MIB, Limits
from app.ingest.spool import SealedSpool, SeekableBytes

_FIRST_BYTES = MIB  # of memory; each later segment is as long as all before it, so that reads rarely cross two


class HeldBody(SeekableBytes):
    """First `append`, then `seal`, then read it like a seekable binary file. Leaving the `with` block closes it.

    `Limits.spool_bytes` bounds the whole body, so what is refused does not depend on how much of it is in memory.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._segments: list[memoryview] = []
        self._starts: list[int] = []  # of each segment, in the body
        self._reserved = 0  # bytes of all segments
        self._spool: SealedSpool | None = None
        self._sealed = False

    def append(self, data: bytes) -> None:
        """Add bytes at the end; raises UploadTooLarge beyond spool_bytes, SpoolFailure if the disk refuses them."""
        if self._sealed:
            raise io.UnsupportedOperation("A sealed body takes no more bytes.")
        if self._size + len(data) > self._limits.spool_bytes:
            raise UploadTooLarge(Cap.SPOOL_BYTES, self._limits.spool_bytes)
        rest = memoryview(data)
        while rest:
            if self._size == self._reserved < self._limits.buffer_bytes:
                self._add_segment()
            free = self._reserved - self._size
            if free <= 0:
                self._append_to_spool(rest)
                self._size += len(rest)
                break
            part, rest = rest[:free], rest[free:]
            start = self._size - self._starts[-1]
            self._segments[-1][start : start + len(part)] = part
            self._size += len(part)

    def seal(self) -> None:
        """End writing; from now on the body can be read, from its first byte."""
        self._sealed = True
        if self._spool is not None:
            self._spool.seal()

    def require_sound(self) -> None:
        """Raise SpoolFailure if a read from the spool has ever failed; for callers whose library hides exceptions."""
        if self._spool is not None:
            self._spool.require_sound()

    def close(self) -> None:
        """Let go of the memory, and close the spool."""
        self._segments.clear()
        self._size = 0
        if self._spool is not None:
            self._spool.close()

    def for_arrow(self) -> pa.NativeFile:
        """The body as a file of pyarrow."""
        return pa.PythonFile(_ArrowFile(self), mode="r")

    def read(self, count: int = -1) -> bytes:
        """The next `count` bytes (all if negative), fewer at the end; allocates no more than there are bytes left.

        Raises SpoolFailure if the spool cannot give them back.
        """
        return bytes(self.view(count))

    def view(self, count: int = -1) -> bytes | memoryview:
        """The same, without a copy if all of them are in one segment."""
        if not self._sealed:
            raise io.UnsupportedOperation("A body is read once it is sealed.")
        left = max(0, self._size - self._position)
        count = left if count < 0 else min(count, left)
        parts = []
        while count:
            part = self._part(count)
            parts.append(part)
            self._position += len(part)
            count -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _add_segment(self) -> None:
        length = min(max(_FIRST_BYTES, self._reserved), self._limits.buffer_bytes - self._reserved)
        self._segments.append(np.empty(length, dtype=np.uint8).data)  # not touched before it is written to
        self._starts.append(self._reserved)
        self._reserved += length

    def _append_to_spool(self, part: memoryview) -> None:
        if self._spool is None:
            self._spool = SealedSpool(max_bytes=self._limits.spool_bytes, folder=self._limits.spool_folder)
        self._spool.append(part)

    def _part(self, count: int) -> bytes | memoryview:
        """The next bytes, at most `count` of them and not beyond a segment; they must be there."""
        if self._spool is not None and self._position >= self._reserved:
            self._spool.seek(self._position - self._reserved)
            return self._spool.read(count)
        segment = bisect_right(self._starts, self._position) - 1
        start = self._position - self._starts[segment]
        return self._segments[segment][start : start + count].toreadonly()


class _ArrowFile:
    """A held body as a Python file for pyarrow, which takes views in place of bytes and keeps their memory alive."""

    closed = False  # its owner closes the body

    def __init__(self, body: HeldBody) -> None:
        self.read, self.seek, self.tell = body.view, body.seek, body.tell

    def close(self) -> None:
        """Nothing to do."""
