"""RecordBuffer: keeps the records of one upload until its grid is planned.

Records stay in memory up to `Limits.buffer_bytes`; the rest goes to an encrypted temporary file (`spool`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from app.ingest.limits import Limits
from app.ingest.spool import SealedSpool
from core.records import Records

PAGE_ROWS = 2**16


class RecordBuffer:
    """Takes records batch by batch and returns them, in order, in pages of PAGE_ROWS records.

    Every page but the last is full, whatever the sizes of the batches. So memory use is at most `buffer_bytes` and one
    page, also for an upload of a million batches of one row. A context manager: on exit it closes the spool.
    """

    def __init__(self, *, dimensions: int, limits: Limits) -> None:
        self._dimensions = dimensions
        self._limits = limits
        self._pages: list[NDArray[np.uint32]] = []
        self._page = np.empty((PAGE_ROWS, dimensions), dtype=np.uint32)
        self._filled = 0
        self._rows = 0
        self._spool: SealedSpool | None = None
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def __len__(self) -> int:
        return self._rows

    def add(self, records: Records) -> None:
        """Append a batch; raises UploadTooLarge or SpoolFailure if the spool cannot take it."""
        start = 0
        while start < len(records):
            part = records.fixed[start : start + PAGE_ROWS - self._filled]
            self._page[self._filled : self._filled + len(part)] = part
            self._filled += len(part)
            self._rows += len(part)
            start += len(part)
            if self._filled == PAGE_ROWS:
                self._turn_page()

    def _turn_page(self) -> None:
        """Move the full page to memory, or to the spool once the memory is used up."""
        if self._spool is None and (len(self._pages) + 1) * self._page.nbytes <= self._limits.buffer_bytes:
            self._pages.append(self._page)
            self._page = np.empty_like(self._page)
        else:
            if self._spool is None:
                spool = SealedSpool(max_bytes=self._limits.spool_bytes, folder=self._limits.spool_folder)
                self._spool = self._exits.enter_context(spool)
            self._spool.append(self._page.tobytes())
        self._filled = 0

    def pages(self) -> Iterator[Records]:
        """Yield everything that was added. Call it once, after the last `add`."""
        yield from map(Records, self._pages)
        if self._spool is not None:
            self._spool.seal()
            while page := self._spool.read(self._page.nbytes):
                yield Records(np.frombuffer(page, dtype=np.uint32).reshape(-1, self._dimensions))
        yield Records(self._page[: self._filled])
