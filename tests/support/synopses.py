"""A synopsis of each sort that a service can publish, with the names and values that are hard to write down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache

import numpy as np

from app.questions.encoding import encode
from app.questions.formats import Format
from app.questions.prepared import Prepared
from app.questions.synopsis import in_pieces
from app.questions.synopsis import synopsis as asked_synopsis
from app.receipts.downloads import Form
from core.adaptive.cells import AdaptiveCells
from core.budget import NOTHING, Epsilon
from core.cells import Cells, DenseCells, ThresholdedCells
from core.checkpoint import carry_on
from core.domain.attribute import Attribute, Missing
from core.domain.axis import OFFSET_STEPS
from core.domain.category import Category
from core.domain.dates import Date, Datetime
from core.domain.domain import Domain
from core.domain.integer import Integer
from core.domain.number import Number
from core.mechanisms.vector_laplace import VectorLaplace
from core.offsets import Offsets
from core.plan import Rule
from core.records import OutOfRange
from core.synopsis import Synopsis
from core.unit import RECORD, Unit
from tests.core.adaptive.trees import laws_at, layers_on

ZONE = timezone(timedelta(hours=1))
NUMBERS = (Number("x", 0, 13), Number("=y", -1.5, 1e300))
TABLE: tuple[Attribute, ...] = (
    Integer("age", 0, 99, Missing.KEEP),
    Category("count", ("f", "m", "=x", "'=x", 'say "hi"'), other=True, missing=Missing.KEEP),
    Date("arrived", date(2026, 1, 1), date(2026, 12, 31)),
    Datetime("at", datetime(2026, 1, 1, tzinfo=ZONE), datetime(2027, 1, 1, tzinfo=ZONE), Missing.KEEP),
)
MOMENTS = (Datetime("at", datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)), Number("v", 0, 1))
PERSON = Unit("patient", 3)


def synopsis_of(attributes: tuple[Attribute, ...], cells: Cells, unit: Unit = RECORD) -> Synopsis:
    """A synopsis with these cells, whose size is declared."""
    return Synopsis(
        dataset="clinic",
        release="r1",
        domain=Domain(attributes),
        cells=cells,
        epsilon=Epsilon.parse("1"),
        size_epsilon=NOTHING,
        clusters=3,
        rule=Rule.ADAPTIVE if isinstance(cells, AdaptiveCells) else Rule.RUGNIK,
        out_of_range=OutOfRange.CLIP,
        size=1000,
        size_declared=True,
        unit=unit,
    )


def dense(attributes: tuple[Attribute, ...], cells: list[int], unit: Unit = RECORD) -> Synopsis:
    """A count for each cell."""
    grid = Domain(attributes).grid(cells)
    counts = np.random.default_rng(1).integers(-5, 60, grid.cell_count)
    return synopsis_of(attributes, DenseCells(grid, counts), unit)


def thresholded(attributes: tuple[Attribute, ...], cells: list[int], unit: Unit = RECORD) -> Synopsis:
    """Those of them that reach 45."""
    whole = dense(attributes, cells, unit)
    assert isinstance(whole.cells, DenseCells)
    return replace(whole, cells=whole.cells.reaching(45))


def with_offsets() -> Synopsis:
    """A thresholded one, which bought sums of offsets as well."""
    listed, bought = thresholded(TABLE, [7, 5, 5, 4]), Epsilon.parse("0.25")
    axes = len(listed.grid.ordered_axes)
    law = VectorLaplace.at(bought, rows_per_unit=1, largest=OFFSET_STEPS, dimensions=axes)
    sums = np.random.default_rng(2).integers(-9999, 9999, (len(listed.counts), axes))
    assert isinstance(listed.cells, ThresholdedCells)
    return replace(listed, cells=replace(listed.cells, offsets=Offsets(sums, law)), offset_epsilon=bought)


def nothing_listed() -> Synopsis:
    """Where no cell reaches the threshold."""
    whole = dense(TABLE[:2], [9, 5])
    assert isinstance(whole.cells, DenseCells)
    return replace(whole, cells=whole.cells.reaching(1000))


def adaptive(attributes: tuple[Attribute, ...], cells: list[int]) -> Synopsis:
    """Three layers of cells."""
    base = Domain(attributes).grid(cells)
    layers = layers_on(base, laws_at("1"), 3, max_cells=500)
    return synopsis_of(attributes, AdaptiveCells.of(layers))


SORTS: dict[str, Callable[[], Synopsis]] = {
    "dense": lambda: dense(NUMBERS, [4, 3]),
    "dense, every kind of attribute": lambda: dense(TABLE, [7, 5, 5, 4]),
    "dense, persons": lambda: dense(TABLE[:2], [9, 5], PERSON),
    "thresholded": lambda: thresholded(NUMBERS, [30, 20]),
    "thresholded, every kind of attribute": lambda: thresholded(TABLE, [7, 5, 5, 4]),
    "thresholded, moments": lambda: thresholded(MOMENTS, [24, 4]),
    "thresholded, categories alone": lambda: thresholded((TABLE[1],), [5]),
    "thresholded, no cell listed": nothing_listed,
    "offsets": with_offsets,
    "adaptive": lambda: adaptive(NUMBERS, [4, 3]),
    "adaptive, categories and dates": lambda: adaptive(TABLE[1:3], [5, 4]),
    "adaptive, missing values": lambda: adaptive(TABLE[:2], [4, 5]),
}


@cache
def sort_of(name: str) -> Synopsis:
    """A synopsis by the name of its sort."""
    return SORTS[name]()


def download(synopsis: Synopsis, form: Form) -> bytes:
    """The synopsis as a service gives it away."""
    if form is Form.CANONICAL:
        return synopsis.to_bytes()
    if form is Form.JSON:
        return encode(asked_synopsis(0.9).answer(Prepared(synopsis), carry_on))
    return asked(synopsis, form)


def asked(synopsis: Synopsis, form: Form, where: tuple[str, ...] = ()) -> bytes:
    """A file of a part of the synopsis."""
    question = asked_synopsis(0.9, Format(form.value)).about(where)
    return b"".join(in_pieces(question, Prepared(synopsis), Format(form.value)))
