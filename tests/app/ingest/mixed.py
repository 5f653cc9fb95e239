"""A domain of every kind, its exact histogram for an upload, and hypothesis strategies for its values and columns."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any
from unittest.mock import patch

import numpy as np
import orjson
import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.ingest import people
from app.ingest.formats import MediaType
from app.ingest.limits import Limits
from app.ingest.upload import Ingest, read_upload
from core.adaptive.layers import Layers
from core.adaptive.release import LayerCounts
from core.adaptive.shares import LayerLaws
from core.budget import Epsilon
from core.domain.domain import Domain
from core.domain.kinds import attribute_of
from core.histogram import Counts
from core.plan import DeclaredSize, EstimatedSize, Rule
from core.records import OutOfRange
from core.unit import RECORD, Unit
from tests.app.ingest.bodies import LIMITS, arrow_body, csv_body, order, parquet_body

FIELDS: tuple[dict[str, Any], ...] = (
    {"name": "income", "lower": -10, "upper": 10},
    {"name": "age", "kind": "integer", "lower": 0, "upper": 9, "missing": "keep"},
    {"name": "sex", "kind": "category", "values": ["f", "m", "x", "ä", "1", "true"], "other": True},
    {"name": "day", "kind": "date", "lower": "2026-01-01", "upper": "2026-12-31", "missing": "keep"},
    {
        "name": "at",
        "kind": "datetime",
        "lower": "2026-01-01T00:00:00+02:00",
        "upper": "2027-01-01T00:00:00+02:00",
        "missing": "keep",
    },
    {"name": "tag", "kind": "category", "values": ["a", "NA"], "missing": "keep"},
)
MIXED = Domain(tuple(attribute_of(fields) for fields in FIELDS))
GOOD = {
    "income": "2.5",
    "age": "7",
    "sex": "ä",
    "day": "2026-02-28",
    "at": "2026-03-01T12:00:00Z",
    "tag": "NA",
}
KEPT = "income,age,sex,day,at,tag"


def cases(number: int) -> settings:
    """So many examples; `make torture` multiplies them."""
    return settings(max_examples=number * int(os.environ.get("TORTURE", "1")))


@dataclass(frozen=True, slots=True)
class Exact:
    """The exact histogram of an upload on a fixed grid, and its numbers of rows."""

    cells: NDArray[np.int64]
    ingest: Ingest
    size: int

    def distance(self, other: Exact) -> int:
        """L1 distance of the histograms."""
        return int(np.abs(self.cells - other.cells).sum())


def exact(
    body: bytes | Iterable[bytes],
    media_type: MediaType,
    *,
    domain: Domain = MIXED,
    unit: Unit = RECORD,
    out_of_range: OutOfRange = OutOfRange.CLIP,
    limits: Limits = LIMITS,
) -> Exact:
    """Read an upload and count it. Persons' rows are chosen by a fixed key: neighbours are compared for each key."""
    with (
        patch.object(people.secrets, "token_bytes", lambda count: b"k" * count),
        read_upload(
            [body] if isinstance(body, bytes) else body,
            media_type=media_type,
            gzip=False,
            order=order(EstimatedSize(), domain=domain, unit=unit),
            domain=domain,
            out_of_range=out_of_range,
            max_cells=10_000,
            limits=limits,
        ) as rows,
    ):
        counts = Counts.zero(domain.grid(3))
        for records in rows.buffer.pages():  # type: ignore[union-attr]  # the size is estimated
            counts.add(records)
        return Exact(counts.cells, rows.ingest, len(rows))


# The adaptive rule takes three ordered attributes: all kinds but dates, which are whole values like moments.
LAYERED = Domain(tuple(each for each in MIXED.attributes if each.name != "day"))


def exact_layers(
    body: bytes,
    *,
    unit: Unit = RECORD,
    out_of_range: OutOfRange = OutOfRange.CLIP,
    limits: Limits = LIMITS,
) -> list[NDArray[np.int64]]:
    """The exact counts of the three layers of a CSV file, on cells that follow from noisy counts fixed in advance."""
    terms = replace(order(DeclaredSize(10**6), domain=LAYERED, unit=unit), rule=Rule.ADAPTIVE)
    layers = _layers(unit)
    counters = Counts.zero(layers.base), LayerCounts(layers, leaves=False), LayerCounts(layers, leaves=True)
    with (
        patch.object(people.secrets, "token_bytes", lambda count: b"k" * count),
        read_upload(
            [body],
            media_type=MediaType.CSV,
            gzip=False,
            order=terms,
            domain=LAYERED,
            out_of_range=out_of_range,
            max_cells=10_000,
            limits=limits,
        ) as rows,
    ):
        for counter in counters:
            rows.count_into(counter)
        assert counters[0].cells.sum() == len(rows) == rows.ingest.rows_kept
    return [counter.cells for counter in counters]


@lru_cache
def _layers(unit: Unit) -> Layers:
    """Layers in which every second base cell is cut."""
    base = LAYERED.grid([1 if each.is_ordered else each.most_cells or 1 for each in LAYERED.attributes])
    layers = Layers(
        base, LayerLaws.of(Epsilon.parse("1"), unit), np.resize([0, 10**4 * unit.max_rows], base.cell_count)
    )
    layers.take_coarse(np.full(layers.cut_base(), 300 * unit.max_rows))
    layers.take_leaves(np.zeros(layers.cut_coarse(), dtype=np.int64))
    return layers


# Texts that are values of a kind, that nearly are, and that never are.
_TEXT_POOL = [
    text.encode("utf-8", "surrogatepass")
    for text in (
        *(*GOOD.values(), "f", "m", "x", "1", "true", "a", "0", "9", "-3", "10", "2026-12-31"),
        *("", " ", "NA", "nan", "NULL", "None", "3.5", "1e3", "-0", "inf", "1_0", "0x1", "F", "other", "\u0661"),
        *("2026-02-30", "2026-2-3", "0000-01-01", "9999-12-31", "2026-01-01 ", "20260101", "(missing)", "(other)"),
        *("2026-03-01 12:00:00", "2026-03-01T12:00:00.123456789-11:30", "2026-03-01T24:00:00Z"),
        *(" f\t", "\t\u00e4 ", "\u00a0f", "f\u2028", "w" * 100, "2026-03-01T12:00:60Z", "\ufefff", "\0", "\r"),
    )
]
TEXTS = st.sampled_from(_TEXT_POOL)
BYTES = st.one_of(TEXTS, TEXTS, st.binary(max_size=6))

# Values of columnar files come from a random generator that hypothesis seeds: many values from one draw.
Chance = random.Random
Values = Callable[[Chance], Any]
Shape = tuple[str, Values, Callable[[list[Any]], pa.Array]]  # name, values, values -> array

_LEAST, _MOST = -(2**63), 2**63 - 1
_YEAR_START = 1_767_225_600


def _text(chance: Chance) -> bytes:
    return chance.choice(_TEXT_POOL) if chance.random() < 0.8 else chance.randbytes(chance.randrange(6))


def _integer(chance: Chance) -> int:
    return chance.choice([chance.randint(-2, 12), chance.randint(-2, 12), chance.randint(_LEAST, _MOST), _LEAST, _MOST])


def _float(chance: Chance) -> float:
    odd = chance.choice([float("nan"), float("inf"), -0.0, 1e300, 2.0**63, 0.1])
    return chance.choice([float(chance.randint(-2, 12)), chance.uniform(-12, 12), odd])


def _float32(chance: Chance) -> float:
    return float(np.float32(min(_float(chance), 1e30)))


def _decimal(chance: Chance) -> Decimal:
    return Decimal(chance.randint(-1500, 1500)) / 100


def _day(chance: Chance) -> int:
    return chance.choice([chance.randint(20_400, 20_900), chance.randint(-(2**31), 2**31 - 1)])


def _millisecond(chance: Chance) -> int:
    return chance.choice([_day(chance) * 86_400_000, _integer(chance)])


def _binary(kind: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    """Texts of any bytes in a column of strings, which pyarrow would only make of UTF-8."""
    storage = {pa.string_view(): pa.binary_view(), pa.large_string(): pa.large_binary()}.get(kind, pa.binary())
    return _stored(kind, storage)


def _stored(kind: pa.DataType, storage: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    return lambda values: pa.array(values, storage).view(kind)


def _of(kind: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    return lambda values: pa.array(values, kind)


def _times(unit: str, zone: str | None, per_second: int) -> Shape:
    kind = pa.timestamp(unit, zone)

    def time(chance: Chance) -> int:
        inside = (_YEAR_START + chance.randrange(2**25)) * per_second + chance.randrange(per_second)
        return chance.choice([inside, inside, _integer(chance)])

    return str(kind), time, _stored(kind, pa.int64())


_TEXT_SHAPES: list[Shape] = [
    ("string", _text, _binary(pa.string())),
    ("large_string", _text, _binary(pa.large_string())),
    ("string_view", _text, _binary(pa.string_view())),
    ("binary", _text, _of(pa.binary())),
    ("dictionary", _text, lambda values: pa.array(values, pa.binary()).dictionary_encode()),
    ("fixed", lambda chance: chance.choice([b"12", b"f ", b" x", chance.randbytes(2)]), _of(pa.binary(2))),
    ("null", lambda _: None, lambda values: pa.nulls(len(values))),
]
_NUMBER_SHAPES: list[Shape] = [
    ("int64", _integer, _of(pa.int64())),
    ("float64", _float, _of(pa.float64())),
    ("float32", _float32, _of(pa.float32())),
    ("bool", lambda chance: chance.random() < 0.5, _of(pa.bool_())),
    ("decimal", _decimal, _of(pa.decimal128(9, 2))),
    ("dictionary of numbers", _integer, lambda values: pa.array(values, pa.int64()).dictionary_encode()),
]
_MOMENTS = [_times("s", None, 1), _times("us", "UTC", 10**6), _times("ns", None, 10**9), _times("ms", "+05:30", 1000)]
_DAYS: list[Shape] = [
    ("date32", _day, _stored(pa.date32(), pa.int32())),
    ("date64", _millisecond, _stored(pa.date64(), pa.int64())),
    _times("us", "Europe/Berlin", 10**6),
]
SHAPES: dict[str, list[Shape]] = {
    "number": _TEXT_SHAPES + _NUMBER_SHAPES,
    "integer": _TEXT_SHAPES + _NUMBER_SHAPES,
    "category": _TEXT_SHAPES + _NUMBER_SHAPES,
    "date": _TEXT_SHAPES + _DAYS + _MOMENTS,
    "datetime": _TEXT_SHAPES + _MOMENTS,
}


class Layout:
    """An Arrow type for each attribute that suits its kind, and how a file of such columns is written."""

    def __init__(self, chance: Chance, media_type: MediaType) -> None:
        self._chance = chance
        self._media_type = media_type
        self._shapes = [self._shape(attribute.kind) for attribute in MIXED.attributes]
        self._batch_rows = chance.choice([1, 2, None])
        self._parquet = {
            "use_dictionary": chance.random() < 0.5,
            "row_group_size": chance.choice([1, 3, 1000]),
            "data_page_version": chance.choice(["1.0", "2.0"]),
        }

    def _shape(self, kind: str) -> Shape:
        """pyarrow writes no date64 to Parquet that is not a whole day, and no second that overflows as milliseconds."""
        unwritable = ("date64", "timestamp[s]") if self._media_type is MediaType.PARQUET else ()
        return self._chance.choice([shape for shape in SHAPES[kind] if shape[0] not in unwritable])

    def row(self) -> tuple[Any, ...]:
        """A row of such a file; any value may be null."""
        return tuple(None if self._chance.random() < 0.1 else value(self._chance) for _, value, _ in self._shapes)

    def body(self, rows: Sequence[tuple[Any, ...]], ids: Sequence[bytes | None] | None = None) -> bytes:
        """The rows as a file; with the ids of persons, if they are given."""
        arrays = [make([row[x] for row in rows]) for x, (_, _, make) in enumerate(self._shapes)]
        columns = dict(zip(MIXED.names, arrays, strict=True))
        if ids is not None:
            columns["person"] = pa.array(ids, pa.binary())
        if self._media_type is MediaType.ARROW_STREAM:
            return arrow_body(pa.table(columns), rows=self._batch_rows)
        options = self._parquet | {"row_group_size": max(self._parquet["row_group_size"], len(rows) // 5)}
        return parquet_body(pa.table(columns), write_batch_size=2, data_page_size=16, **options)


def text_body(media_type: MediaType, lines: Sequence[bytes], header: str = KEPT) -> bytes:
    """Lines as a file of CSV or NDJSON."""
    if media_type is MediaType.CSV:
        return csv_body(*lines, header=header.encode())
    return b"".join(line + b"\n" for line in lines)


_JSON_VALUES = st.one_of(
    TEXTS.map(lambda text: text.decode("utf-8", "replace")),
    st.integers(-2, 12),
    st.floats(-12, 12),
    st.sampled_from([None, True, False, [], {}, [1], 10**30]),
)
JSON_ROWS = st.dictionaries(st.sampled_from([*MIXED.names, "z"]), _JSON_VALUES, max_size=7)


def json_line(row: dict[str, Any]) -> bytes:
    """A row as a line."""
    return orjson.dumps({name: float(value) if value == 10**30 else value for name, value in row.items()})
