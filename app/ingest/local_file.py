"""LocalFile: a file on this machine that can be read where it lies, without a spool."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from app.ingest.limits import MIB

# On Linux a path here opens the file behind a descriptor once more, whatever its name is by now.
_DESCRIPTORS = Path("/proc/self/fd")


class LocalFile(io.FileIO):
    """A file that its owner opened for reading. It must not change meanwhile. A context manager, like every file."""

    def __len__(self) -> int:
        return os.fstat(self.fileno()).st_size

    def __bool__(self) -> bool:
        return True

    def require_sound(self) -> None:
        """Nothing to check: a failed read raises by itself."""

    def for_arrow(self) -> pa.NativeFile:
        """The same file for pyarrow, which reads it without the interpreter's lock where the system allows that."""
        name = _DESCRIPTORS / str(self.fileno())
        return pa.OSFile(str(name)) if name.exists() else pa.PythonFile(self, mode="r")

    def chunks(self) -> Iterator[bytes]:
        """All of its bytes, for formats that are read from the first to the last."""
        self.seek(0)
        while chunk := self.read(MIB):
            yield chunk
