"""SealedSpool: an encrypted, unlinked temporary file for data that does not fit into memory.

Encryption: each spool has its own random AES-256-GCM key, which exists in memory only. The data is encrypted in blocks
of 64 KiB, numbered from 0. The number of a block is its nonce. Each nonce is used once, because each block is written
once, in order. A block that was changed, swapped or truncated fails authentication: its expected number and length come
from memory and not from the file.

The file never has a name (O_TMPFILE, or unlinked immediately where the file system lacks that). So it disappears with
the process, however the process ends, and its ciphertext is useless without the key.
"""

from __future__ import annotations

import io
import os
import tempfile
from abc import ABC, abstractmethod
from collections import OrderedDict
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
_OPENED_BLOCKS = 16  # kept open: columns of Parquet are read side by side, each a little at a time
_TAG_BYTES = 16
_NONCE_BYTES = 12

_Result = TypeVar("_Result")


class SeekableBytes(ABC):
    """What is shared by those who are read like a seekable binary file: a size and a position."""

    _size = 0
    _position = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self._size

    def tell(self) -> int:
        """The offset at which the next `read` starts."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the offset at which the next `read` starts, and return it."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held."""


class SealedSpool(SeekableBytes):
    """First `append`, then `seal`, then read it like a seekable binary file. Leaving the `with` block closes it."""

    def __init__(self, *, max_bytes: int, folder: Path | None) -> None:
        self._max_bytes = max_bytes
        self._cipher = AESGCM(AESGCM.generate_key(bit_length=256))
        self._tail = bytearray(BLOCK_BYTES)
        self._tail_bytes = 0
        self._blocks = 0
        self._opened: OrderedDict[int, bytes] = OrderedDict()
        self._sealed = False
        self._damaged = False
        self._file = _held(lambda: tempfile.TemporaryFile("w+b", buffering=0, dir=folder))  # noqa: SIM115 - see close

    def fileno(self) -> int:
        """The file descriptor of the unlinked file."""
        return self._file.fileno()

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Add bytes at the end; raises UploadTooLarge beyond max_bytes, SpoolFailure if the disk refuses them."""
        if self._sealed:
            raise io.UnsupportedOperation("A sealed spool takes no more bytes.")
        if self._size + len(data) > self._max_bytes:
            raise UploadTooLarge(Cap.SPOOL_BYTES, self._max_bytes)
        self._size += len(data)
        rest = memoryview(data)
        while rest:
            if not self._tail_bytes and len(rest) >= BLOCK_BYTES:  # a whole block is sealed from where it is
                self._write_block(rest[:BLOCK_BYTES])
                rest = rest[BLOCK_BYTES:]
                continue
            part = rest[: BLOCK_BYTES - self._tail_bytes]
            self._tail[self._tail_bytes : self._tail_bytes + len(part)] = part
            self._tail_bytes += len(part)
            rest = rest[len(part) :]
            if self._tail_bytes == BLOCK_BYTES:
                self._write_tail()

    def seal(self) -> None:
        """End writing; from now on the spool can be read, from its first byte."""
        if self._tail_bytes:
            self._write_tail()
        self._tail.clear()
        self._sealed = True

    def require_sound(self) -> None:
        """Raise SpoolFailure if a read has ever failed; for callers whose library hides exceptions."""
        if self._damaged:
            raise SpoolFailure("The service could not read back what it held of the upload. Send it again.")

    @property
    def closed(self) -> bool:
        """Whether the file is closed and the key deleted."""
        return self._file.closed

    def close(self) -> None:
        """Close the file, and delete the key and all plain text in memory."""
        if not self.closed:
            self._file.close()
            self._tail.clear()
            self._opened.clear()
            del self._cipher

    def read(self, count: int = -1) -> bytes:
        """The next `count` bytes (all if negative), fewer at the end; allocates no more than there are bytes left."""
        if not self._sealed:
            raise io.UnsupportedOperation("A spool is read once it is sealed.")
        left = max(0, self._size - self._position)
        count = left if count < 0 else min(count, left)
        parts = []
        while count:
            block, start = divmod(self._position, BLOCK_BYTES)
            part = memoryview(self._open_block(block))[start : start + count]
            parts.append(part)
            self._position += len(part)
            count -= len(part)
        return b"".join(parts)

    def _write_tail(self) -> None:
        with memoryview(self._tail) as tail, tail[: self._tail_bytes] as plain:  # let go of where the disk refuses it
            self._write_block(plain)
        self._tail_bytes = 0

    def _write_block(self, plain: memoryview) -> None:
        sealed = memoryview(self._cipher.encrypt(_nonce(self._blocks), plain, None))
        while sealed:
            written = _held(partial(self._file.write, sealed))
            sealed = sealed[written:]
        self._blocks += 1

    def _open_block(self, number: int) -> bytes:
        self.require_sound()
        plain = self._opened.get(number)
        if plain is None:
            length = min(BLOCK_BYTES, self._size - number * BLOCK_BYTES) + _TAG_BYTES
            self._damaged = True  # unless decryption succeeds
            with suppress(InvalidTag, OSError):
                sealed = os.pread(self._file.fileno(), length, number * (BLOCK_BYTES + _TAG_BYTES))
                plain = self._cipher.decrypt(_nonce(number), sealed, None)
                self._damaged = False
            self.require_sound()
            assert plain is not None  # noqa: S101 - else it is not sound
            self._opened[number] = plain
            if len(self._opened) > _OPENED_BLOCKS:
                self._opened.popitem(last=False)
        return plain


def _held(step: Callable[[], _Result]) -> _Result:
    """The result of `step()`; SpoolFailure if the file system refuses it."""
    with suppress(OSError):
        return step()
    raise SpoolFailure("The service has no room to hold the upload. Nothing was published; send it again later.")


def _nonce(number: int) -> bytes:
    return number.to_bytes(_NONCE_BYTES, "little")
