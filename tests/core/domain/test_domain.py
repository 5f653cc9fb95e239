"""Domain and Attribute: bounds that can be gridded, names that can be written, and a map that can be undone."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.axis import MAX_CELLS_PER_AXIS
from core.domain.domain import Domain
from core.domain.number import Number
from core.errors import InvalidDomain
from tests.core.strategies import attributes, domains

INF, NAN, LARGEST = math.inf, math.nan, 1.7976931348623157e308


def square(*names: str) -> Domain:
    """A domain of some names, each from 0 to 1."""
    return Domain(tuple(Number(name, 0.0, 1.0) for name in names))


@pytest.mark.parametrize("count", range(1, 33))
def test_a_domain_has_one_to_thirty_two_attributes(count: int) -> None:
    """Every number of attributes up to thirty-two is accepted."""
    assert square(*(f"x{i}" for i in range(count))).dimensions == count


@pytest.mark.parametrize("count", [0, 33, 100])
def test_no_attribute_or_more_than_thirty_two_are_refused(count: int) -> None:
    """A domain is neither empty nor beyond thirty-two dimensions."""
    with pytest.raises(InvalidDomain):
        square(*(f"x{i}" for i in range(count)))


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (1.0, 1.0),
        (0.0, -0.0),
        (2.0, 1.0),
        (NAN, 1.0),
        (0.0, NAN),
        (NAN, NAN),
        (-INF, 1.0),
        (0.0, INF),
        (-INF, INF),
        (INF, INF),
        (-LARGEST, LARGEST),
        (-1e308, 1e308),
        (1.0, 1.0 + 2.0**-52),
        (1e300, math.nextafter(1e300, INF)),
        (1e16, 1e16 + 2.0),
        (0.0, 5e-324),
    ],
)
def test_bounds_that_cannot_be_gridded_are_refused(lower: float, upper: float) -> None:
    """Equal, reversed, not finite, too far apart for a double, too close for a cell: refused."""
    with pytest.raises(InvalidDomain):
        Number("x", lower, upper)


def test_bounds_may_be_as_close_as_one_rounding_step_for_each_cell() -> None:
    """2^16 steps of the larger bound are enough and one step less is too close."""
    step = math.ulp(1.0)
    assert Number("x", 1.0, 1.0 + MAX_CELLS_PER_AXIS * step).width == MAX_CELLS_PER_AXIS * step
    with pytest.raises(InvalidDomain):
        Number("x", 1.0, 1.0 + (MAX_CELLS_PER_AXIS - 1) * step)


@given(attributes())
def test_on_the_finest_grid_a_cell_is_wider_than_the_rounding_of_its_edges(attribute: Number) -> None:
    """Accepted bounds leave every one of 2^16 cells more than half a rounding step, so none is without a width."""
    width = (Fraction(attribute.upper) - Fraction(attribute.lower)) / MAX_CELLS_PER_AXIS
    assert width > Fraction(math.ulp(max(abs(attribute.lower), abs(attribute.upper)))) / 2


def test_a_negative_zero_is_stored_as_zero() -> None:
    """Equal domains have equal bytes, so -0.0 and 0.0 are one bound."""
    assert math.copysign(1.0, Number("x", -0.0, 1.0).lower) == 1.0
    assert math.copysign(1.0, Number("x", -1.0, -0.0).upper) == 1.0
    assert repr(Number("x", -0.0, 1.0)) == repr(Number("x", 0, 1))


@pytest.mark.parametrize(
    "name", ["age", "a", "x" * 64, "body mass", "größe", "年齢", "a;b", "a'b", "50%", "\U0001f600"]
)
def test_ordinary_names_are_accepted(name: str) -> None:
    """Names in any language, with inner spaces, up to 64 characters."""
    assert Number(name, 0, 1).name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        " a",
        "a ",
        "a\t",
        "\xa0a",
        "a,b",
        "a:b",
        'a"b',
        "a\nb",
        "a\r",
        "\0",
        "a\x7f",
        "a\x85b",
        "\ud800",
        "x" * 65,
    ],
)
def test_names_that_a_query_or_a_file_could_misread_are_refused(name: str) -> None:
    """Separators, quotes, control characters, lone surrogates, outer spaces, nothing and 65 characters are refused."""
    with pytest.raises(InvalidDomain):
        Number(name, 0, 1)


def test_names_differ() -> None:
    """Two attributes of one name are refused."""
    with pytest.raises(InvalidDomain):
        square("a", "b", "a")


def test_select_takes_attributes_in_the_order_asked_for() -> None:
    """A selection has the attributes that were named, in that order, with their own bounds."""
    domain = Domain((Number("a", 0, 1), Number("b", 2, 5), Number("c", -1, 1)))
    chosen = domain.select(("c", "a"))
    assert chosen.names == ("c", "a")
    assert chosen.lower.tolist() == [-1, 0]
    assert chosen.width.tolist() == [2, 1]
    assert domain.select(domain.names) == domain


@pytest.mark.parametrize("names", [("a", "nope"), (), ("a", "a")])
def test_an_impossible_selection_is_refused(names: tuple[str, ...]) -> None:
    """An unknown name, no name, and a name twice are refused."""
    with pytest.raises(InvalidDomain):
        square("a", "b").select(names)


@given(domains(), st.data())
def test_the_map_to_the_unit_box_and_back_is_the_identity(domain: Domain, data: st.DataObject) -> None:
    """Units to [-1, 1]^d and back loses no more than the rounding of bounds and width."""
    t = np.array(data.draw(st.lists(st.floats(0, 1), min_size=domain.dimensions, max_size=domain.dimensions)))
    upper = np.array([attribute.upper for attribute in domain.attributes])
    points = np.clip(domain.lower + t * domain.width, domain.lower, upper)
    unit = domain.to_unit(points)
    assert (np.abs(unit) <= 1).all()
    rounding = [8 * max(math.ulp(a.lower), math.ulp(a.upper)) for a in domain.attributes]
    assert (np.abs(domain.from_unit(unit) - points) <= rounding).all()


@given(domains())
def test_the_bounds_are_the_corners_of_the_unit_box(domain: Domain) -> None:
    """Lower bounds map to -1 and upper bounds to 1, exactly."""
    upper = np.array([attribute.upper for attribute in domain.attributes])
    assert (domain.to_unit(domain.lower) == -1).all()
    assert (domain.to_unit(upper) == 1).all()
    assert (domain.from_unit(np.full(domain.dimensions, -1.0)) == domain.lower).all()


def test_the_map_is_affine_in_the_units_of_each_attribute() -> None:
    """Known answers: age 20..70, income 0..1000."""
    domain = Domain((Number("age", 20, 70), Number("income", 0, 1000)))
    points = np.array([[45.0, 0.0], [20.0, 750.0], [70.0, 1000.0]])
    unit = np.array([[0.0, -1.0], [-1.0, 0.5], [1.0, 1.0]])
    assert (domain.to_unit(points) == unit).all()
    assert (domain.from_unit(unit) == points).all()


@given(domains())
def test_a_domain_is_read_back_from_a_synopsis_and_from_the_ledger(domain: Domain) -> None:
    """Bounds as floats or as the text of a float: the same to the last bit, and no float in the ledger."""
    assert Domain.from_json(domain.to_json()) == domain
    assert Domain.from_json(domain.to_ledger()) == domain
    assert all(isinstance(field, str) for attribute in domain.to_ledger() for field in attribute)


def test_a_domain_is_written_in_known_ways() -> None:
    """Format 1, ledgers and answers hold these very values."""
    domain = Domain((Number("age", 0, 120), Number("x", 0.1, 1e300)))
    assert domain.to_json() == [["age", 0.0, 120.0], ["x", 0.1, 1e300]]
    assert domain.to_ledger() == [["age", "0.0", "120.0"], ["x", "0.1", "1e+300"]]
    assert domain.attributes[0].declaration() == {"name": "age", "lower": 0.0, "upper": 120.0}


@pytest.mark.parametrize(
    "stored", [None, 3, [["x", 0]], [["x", 0, 1, 2]], [["x", "a", 1]], [[7, 0, 1]], [["x", 1, 0]], []]
)
def test_what_is_no_domain_is_not_read(stored: object) -> None:
    """The reader raises; nothing stands in for what is missing."""
    with pytest.raises((InvalidDomain, TypeError, ValueError)):
        Domain.from_json(stored)  # type: ignore[arg-type]
