"""RecordBuffer: keeps the records of one upload until its grid is planned.

Records stay in memory up to `Limits.buffer_bytes`; the rest goes to an encrypted temporary file (`spool`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from app.ingest.limits import Limits
from app.ingest.spool import SealedSpool
from core.records import Records

PAGE_ROWS = 2**16

_Page = tuple[NDArray[Any], ...]  # a column for each attribute


class RecordBuffer:
    """Takes records batch by batch and returns them, in order, in pages of PAGE_ROWS records.

    Every page but the last is full, whatever the sizes of the batches. So memory use is at most `buffer_bytes` and one
    page, also for an upload of a million batches of one row. A context manager: on exit it closes the spool.
    """

    def __init__(self, *, dtypes: Sequence[np.dtype[Any]], limits: Limits) -> None:
        self._dtypes = tuple(dtypes)
        self._limits = limits
        self._pages: list[_Page] = []
        self._page = self._empty_page()
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

    @property
    def _page_bytes(self) -> int:
        return PAGE_ROWS * sum(dtype.itemsize for dtype in self._dtypes)

    def _empty_page(self) -> _Page:
        return tuple(np.empty(PAGE_ROWS, dtype=dtype) for dtype in self._dtypes)

    def add(self, records: Records) -> None:
        """Append a batch; raises UploadTooLarge or SpoolFailure if the spool cannot take it."""
        start = 0
        while start < len(records):
            rows = min(len(records) - start, PAGE_ROWS - self._filled)
            for column, codes in zip(self._page, records.columns, strict=True):
                column[self._filled : self._filled + rows] = codes[start : start + rows]
            self._filled += rows
            self._rows += rows
            start += rows
            if self._filled == PAGE_ROWS:
                self._turn_page()

    def _turn_page(self) -> None:
        """Move the full page to memory, or to the spool once the memory is used up."""
        if self._spool is None and (len(self._pages) + 1) * self._page_bytes <= self._limits.buffer_bytes:
            self._pages.append(self._page)
            self._page = self._empty_page()
        else:
            if self._spool is None:
                spool = SealedSpool(max_bytes=self._limits.spool_bytes, folder=self._limits.spool_folder)
                self._spool = self._exits.enter_context(spool)
            for column in self._page:
                self._spool.append(column.tobytes())
        self._filled = 0

    def pages(self) -> Iterator[Records]:
        """Yield everything that was added. Call it after the last `add`; it may be called again."""
        yield from map(Records, self._pages)
        if self._spool is not None:
            self._spool.seal()
            self._spool.seek(0)
            while page := self._spool.read(self._page_bytes):
                yield Records(self._columns(page))
        yield Records(tuple(column[: self._filled] for column in self._page))

    def _columns(self, page: bytes) -> _Page:
        """The columns of a page that the spool holds, one after the other."""
        columns, start = [], 0
        for dtype in self._dtypes:
            columns.append(np.frombuffer(page, dtype=dtype, count=PAGE_ROWS, offset=start))
            start += PAGE_ROWS * dtype.itemsize
        return tuple(columns)
