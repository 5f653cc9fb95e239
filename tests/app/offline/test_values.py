"""Requests are read without pydantic as they are with it: the same values, and the same faults in the same words."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from app.offline.values import Faults, value_of
from app.problems import invalid_request
from core.clustering.methods import Method
from core.queries.denoise import CountsKind
from rugnik.wire import AssignBody, CountsBody
from rugnik.wire.limits import Finite, Level, Seed
from rugnik.wire.limits import Method as MethodName
from rugnik.wire.where import Where

TEXTS = """5| 5 |5.0|5.5|1_000|+5|-0|5.||0x5|1e3|5_|__5|05|+ 5|1.00_0|-|1__0|nan|inf|-Infinity|.5|1_0.5|a|true|T|YES
on|1|0|off|n|2| true|-1|0.5|0.999999|0.9999999|raw|posterior|none|9223372036854775807|9223372036854775808""".replace(
    "\n", "|"
).split("|")
VALUES: list[Any] = [
    *TEXTS, "9" * 30, "9" * 5000, "a" * 501, True, False, None, 0, 1, 2, -1, 5.0, 5.5, nan, inf, 2**70, 1e30, [], {},
    ["a"], ["a"] * 65, ["a" * 501], [5, "a", None], "\u0665", "\u0665" * 501,
]  # fmt: skip
KINDS = (int, float, bool, str, Finite, Level, Seed, MethodName, CountsKind, Method, Where, Where | None, Finite | str)
BODIES: list[Any] = [
    {},
    {"boxes": []},
    {"boxes": "x"},
    {"boxes": ["x"]},
    {"boxes": [[5]]},
    {"boxes": [["a"]], "zzz": 1, "level": 7},
    {"boxes": [["a" * 501]]},
    {"boxes": [["a"] * 65]},
    {"boxes": [[]] * 10_001},
    {"boxes": [], "where": 5, "snap": "x", "simultaneous": None},
    {"boxes": [["a"], 5, [7, "x", None]]},
    {"boxes": {"a": 1}},
    {"boxes": None, "level": None},
    {"boxes": [[], ["a:1"]], "where": ["b:1"], "snap": True, "level": "0.5", "simultaneous": "yes"},
    {"points": [[None, "a", True, "5", nan, [], 5]], "k": 0},
    {"points": [["x"]], "k": "2", "method": "z", "seed": -1},
    {"points": [[1, 2]], "k": 2.5},
    {"points": [], "k": True},
    {"points": [[1, "2026-01-01"], []], "k": 3, "where": None, "method": "lloyd"},
    [],
    None,
    "x",
]


def by_pydantic(kind: Any, sent: Any) -> Any:
    """The value, or the problem."""
    try:
        return repr(TypeAdapter(kind).validate_python(sent))
    except ValidationError as error:
        return invalid_request([{**each, "loc": ("query", "x", *each["loc"])} for each in error.errors()])


def by_us(kind: Any, sent: Any) -> Any:
    """The same."""
    try:
        return repr(value_of(kind, sent, ("query", "x")))
    except Faults as faults:
        return invalid_request(faults.listed)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_values_are_read_as_pydantic_reads_them(kind: Any) -> None:
    """Texts of a query string, and values of JSON."""
    for sent in VALUES:
        assert by_us(kind, sent) == by_pydantic(kind, sent), repr(sent)[:50]


@pytest.mark.parametrize("kind", [CountsBody, AssignBody])
def test_bodies_are_read_as_pydantic_reads_them(kind: Any) -> None:
    """Missing and unknown fields, and faults at any depth, in the same order."""
    for sent in BODIES:
        assert by_us(kind, sent) == by_pydantic(kind, sent), repr(sent)[:50]


@given(st.text(alphabet="0123456789+-_.eE infant", max_size=8))
def test_texts_that_are_nearly_numbers_are_read_alike(sent: str) -> None:
    """Signs, underscores, spaces and points, wherever they stand."""
    for kind in (int, float, Finite, Level):
        assert by_us(kind, sent) == by_pydantic(kind, sent)
