"""The kinds of attributes: what they accept, which cell a value lies in, what a range holds, how values are written."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.canonical import canonical_json
from core.domain.attribute import MISSING, Attribute, Missing, Ordered
from core.domain.axis import RunAxis
from core.domain.category import OTHER, Category
from core.domain.dates import Date, Datetime, day_of, microsecond_of
from core.domain.domain import Domain
from core.domain.integer import MAX_INTEGER, Integer
from core.domain.kinds import KINDS, attribute_of
from core.domain.number import Number
from core.domain.whole import WholeValues
from core.errors import InvalidDomain, InvalidOrder, InvalidQuery

AGE = {"name": "age", "kind": "integer", "lower": 0, "upper": 110}
SEX = {"name": "sex", "kind": "category", "values": ["f", "m", "x"], "other": True}
ARRIVED = {"name": "arrived", "kind": "date", "lower": "2026-01-01", "upper": "2026-12-31"}
AT = {"name": "at", "kind": "datetime", "lower": "2026-01-01T00:00:00Z", "upper": "2027-01-01T00:00:00Z"}
INCOME = {"name": "income", "lower": 0.0, "upper": 250000.0}
ALL = (INCOME, AGE, SEX, ARRIVED, AT)


def ordered(fields: dict[str, Any]) -> Ordered:
    """The attribute of a declaration that has bounds."""
    attribute = attribute_of(fields)
    assert isinstance(attribute, Ordered)
    return attribute


def place(attribute: Attribute, value: Any, cells: int, *, clip: bool = True) -> int | None:
    """The cell of one value of a column; None where its row is dropped."""
    encoded = attribute.encode(np.array([value], dtype=attribute.column_type), clip=clip)
    if encoded.dropped is not None and encoded.dropped[0]:
        return None
    return int(attribute.axis(cells).cell_of(encoded.codes)[0])


@pytest.mark.parametrize("fields", ALL, ids=lambda fields: fields["name"])
@pytest.mark.parametrize("missing", Missing)
def test_a_declaration_comes_back_as_it_was_stated(fields: dict[str, Any], missing: Missing) -> None:
    """From a registration, from a synopsis and from the ledger: the same attribute and the same bytes."""
    stated = fields | ({"missing": "keep"} if missing is Missing.KEEP else {})
    attribute = attribute_of(stated)
    assert attribute.declaration() == stated
    assert attribute_of({"kind": "number", "missing": "drop", **stated}) == attribute
    domain = Domain((attribute,))
    for written in (domain.to_json(), domain.to_ledger()):
        again = Domain.from_json(written)
        assert again == domain
        assert canonical_json(again.to_json()) == canonical_json(domain.to_json())


def test_the_ledger_holds_no_floats() -> None:
    """Whatever the kind."""
    texts = canonical_json(Domain(tuple(attribute_of(fields) for fields in ALL)).to_ledger()).decode()
    assert "250000.0" in texts
    assert '"250000.0"' in texts


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": "a", "kind": "colour"}, "one of: number, integer, category, date, datetime"),
        ({"name": "a", "kind": "integer", "lower": 0}, "needs: upper"),
        ({"name": "a", "kind": "integer", "lower": 0.5, "upper": 3}, "whole numbers"),
        ({"name": "a", "kind": "integer", "lower": 0, "upper": MAX_INTEGER + 1}, "2\\^52"),
        ({"name": "a", "kind": "integer", "lower": True, "upper": 3}, "whole numbers"),
        ({"name": "a", "kind": "integer", "lower": 4, "upper": 3}, "not be above"),
        ({"name": "a", "kind": "integer", "lower": float("inf"), "upper": 3}, "whole numbers"),
        ({"name": "a", "kind": "date", "lower": "2026-02-30", "upper": "2026-03-01"}, "YYYY-MM-DD"),
        ({"name": "a", "kind": "date", "lower": 5, "upper": 6}, "YYYY-MM-DD"),
        ({"name": "a", "kind": "date", "lower": "2026-03-02", "upper": "2026-03-01"}, "not be above"),
        ({"name": "a", "kind": "datetime", "lower": "2026-01-01", "upper": "2026-03-01T00:00:00Z"}, "with an offset"),
        ({"name": "a", "kind": "datetime", "lower": "2026-01-01T00:00:00", "upper": "2026-03-01T00:00:00Z"}, "offset"),
        ({"name": "a", "kind": "datetime", "lower": "2026-13-01T00:00:00Z", "upper": "2026-03-01T00:00:00Z"}, "no mom"),
        (
            {"name": "a", "kind": "datetime", "lower": "2026-01-01T00:00:00+01:00", "upper": "2026-03-01T00:00:00Z"},
            "same offset",
        ),
        ({"name": "a", "kind": "category", "values": []}, "1 to"),
        ({"name": "a", "kind": "category", "values": ["x", "x"]}, "differ"),
        ({"name": "a", "kind": "category", "values": ["x,y"]}, "comma"),
        ({"name": "a", "kind": "category", "values": ["x\ny"]}, "line end"),
        ({"name": "a", "kind": "category", "values": [" x"]}, "space"),
        ({"name": "a", "kind": "category", "values": ["(other)"]}, "called"),
        ({"name": "a", "kind": "category", "values": [1]}, "characters"),
        ({"name": "a", "kind": "category", "values": ["x"], "lower": 3}, "has no lower"),
        ({"name": "a", "lower": 0, "upper": 1, "values": ["x"]}, "has no values"),
        ({"name": "a", "lower": "zero", "upper": 1}, "are numbers"),
        ({"name": "a", "lower": 0, "upper": 1, "missing": "guess"}, "drop"),
        ({"name": "a:b", "kind": "date", "lower": "2026-01-01", "upper": "2026-03-01"}, "colon"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused_in_a_sentence(fields: dict[str, Any], sentence: str) -> None:
    """It names the kind or the field, and quotes no value."""
    with pytest.raises(InvalidDomain, match=sentence):
        attribute_of(fields)


@given(st.integers(1, 400), st.data())
def test_runs_are_as_equal_as_possible_and_hold_every_value_once(values: int, data: st.DataObject) -> None:
    """m runs of V values: lengths differ by one at most, in order, and the cell of a value is the run that holds it."""
    cells = data.draw(st.integers(1, values))
    axis = RunAxis.even(values, cells, keeps_missing=False)
    lengths = np.diff(axis.starts)
    assert lengths.sum() == values
    assert lengths.max() - lengths.min() <= 1
    owners = axis.cell_of(np.arange(values, dtype=np.uint32))
    assert owners.tolist() == np.repeat(np.arange(cells), lengths).tolist()


def test_an_axis_has_no_more_cells_than_values() -> None:
    """A cell of no value would be noise alone."""
    with pytest.raises(InvalidOrder, match="1 to 24"):
        attribute_of({"name": "hour", "kind": "integer", "lower": 0, "upper": 23}).axis(25)


@given(st.integers(2**16, 2**52), st.integers(1, 50), st.data())
def test_long_axes_place_values_by_exact_integers(values: int, cells: int, data: st.DataObject) -> None:
    """Where a table would be too long, a search among whole numbers serves: edges are never missed by one."""
    attribute = Integer("n", 0, values - 1)
    axis = attribute.axis(cells)
    start = axis.starts[data.draw(st.integers(0, cells))]
    for value in {max(0, start - 1), min(values - 1, start)}:
        expected = max(j for j in range(cells) if axis.starts[j] <= value)
        assert place(attribute, value, cells) == expected


@pytest.mark.parametrize("lower", [-7, 0, 1])
def test_edges_of_integers_lie_half_way_between_them(lower: int) -> None:
    """So a cell's centre is the mean of the whole numbers in it, and nothing is off by half a cell."""
    attribute = Integer("n", lower, lower + 9)
    edges = attribute.edges(attribute.axis(4))
    assert edges.tolist() == [lower - 0.5, lower + 2.5, lower + 4.5, lower + 7.5, lower + 9.5]
    centres = (edges[1:] + edges[:-1]) / 2
    assert centres[0] == np.mean([lower, lower + 1, lower + 2])
    assert (attribute.start, attribute.stop) == (edges[0], edges[-1])


@pytest.mark.parametrize(
    ("value", "dropped", "kept"),
    [(3.5, None, 11), (float("nan"), None, 11), (float("inf"), None, 11), (7.0, 7, 7), (-1.0, 0, 0), (1e300, 10, 10)],
)
def test_an_integer_column_judges_each_number(value: float, dropped: int | None, kept: int) -> None:
    """What is no whole number is missing: dropped, or in the last cell; what is out of bounds is clipped."""
    assert place(Integer("n", 0, 10), value, 11) == dropped
    assert place(Integer("n", 0, 10, Missing.KEEP), value, 11) == kept


@pytest.mark.parametrize("kind", [Number("x", 0, 10), Integer("x", 0, 10)])
def test_out_of_bounds_is_dropped_where_the_order_says_so(kind: Attribute) -> None:
    """Also where missing values are kept: a value out of bounds is not missing."""
    for attribute in (kind, attribute_of(kind.declaration() | {"missing": "keep"})):
        assert place(attribute, 11.0, 2, clip=False) is None
        assert place(attribute, 10.0, 2, clip=False) == 1


def test_a_category_has_a_cell_for_each_value_then_others_then_missing_ones() -> None:
    """And drops the rows of what has no cell."""
    full = Category("sex", ("f", "m"), other=True, missing=Missing.KEEP)
    assert full.labels == ("f", "m", "(other)", "(missing)")
    assert [place(full, value, 9) for value in (0, 1, OTHER, MISSING)] == [0, 1, 2, 3]
    assert full.axis(1).cells == 4
    plain = Category("sex", ("f", "m"))
    assert [place(plain, value, 9) for value in (0, 1, OTHER, MISSING)] == [0, 1, None, None]


@given(st.dates(), st.integers(0, 4000))
def test_days_and_their_texts_agree(first: date, days: int) -> None:
    """A day's number is its distance from 1970-01-01, and its text gives it back."""
    day = day_of(first.isoformat())
    assert day == (first - date(1970, 1, 1)).days
    if first <= date.max - timedelta(days=days):
        attribute = Date("d", first, first + timedelta(days=days))
        assert attribute.values == days + 1
        assert attribute.shown(attribute.value_of(first.isoformat())) == first.isoformat()


@pytest.mark.parametrize("text", ["2026-02-30", "2026-2-3", "20260203", "2026-02-03 ", "٢٠٢٦-01-01", "", "0000-01-01"])
def test_what_is_no_date_has_no_day(text: str) -> None:
    """The calendar and the spelling both count."""
    assert day_of(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:01z", 1),
        ("1970-01-01 01:00:00+01:00", 0),
        ("1969-12-31T23:00:00-01:00", 0),
        ("1970-01-01T00:00:00.25Z", Fraction(1, 4)),
        ("1970-01-01T00:00:00.1234567Z", Fraction(123456, 10**6)),
        ("1970-01-01T02:00:00", 0),
        ("1970-01-01T24:00:00Z", None),
        ("1970-01-01T00:00:60Z", None),
        ("1970-01-01T00:00Z", None),
        ("1970-01-01", None),
        ("1970-01-01T00:00:00+24:00", None),
        ("1970-02-30T00:00:00Z", None),
    ],
)
def test_moments_are_strict_rfc_3339(text: str, seconds: Fraction | int | None) -> None:
    """Without an offset they are in the declared zone, here two hours east of Greenwich."""
    zone = ordered(AT | {"lower": "2026-01-01T00:00:00+02:00", "upper": "2027-01-01T00:00:00+02:00"})
    assert isinstance(zone, Datetime)
    micro = microsecond_of(text, zone.zone)
    assert micro == (None if seconds is None else seconds * 10**6)


def test_a_year_of_microseconds_is_cut_exactly() -> None:
    """A moment one microsecond before an edge lies before it."""
    attribute = ordered(AT)
    assert isinstance(attribute, Datetime)
    axis = attribute.axis(12)
    for j in range(1, 12):
        edge = attribute.first + axis.starts[j]
        assert place(attribute, edge, 12) == j
        assert place(attribute, edge - 1, 12) == j - 1
    assert place(attribute, attribute.last, 12, clip=False) == 11
    assert place(attribute, attribute.last + 1, 12, clip=False) is None


@pytest.mark.parametrize(
    ("fields", "text", "cells", "held"),
    [
        (AGE, ("6", "10"), 111, list(range(6, 11))),
        (AGE, ("110", "110"), 111, [110]),
        (ARRIVED, ("2026-03-01", "2026-03-31"), 365, list(range(59, 90))),
        (AT, ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"), 365, [0]),
        (INCOME, ("0", "100000"), 5, [0, 1]),
    ],
)
def test_a_range_holds_the_cells_that_its_kind_says(
    fields: dict[str, Any], text: tuple[str, str], cells: int, held: list[int]
) -> None:
    """Integers and dates hold both ends; numbers and moments do not hold their upper end."""
    attribute = ordered(fields)
    lower, upper = (attribute.value_of(end) for end in text)
    low, high = attribute.in_cell_units(np.array(attribute.ends(lower, upper)), attribute.axis(cells)).tolist()
    assert list(range(round(low), round(high))) == held
    assert (low, high) == (held[0], held[-1] + 1)


@pytest.mark.parametrize("fields", [AGE, ARRIVED], ids=lambda fields: fields["name"])
def test_a_range_of_a_single_value_is_the_cell_of_that_value(fields: dict[str, Any]) -> None:
    """For every value: both ends are in the range, wherever on the axis they lie."""
    attribute = ordered(fields)
    assert isinstance(attribute, WholeValues)
    numbers = np.arange(attribute.values)
    ends = np.array([attribute.ends(value, value) for value in (attribute.first + numbers).tolist()])
    units = attribute.in_cell_units(ends, attribute.axis(attribute.values))
    assert units.tolist() == np.stack([numbers, numbers + 1], axis=1).tolist()


def test_a_cut_run_counts_by_its_values() -> None:
    """One of the three days of a cell is a third of it."""
    attribute = Integer("n", 0, 8)
    ends = attribute.in_cell_units(np.array(attribute.ends(3, 3)), attribute.axis(3))
    assert ends.tolist() == pytest.approx([1, 4 / 3])


@pytest.mark.parametrize("fields", [AGE, ARRIVED, AT, INCOME], ids=lambda fields: fields["name"])
def test_empty_and_outside_ranges_are_told_in_words(fields: dict[str, Any]) -> None:
    """The sentence names the attribute."""
    attribute = ordered(fields)
    assert attribute.why_empty(attribute.stop, attribute.start)
    assert attribute.why_empty(attribute.start + 1, attribute.stop - 1) is None
    assert attribute.name in str(attribute.why_outside(attribute.stop + 5, attribute.stop + 6))
    assert attribute.why_outside(attribute.start + 1, attribute.stop - 1) is None
    with pytest.raises(InvalidQuery, match=attribute.name):
        attribute.value_of("seven")


@pytest.mark.parametrize("fields", [AGE, ARRIVED, AT, INCOME], ids=lambda fields: fields["name"])
def test_samples_lie_in_their_cells(fields: dict[str, Any]) -> None:
    """Encoded again, every drawn value is in the cell it was drawn for."""
    attribute = ordered(fields)
    axis = attribute.axis(7)
    places = np.repeat(np.arange(7), 50)
    uniform = np.tile(np.linspace(0, 0.999999, 50), 7)
    drawn = attribute.sample(axis, places, uniform)
    column = drawn.astype(np.int64) if drawn.dtype.kind == "M" else drawn.astype(attribute.column_type)
    assert axis.cell_of(attribute.encode(column, clip=False).codes).tolist() == places.tolist()


@pytest.mark.parametrize("fields", [AGE, ARRIVED, AT, INCOME], ids=lambda fields: fields["name"])
def test_a_part_of_an_attribute_has_the_edges_of_the_whole(fields: dict[str, Any]) -> None:
    """A slice of neighbouring cells is an attribute with those cells."""
    attribute = ordered(fields)
    axis = attribute.axis(9)
    part, cells = attribute.restricted(axis, np.arange(2, 6))
    assert isinstance(part, Ordered)
    assert part.name == attribute.name
    np.testing.assert_allclose(part.edges(cells), attribute.edges(axis)[2:7], rtol=1e-12)
    assert cells.cells == 4


def test_a_part_of_a_category_keeps_its_labels() -> None:
    """Also the cells of other and of missing values, alone or together."""
    full = Category("sex", ("f", "m"), other=True, missing=Missing.KEEP)
    for places, labels in (([0, 2], ("f", "(other)")), ([3], ("(missing)",)), ([2], ("(other)",)), ([1], ("m",))):
        part, axis = full.restricted(full.axis(), np.array(places))
        assert part.labels == labels
        assert axis.cells == len(labels)


def test_dates_round_outwards_in_intervals() -> None:
    """A low end goes down, a high end up, and an estimate to the nearest."""
    attribute = ordered(ARRIVED)
    noon = attribute.value_of("2026-03-01") + 0.4
    assert (attribute.shown(noon), attribute.shown(noon, up=False), attribute.shown(noon, up=True)) == (
        "2026-03-01",
        "2026-03-01",
        "2026-03-02",
    )
    moment = ordered(AT)
    assert moment.shown(moment.value_of("2026-03-01T10:00:00+02:00")) == "2026-03-01T08:00:00Z"
    assert moment.shown(moment.value_of("2026-03-01T10:00:00.0625Z")) == "2026-03-01T10:00:00.062Z"


def test_bounds_keep_their_microseconds() -> None:
    """They are part of what is registered, for ever."""
    fields = AT | {"lower": "2026-01-01T00:00:00.000500Z"}
    assert attribute_of(fields).declaration() == fields


def test_every_kind_is_in_the_table() -> None:
    """The table is what registrations, the ledger, synopses and the command line read."""
    assert set(KINDS) == {"number", "integer", "category", "date", "datetime"}


@pytest.mark.parametrize("fields", [INCOME, AGE, ARRIVED, AT], ids=lambda fields: fields["name"])
def test_a_kind_says_whether_json_has_its_values_as_texts(fields: dict[str, Any]) -> None:
    """In its bounds and in answers alike."""
    attribute = ordered(fields)
    assert isinstance(attribute.declaration()["lower"], str) is attribute.is_text
    assert isinstance(attribute.shown(attribute.start), str) is attribute.is_text
    assert isinstance(attribute.written(attribute.edge_values(attribute.axis(2))), list) is attribute.is_text


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        ("0001-01-01T00:00:00+10:00", "2026-01-01T00:00:00+10:00"),
        ("2026-01-01T00:00:00-10:00", "9999-12-31T23:59:59-10:00"),
        ("2026-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_moments_that_no_answer_could_write_are_no_bounds(lower: str, upper: str) -> None:
    """In another zone, or rounded up, they would lie outside the calendar."""
    with pytest.raises(InvalidDomain, match="9999-12-30"):
        attribute_of(AT | {"lower": lower, "upper": upper})


@pytest.mark.parametrize("offset", ["-23:59", "+23:59"])
def test_the_widest_bounds_of_a_datetime_can_be_answered(offset: str) -> None:
    """Whichever way an end is rounded."""
    attribute = ordered(AT | {"lower": f"0001-01-03T00:00:00{offset}", "upper": f"9999-12-29T00:00:00{offset}"})
    axis = attribute.axis(3)
    assert attribute.written(attribute.edge_values(axis))[-1] == attribute.shown(attribute.stop, up=True)
    assert attribute.shown(attribute.start - 1e9, up=False) <= attribute.shown(attribute.start)
    assert attribute.shown(attribute.stop + 1e9, up=True) >= attribute.shown(attribute.stop)
