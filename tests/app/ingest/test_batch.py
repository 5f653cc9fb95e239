"""Columns become rows of numbers: every numeric type is read, and no value makes its column be refused."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from app.ingest.errors import WrongColumnType
from app.ingest.formats import MediaType
from tests.app.ingest.bodies import arrow_body, parquet_body, read

WRITERS = [(MediaType.PARQUET, parquet_body), (MediaType.ARROW_STREAM, arrow_body)]
NAN = float("nan")
COLUMNS = [
    (pa.array([1, None, -128], pa.int8()), [1, NAN, -128]),
    (pa.array([2**63 - 1, None, -(2**63)], pa.int64()), [2.0**63, NAN, -(2.0**63)]),
    (pa.array([2**53 + 1, 2**64 - 1], pa.uint64()), [2.0**53, 2.0**64]),
    (pa.array(np.array([1.5, -np.inf, np.nan], dtype=np.float16)), [1.5, -np.inf, NAN]),
    (pa.array([1.5, None], pa.float32()), [1.5, NAN]),
    (pa.array([0.1, None, 1e308], pa.float64()), [0.1, NAN, 1e308]),
    (pa.array([Decimal("1.25"), None], pa.decimal32(9, 2)), [1.25, NAN]),
    (pa.array([Decimal("1.25"), None], pa.decimal64(18, 2)), [1.25, NAN]),
    (pa.array([Decimal(10) ** 37, None], pa.decimal128(38, 0)), [1e37, NAN]),
    (pa.array([Decimal(10) ** 75, None], pa.decimal256(76, 0)), [1e75, NAN]),
    (pa.nulls(2), [NAN, NAN]),
    (pa.array([True, None]), [NAN, NAN]),
    (pa.array(["1", " -2e1\t", None, "", "1_0", "nan", "x" * 5000]), [1, -20, NAN, NAN, NAN, NAN, NAN]),
    (pa.array(["1", None, "two"], pa.large_string()), [1, NAN, NAN]),
    (pa.array(["1", None, "0." + "3" * 40], pa.string_view()), [1, NAN, 1 / 3]),
    (pa.array([b"1", b"\xff"]), [1, NAN]),
    (pa.array([b"10", b"1x"], pa.binary(2)), [10, NAN]),
    (pa.array(["1", "two", None, "1"]).dictionary_encode(), [1, NAN, NAN, 1]),
    (pa.array([0.5, None, 0.5]).dictionary_encode(), [0.5, NAN, 0.5]),
]
OTHERS = [
    pa.array([1, 2], pa.date32()),
    pa.array([1, 2], pa.timestamp("us")),
    pa.array([1, 2], pa.duration("us")),
    pa.array([[1.0], [2.0]]),
    pa.array([{"x": 1.0}, {"x": 2.0}]),
]


@pytest.mark.parametrize(("media_type", "write"), WRITERS)
@pytest.mark.parametrize(("column", "values"), COLUMNS, ids=[str(column.type) for column, _ in COLUMNS])
def test_numbers_of_every_type_become_doubles_and_nulls_become_nan(
    media_type: MediaType, write: object, column: pa.Array, values: list[float]
) -> None:
    """Integers beyond 2^53 are rounded; a safe cast would refuse the file because of one row."""
    assert callable(write)
    batch = read(write(pa.table({"x": column})), media_type, names=("x",))
    np.testing.assert_array_equal(batch.values[:, 0], values)
    assert batch.bad_rows == 0


@pytest.mark.parametrize(("media_type", "write"), WRITERS)
@pytest.mark.parametrize("column", OTHERS, ids=[str(column.type) for column in OTHERS])
def test_columns_of_any_other_type_are_refused_by_the_name_of_their_attribute(
    media_type: MediaType, write: object, column: pa.Array
) -> None:
    """Whatever their values look like; and what stands in no wanted column does not matter."""
    assert callable(write)
    body = write(pa.table({"x": column, "y": [1.0, 2.0]}))
    with pytest.raises(WrongColumnType) as fault:
        read(body, media_type)
    assert fault.value.names == ("x",)
    assert read(body, media_type, names=("y",)).values.tolist() == [[1], [2]]
