"""RecordBuffer keeps records in memory and then in the sealed spool, and returns them unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest import record_buffer
from app.ingest.errors import Cap, UploadTooLarge
from app.ingest.limits import Limits
from app.ingest.record_buffer import RecordBuffer
from core.records import Records
from tests.core.rows import by_row, records_of

DIMENSIONS = 3
DTYPES = (np.dtype(np.uint32),) * DIMENSIONS
PAGE_ROWS = 8
PAGE_BYTES = PAGE_ROWS * DIMENSIONS * 4


@pytest.fixture(autouse=True)
def small_pages() -> Iterator[None]:
    """Pages that a few rows fill."""
    with patch.object(record_buffer, "PAGE_ROWS", PAGE_ROWS):
        yield


def records(start: int, rows: int) -> Records:
    """Rows that can be told apart."""
    return records_of(np.arange(start, start + rows * DIMENSIONS, dtype=np.uint32).reshape(-1, DIMENSIONS))


@given(st.lists(st.integers(0, 30), max_size=12), st.integers(0, 5 * PAGE_BYTES))
def test_every_record_comes_back_once_and_in_order(sizes: list[int], buffer_bytes: int) -> None:
    """Whatever the sizes of the batches and the memory allowed."""
    with RecordBuffer(dtypes=DTYPES, limits=Limits(buffer_bytes=buffer_bytes)) as held:
        start = 0
        for size in sizes:
            held.add(records(start, size))
            start += size * DIMENSIONS
        assert len(held) == sum(sizes)
        numbers = np.concatenate([by_row(page).ravel() for page in held.pages()])
    assert np.array_equal(numbers, np.arange(start))


def test_what_fits_the_buffer_never_touches_the_disk() -> None:
    """The spool is opened by the first page that does not fit."""
    with patch.object(record_buffer, "SealedSpool", wraps=record_buffer.SealedSpool) as opened:
        with RecordBuffer(dtypes=DTYPES, limits=Limits(buffer_bytes=2 * PAGE_BYTES)) as held:
            held.add(records(0, 3 * PAGE_ROWS - 1))
            assert opened.call_count == 0
            held.add(records(0, 1))
            assert opened.call_count == 1
        assert held._spool is not None
        assert held._spool.closed


def test_a_million_batches_of_one_row_take_no_more_than_their_bytes() -> None:
    """Rows are packed into pages, so that no batch costs an array of its own."""
    with RecordBuffer(dtypes=DTYPES, limits=Limits()) as held:
        for row in range(3 * PAGE_ROWS):
            held.add(records(row, 1))
        assert len(held._pages) == 3


def test_beyond_the_cap_of_the_spool_the_upload_is_refused(tmp_path: Path) -> None:
    """A clear refusal, and a closed spool."""
    limits = Limits(buffer_bytes=0, spool_bytes=2 * PAGE_BYTES, spool_folder=tmp_path)
    with RecordBuffer(dtypes=DTYPES, limits=limits) as held:
        held.add(records(0, 2 * PAGE_ROWS))
        with pytest.raises(UploadTooLarge) as refusal:
            held.add(records(0, PAGE_ROWS))
    assert refusal.value.cap is Cap.SPOOL_BYTES
    assert held._spool is not None
    assert held._spool.closed
