"""canonical_json: one value, one string of bytes."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.canonical import canonical_json

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=15)


@given(VALUES)
def test_canonical_bytes_read_back_as_the_value(value: object) -> None:
    """Nothing is lost, floats and large integers included, and writing again gives the same bytes."""
    data = canonical_json(value)
    assert json.loads(data) == value
    assert canonical_json(json.loads(data)) == data
    assert data.isascii()
    assert b"\n" not in data


@given(st.dictionaries(st.text(), SCALARS), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(value: dict[str, object], random: object) -> None:
    """Two dictionaries that are equal have equal bytes, however they were filled."""
    items = list(value.items())
    random.shuffle(items)  # type: ignore[attr-defined]
    assert canonical_json(dict(items)) == canonical_json(value)


def test_canonical_bytes_have_a_known_answer() -> None:
    """Sorted keys, no spaces, ASCII escapes, shortest floats: fixed for every machine and year."""
    value = {"b": [1, 2.5, True, None], "a": "é\n", "Z": {"y": 1e300, "x": 0.1}, "c": 10**20}
    assert canonical_json(value) == (
        rb'{"Z":{"x":0.1,"y":1e+300},"a":"\u00e9\n","b":[1,2.5,true,null],"c":100000000000000000000}'
    )


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_are_refused(number: float) -> None:
    """NaN and infinity have no canonical form, at any depth."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": [number]})
