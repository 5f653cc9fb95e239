"""What hypothesis draws core's values from."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from core.budget import Epsilon
from core.domain.domain import Domain
from core.domain.number import Number
from core.errors import InvalidDomain

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def epsilons(least: int = 1, most: int = 100 * 10**9) -> st.SearchStrategy[Epsilon]:
    """Amounts of nano-epsilon over all their orders of magnitude."""
    magnitudes = st.integers(len(str(least)), len(str(most)))
    nano = magnitudes.flatmap(lambda digits: st.integers(max(least, 10 ** (digits - 1)), min(most, 10**digits)))
    return st.builds(Epsilon, nano)


@st.composite
def attributes(draw: st.DrawFn, name: str = "x") -> Number:
    """Bounds anywhere in double precision: common, huge, tiny, far from zero, and as close as they may be."""
    lower = draw(st.one_of(st.integers(-100, 100).map(float), FINITE))
    width = draw(
        st.one_of(
            st.floats(0.5, 1000.0),
            st.floats(0, exclude_min=True, allow_infinity=False),
            st.integers(2**16, 2**20).map(lambda steps: steps * math.ulp(lower)),
        )
    )
    try:
        return Number(name, lower, lower + width)
    except InvalidDomain:
        assume(False)
        raise


@st.composite
def domains(draw: st.DrawFn, most: int = 3) -> Domain:
    """Up to `most` attributes with extreme bounds among them."""
    return Domain(tuple(draw(attributes(name)) for name in "abcdefghijklmnop"[: draw(st.integers(1, most))]))


HOSTILE = st.sampled_from([math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, -0.0])


def values_near(attribute: Number) -> st.SearchStrategy[float]:
    """Values inside the bounds, on them, next to them, anywhere else, and such as no honest file holds."""
    inside = st.floats(attribute.lower, attribute.upper)
    return st.one_of(inside, st.sampled_from([attribute.lower, attribute.upper]), st.floats(), HOSTILE)


@st.composite
def batches(draw: st.DrawFn, domain: Domain, *, least: int = 0, most: int = 12) -> NDArray[np.float64]:
    """Rows of a batch, hostile ones included."""
    row = st.tuples(*(values_near(attribute) for attribute in domain.attributes))
    rows = draw(st.lists(row, min_size=least, max_size=most))
    return np.array(rows, dtype=np.float64).reshape(len(rows), domain.dimensions)


COUNTS = st.integers(-(2**63), 2**63 - 1)


def noisy_counts(cells: int) -> st.SearchStrategy[NDArray[np.int64]]:
    """Any signed 64-bit numbers, one for each cell."""
    return hnp.arrays(np.int64, cells, elements=COUNTS)
