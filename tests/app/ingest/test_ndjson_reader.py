"""NDJSON: every line is an object of numbers or a bad row."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest import lines
from app.ingest.formats import MediaType
from tests.app.ingest.bodies import Rows, finite, read
from tests.app.ingest.hostile import LINES

_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=5,
)
_OBJECTS = st.fixed_dictionaries({"x": st.floats(0, 10), "y": _JSON | st.floats(-1, 1)}, optional={"z": _JSON})
_JSON_LINES = st.one_of(_OBJECTS, _JSON).map(lambda value: json.dumps(value).encode())


def outcome(batch: Rows) -> tuple[list[list[float]], int]:
    """Good rows, and the number of all."""
    return finite(batch).tolist(), len(batch.values) + batch.bad_rows


def read_lines(*rows: bytes) -> tuple[list[list[float]], int]:
    """The outcome of some lines."""
    return outcome(read(b"".join(row + b"\n" for row in rows), MediaType.NDJSON))


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (b'{"x": 1, "y": 0.5}', [1, 0.5]),
        (b' {"y":-1e-1,"z":[{}],"x":10} \r', [10, -0.1]),
        (b'\xef\xbb\xbf{"x": 1, "y": 0.5}', [1, 0.5]),
        (b'{"x": 1, "y": 0.5, "x": 2}', [2, 0.5]),
        (b'{"x": 100000000000000000000000000, "y": 0}', [1e26, 0]),
        (b'{"x": true, "y": 0.5}', None),
        (b'{"x": "1", "y": " 5e-1\\t"}', [1, 0.5]),
        (b'{"x": "1_0", "y": 0.5}', None),
        (b'{"x": null, "y": 0.5}', None),
        (b'{"x": NaN, "y": 0.5}', None),
        (b'{"x": 1e999, "y": 0.5}', None),
        (b'{"x": [1], "y": 0.5}', None),
        (b'{"y": 0.5}', None),
        (b"[1, 0.5]", None),
        (b"1", None),
        (b'{"x": 1, "y": 0.5', None),
        (b'{"x": 1, "y": 0.5} {}', None),
        (b'{"x": 1, "y": 0.5, "z": "\xff"}', None),
        (b"[" * 200, None),
        (b"\0", None),
        (b" ", None),
    ],
)
def test_a_line_is_an_object_of_numbers_or_a_row_without_them(line: bytes, values: list[float] | None) -> None:
    """Neither is a truth value, another text or a missing attribute; what else is in the object does not matter."""
    good = b'{"x": 3, "y": 0}'
    assert read_lines(good, line, good) == ([[3, 0], *([values] if values else []), [3, 0]], 3)


@given(st.lists(st.one_of(_JSON_LINES, LINES), max_size=10), st.integers(20, 200))
def test_a_block_is_worth_the_sum_of_its_lines(rows: list[bytes], block_bytes: int) -> None:
    """No line changes how another is read, the first one included."""
    alone = [read_lines(row) for row in rows]
    with patch.object(lines, "BLOCK_BYTES", block_bytes):
        together = read_lines(*rows)
    assert together == ([row for good, _ in alone for row in good], sum(number for _, number in alone))


@pytest.mark.parametrize("body", [b"", b"\n", b"\r\n\n"])
def test_a_body_without_a_line_is_a_file_without_a_row(body: bytes) -> None:
    """There is no header to miss, so the rows alone would decide about a refusal."""
    assert outcome(read(body, MediaType.NDJSON)) == ([], 0)


def test_a_line_over_the_limit_is_one_bad_row() -> None:
    """Even if it would have been a good one."""
    assert read_lines(b'{"x": 1, "y": 0, "z": "' + b"z" * 400 + b'"}', b'{"x": 3, "y": 0}') == ([[3, 0]], 2)
