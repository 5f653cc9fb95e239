"""SealedSpool: what must be held beyond memory, in a file without a name, under a key that is never written.

Each spool has its own AES-256-GCM key and seals blocks of 64 KiB, numbered from 0; a block's number is its nonce. A
nonce is used once, because blocks are written once, in order. A block that was changed, swapped or cut off does not
open: its number and length follow from what memory knows, not from the file.

The file is unlinked from the start (O_TMPFILE, or unlinked at once where a file system lacks that), so it is gone with
the process however that ends, and its ciphertext is worth nothing without the key.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app.ingest.errors import Cap, SpoolFailure, UploadTooLarge
from app.ingest.limits import KIB

BLOCK_BYTES = 64 * KIB
_TAG_BYTES = 16
_NONCE_BYTES = 12

_Result = TypeVar("_Result")


class SealedSpool:
    """Append, then `seal`, then read like any seekable binary file. A context manager: left closed on any exit."""

    def __init__(self, *, max_bytes: int, folder: Path | None) -> None:
        self._max_bytes = max_bytes
        self._cipher = AESGCM(AESGCM.generate_key(bit_length=256))
        self._tail = bytearray()
        self._blocks = 0
        self._size = 0
        self._position = 0
        self._opened = (-1, b"")
        self._sealed = False
        self._damaged = False
        self._file = _held(lambda: tempfile.TemporaryFile("w+b", buffering=0, dir=folder))  # noqa: SIM115 - see close

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self._size

    def fileno(self) -> int:
        """The descriptor of the unlinked file."""
        return self._file.fileno()

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Add bytes at the end."""
        if self._sealed:
            raise io.UnsupportedOperation("A sealed spool takes no more bytes.")
        if self._size + len(data) > self._max_bytes:
            raise UploadTooLarge(Cap.SPOOL_BYTES, self._max_bytes)
        self._size += len(data)
        self._tail += data
        while len(self._tail) >= BLOCK_BYTES:
            self._write_block(bytes(self._tail[:BLOCK_BYTES]))
            del self._tail[:BLOCK_BYTES]

    def seal(self) -> None:
        """End writing and start reading, from the first byte."""
        if self._tail:
            self._write_block(bytes(self._tail))
            self._tail.clear()
        self._sealed = True

    def require_sound(self) -> None:
        """SpoolFailure if reading has ever failed; for code that reads through a library that hides exceptions."""
        if self._damaged:
            raise SpoolFailure("The service could not read back what it held of the upload. Send it again.")

    @property
    def closed(self) -> bool:
        """Whether the file and its key are gone."""
        return self._file.closed

    def close(self) -> None:
        """Give up file, key and whatever memory still holds."""
        if not self.closed:
            self._file.close()
            self._tail.clear()
            self._opened = (-1, b"")
            del self._cipher

    def readable(self) -> bool:
        """Whether `read` may be called."""
        return self._sealed

    def seekable(self) -> bool:
        """Whether `seek` may be called."""
        return self._sealed

    def tell(self) -> int:
        """Where the next `read` starts."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move where the next `read` starts."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, count: int = -1) -> bytes:
        """The next `count` bytes, fewer where the spool ends; never more memory than there are bytes left."""
        if not self._sealed:
            raise io.UnsupportedOperation("A spool is read once it is sealed.")
        left = max(0, self._size - self._position)
        count = left if count < 0 else min(count, left)
        parts = []
        while count:
            block, start = divmod(self._position, BLOCK_BYTES)
            part = self._open_block(block)[start : start + count]
            parts.append(part)
            self._position += len(part)
            count -= len(part)
        return b"".join(parts)

    def _write_block(self, plain: bytes) -> None:
        sealed = memoryview(self._cipher.encrypt(_nonce(self._blocks), plain, None))
        while sealed:
            written = _held(partial(self._file.write, sealed))
            sealed = sealed[written:]
        self._blocks += 1

    def _open_block(self, number: int) -> bytes:
        self.require_sound()
        if self._opened[0] != number:
            length = min(BLOCK_BYTES, self._size - number * BLOCK_BYTES) + _TAG_BYTES
            self._damaged = True  # until it has opened
            with suppress(InvalidTag, OSError):
                sealed = os.pread(self._file.fileno(), length, number * (BLOCK_BYTES + _TAG_BYTES))
                self._opened = (number, self._cipher.decrypt(_nonce(number), sealed, None))
                self._damaged = False
            self.require_sound()
        return self._opened[1]


def _held(step: Callable[[], _Result]) -> _Result:
    """What `step` returns; SpoolFailure where the file system refuses."""
    with suppress(OSError):
        return step()
    raise SpoolFailure("The service has no room to hold the upload. Nothing was published; send it again later.")


def _nonce(number: int) -> bytes:
    return number.to_bytes(_NONCE_BYTES, "little")
