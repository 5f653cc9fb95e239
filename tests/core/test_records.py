"""Records: each row judged alone, held as fixed-point numbers, shown to nobody."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.domain.domain import Domain
from core.domain.number import Number
from core.errors import InvalidRecords
from core.records import OutOfRange, Records
from tests.core.exact import position
from tests.core.rows import by_row, take_rows
from tests.core.strategies import batches, domains

UNIT = Domain((Number("x", 0, 1), Number("y", -1, 1)))
CANARY = 0.123456789
NAN, INF = float("nan"), float("inf")
MODES = st.sampled_from(OutOfRange)
# The three roundings of (v - lower) / width stay below 2^-50 of the range: see MAX_CELLS_PER_AXIS in core.domain.grid.
ROUNDING = Fraction(1, 2**50)


def verdict(row: NDArray[np.float64], domain: Domain, mode: OutOfRange) -> str:
    """What is to become of a row, decided without any array arithmetic."""
    if not all(abs(value) < INF for value in row):
        return "dropped"
    if all(a.lower <= value <= a.upper for value, a in zip(row, domain.attributes, strict=True)):
        return "kept"
    return "clipped" if mode is OutOfRange.CLIP else "dropped"


@given(st.data(), domains(), MODES)
def test_rows_are_kept_clipped_or_dropped_one_by_one(data: st.DataObject, domain: Domain, mode: OutOfRange) -> None:
    """Not finite: dropped; out of bounds: clipped or dropped as ordered; the three tallies say so."""
    values = data.draw(batches(domain))
    verdicts = [verdict(row, domain, mode) for row in values]
    intake = take_rows(values, domain, mode)
    assert intake.rows_read == len(values)
    assert intake.rows_dropped == verdicts.count("dropped")
    assert intake.rows_clipped == verdicts.count("clipped")
    assert len(intake.records) == len(values) - verdicts.count("dropped")


@given(st.data(), domains(), MODES)
def test_a_batch_is_its_rows_taken_in_alone(data: st.DataObject, domain: Domain, mode: OutOfRange) -> None:
    """No row changes how another is read: a batch gives the records of its rows, in order."""
    values = data.draw(batches(domain))
    together = by_row(take_rows(values, domain, mode).records)
    alone = [by_row(take_rows(row[None, :], domain, mode).records) for row in values]
    assert (together == np.concatenate([np.empty((0, domain.dimensions), np.uint32), *alone])).all()


@given(st.data(), domains())
def test_fixed_point_is_the_value_rounded_up(data: st.DataObject, domain: Domain) -> None:
    """q / 2^32 is not below the clipped value and less than 2^-32 above it, but for the last bits of a double."""
    values = data.draw(batches(domain))
    finite = values[np.isfinite(values).all(axis=1)]
    fixed = by_row(take_rows(values, domain, OutOfRange.CLIP).records)
    assert fixed.shape == finite.shape
    for row, numbers in zip(finite, fixed, strict=True):
        for value, number, attribute in zip(row, numbers, domain.attributes, strict=True):
            t = position(float(value), attribute)
            q = Fraction(int(number), 2**32)
            if t > 1 - Fraction(2, 2**32):
                assert number == 2**32 - 2
            else:
                assert -ROUNDING <= q - t < Fraction(1, 2**32) + ROUNDING


@pytest.mark.parametrize("mode", OutOfRange)
@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_a_row_with_one_value_that_is_not_finite_is_dropped(bad: float, mode: OutOfRange) -> None:
    """One such value drops its row, in either mode, and no warning is given."""
    intake = take_rows(np.array([[0.5, 0.0], [0.5, bad], [bad, 0.0]]), UNIT, mode)
    assert (len(intake.records), intake.rows_dropped, intake.rows_clipped) == (1, 2, 0)


def test_clipping_takes_a_value_to_the_nearest_bound() -> None:
    """A clipped row is the row at the bound, whether it was a hair or 10^308 outside."""
    outside = np.array([[1.5, 0.0], [-1e308, 0.0], [0.5, 1e308], [np.nextafter(1, 2), -1.0000001]])
    bounds = np.array([[1.0, 0.0], [0.0, 0.0], [0.5, 1.0], [1.0, -1.0]])
    clipped = take_rows(outside, UNIT, OutOfRange.CLIP)
    assert clipped.rows_clipped == 4
    assert (by_row(clipped.records) == by_row(take_rows(bounds, UNIT, OutOfRange.CLIP).records)).all()
    assert len(take_rows(outside, UNIT, OutOfRange.DROP).records) == 0
    assert len(take_rows(bounds, UNIT, OutOfRange.DROP).records) == 4


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 3), (0,), (2, 2, 2)])
def test_a_batch_of_the_wrong_shape_is_refused(shape: tuple[int, ...]) -> None:
    """A batch has one column for each attribute; the refusal quotes no value."""
    with pytest.raises(InvalidRecords) as refusal:
        take_rows(np.full(shape, CANARY), UNIT, OutOfRange.CLIP)
    assert "123456" not in str(refusal.value)


def test_an_empty_batch_is_a_batch() -> None:
    """No rows make no records and no error."""
    intake = take_rows(np.empty((0, 2)), UNIT, OutOfRange.CLIP)
    assert (len(intake.records), intake.rows_read, intake.rows_dropped, intake.rows_clipped) == (0, 0, 0, 0)


def test_records_show_no_value() -> None:
    """repr, str and format of Records are the same words whatever the rows."""
    some = take_rows(np.array([[CANARY, CANARY]]), UNIT, OutOfRange.CLIP).records
    none = take_rows(np.empty((0, 2)), UNIT, OutOfRange.CLIP).records
    for text in (repr, str, "{}".format, "{!r}".format, lambda records: f"{[records]}"):
        assert text(some) == text(none)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_records_cannot_be_pickled(protocol: int) -> None:
    """No protocol writes Records, alone or inside an Intake or a list."""
    intake = take_rows(np.array([[CANARY, CANARY]]), UNIT, OutOfRange.CLIP)
    for private in (intake.records, intake, [intake.records]):
        with pytest.raises(TypeError, match="private"):
            pickle.dumps(private, protocol)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_records_cannot_be_copied(duplicate: object) -> None:
    """copy and deepcopy are refused as pickling is."""
    records = take_rows(np.array([[CANARY, CANARY]]), UNIT, OutOfRange.CLIP).records
    with pytest.raises(TypeError, match="private"):
        duplicate(records)  # type: ignore[operator]


def test_records_do_not_change() -> None:
    """The array of taken-in records is read-only and shares nothing with the batch it came from."""
    values = np.array([[0.25, 0.0]])
    records = take_rows(values, UNIT, OutOfRange.CLIP).records
    with pytest.raises(ValueError, match="read-only"):
        records.columns[0][0] = 0
    with pytest.raises(AttributeError):
        records.columns = ()  # type: ignore[misc]
    before = by_row(records).tolist()
    values[:] = 1.0
    assert by_row(records).tolist() == before
    assert isinstance(records, Records)
