"""Rows of an adaptive release wait until all layers are counted: in memory or in the spool, and no longer."""

from __future__ import annotations

import random
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from app.ingest import record_buffer
from app.ingest.formats import MediaType
from app.ingest.limits import Limits
from app.ingest.spool import SealedSpool
from app.ingest.upload import HeldRows, read_upload
from core.adaptive.cells import AdaptiveCells
from core.budget import Epsilon
from core.domain.domain import Domain
from core.domain.integer import Integer
from core.domain.number import Number
from core.plan import DeclaredSize, EstimatedSize, Order, Rule
from core.randomness import NoiseSource
from core.records import OutOfRange
from core.release import draw
from core.synopsis import Synopsis
from core.unit import RECORD, Unit
from tests.app.ingest.bodies import descriptors

DOMAIN = Domain((Number("x", 0, 100), Integer("n", 0, 50)))
ROWS = 3000
SIZES = {"declared": DeclaredSize(ROWS), "bought": EstimatedSize()}
UNITS = {"records": RECORD, "persons": Unit("who", 2)}


class Repeated(NoiseSource):
    """The same bits each time, so that two draws differ by their exact counts alone."""

    def __init__(self) -> None:
        self._bits = random.Random(14)

    def read(self, count: int) -> bytes:
        """The next bits."""
        return self._bits.randbytes(count)


def body() -> bytes:
    """Rows that crowd in a corner; each person has two of them."""
    rng = np.random.default_rng(2)
    values, whole = rng.exponential(3, ROWS), rng.poisson(4, ROWS)
    return b"who,x,n\n" + b"".join(b"p%d,%.4f,%d\n" % (i // 2, values[i], whole[i]) for i in range(ROWS))


def drawn(size: DeclaredSize | EstimatedSize, unit: Unit, limits: Limits) -> Synopsis:
    """The synopsis of an upload, with noise that is the same each time."""
    order = Order(
        attributes=DOMAIN.attributes,
        epsilon=Epsilon.parse("4"),
        clusters=3,
        size=size,
        rule=Rule.ADAPTIVE,
        unit=unit,
    )
    with read_upload(
        [body()],
        media_type=MediaType.CSV,
        gzip=False,
        order=order,
        domain=DOMAIN,
        out_of_range=OutOfRange.CLIP,
        max_cells=10**6,
        limits=limits,
    ) as rows:
        assert isinstance(rows, HeldRows)
        return draw(
            rows,
            order,
            Repeated(),
            max_cells=10**6,
            domain=DOMAIN,
            out_of_range=OutOfRange.CLIP,
            dataset="d",
            release_id="r",
        )


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("size", SIZES)
def test_rows_in_the_spool_are_counted_like_rows_in_memory(size: str, unit: str, tmp_path: Path) -> None:
    """In each of three layers, by the same bytes of the synopsis; afterwards no file is open or in the folder."""
    in_memory = drawn(SIZES[size], UNITS[unit], Limits())
    assert isinstance(in_memory.cells, AdaptiveCells)
    assert in_memory.cells.layers.coarse_counted.any()
    before, read = descriptors(), 0

    def reading(self: SealedSpool, count: int) -> bytes:
        nonlocal read
        page = original(self, count)
        read += len(page)
        return page

    original = SealedSpool.read
    with patch.object(record_buffer, "PAGE_ROWS", 256), patch.object(SealedSpool, "read", reading):
        spooled = drawn(SIZES[size], UNITS[unit], Limits(buffer_bytes=3000, spool_folder=tmp_path))
    assert spooled.to_bytes() == in_memory.to_bytes()
    assert read >= 3 * 8 * 256 * (ROWS // 256 - 2), "the rows must have been read from the spool three times"
    assert descriptors() == before
    assert list(tmp_path.iterdir()) == []
