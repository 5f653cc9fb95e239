"""Neighbours under a domain of every kind: one row moves the exact histogram by 1 at most, one person by c at most.

2,000 cases in all; `make torture` runs 25 times as many.
"""

from __future__ import annotations

import random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest import lines, record_buffer
from app.ingest.formats import MediaType
from app.ingest.limits import Limits
from core.records import OutOfRange
from core.unit import Unit
from tests.app.ingest.bodies import cut
from tests.app.ingest.hostile import LINES
from tests.app.ingest.mixed import (
    BYTES,
    GOOD,
    JSON_ROWS,
    KEPT,
    MIXED,
    Layout,
    cases,
    exact,
    exact_layers,
    json_line,
    text_body,
)

SEEDED = st.integers(0, 2**32).map(random.Random)
MODES = st.sampled_from(OutOfRange)
COLUMNAR = st.sampled_from([MediaType.PARQUET, MediaType.ARROW_STREAM])
_GOOD_LINE = ",".join(GOOD.values()).encode()
_FIELD = BYTES.map(lambda field: field.replace(b"\n", b""))
_TAME = BYTES.map(lambda field: bytes(byte for byte in field if byte not in b'\n",'))


def _some_fields(fields: st.SearchStrategy[bytes]) -> st.SearchStrategy[list[bytes]]:
    """A good row with hostile fields in some places."""
    good = [value.encode() for value in GOOD.values()]
    return st.tuples(*(st.one_of(st.just(value), st.just(value), fields) for value in good)).map(list)


_CSV_LINES = st.one_of(_some_fields(_FIELD).map(b",".join), LINES, st.just(_GOOD_LINE))
_JSON_LINES = st.one_of(JSON_ROWS.map(json_line), JSON_ROWS.map(lambda row: json_line(GOOD | row)), LINES)
TEXT_LINES = {MediaType.CSV: _CSV_LINES, MediaType.NDJSON: _JSON_LINES}


@pytest.mark.parametrize("media_type", TEXT_LINES)
@cases(300)
@given(data=st.data(), mode=MODES, block_bytes=st.integers(10, 400), size=st.integers(1, 400))
def test_one_line_more_moves_the_histogram_by_at_most_one(
    media_type: MediaType, data: st.DataObject, mode: OutOfRange, block_bytes: int, size: int
) -> None:
    """Any line at any place, hostile bytes included, for any block and chunk."""
    rows = data.draw(st.lists(TEXT_LINES[media_type], max_size=8))
    place = data.draw(st.integers(0, len(rows)))
    more = [*rows[:place], data.draw(TEXT_LINES[media_type]), *rows[place:]]
    with patch.object(lines, "BLOCK_BYTES", block_bytes):
        before, after = (
            exact(cut(text_body(media_type, each), size), media_type, out_of_range=mode) for each in (rows, more)
        )
    assert before.distance(after) <= 1
    assert 0 <= after.ingest.rows_read - before.ingest.rows_read <= 1
    for each in (before, after):
        assert each.cells.sum() == each.size == each.ingest.rows_kept


@cases(500)
@given(chance=SEEDED, media_type=COLUMNAR, mode=MODES)
def test_one_row_more_of_a_columnar_file_moves_the_histogram_by_at_most_one(
    chance: random.Random, media_type: MediaType, mode: OutOfRange
) -> None:
    """Any value of any type that suits, at any place: no file is refused and no other row is read differently."""
    layout = Layout(chance, media_type)
    rows = [layout.row() for _ in range(chance.randint(1, 6))]
    place, size = chance.randint(0, len(rows)), chance.randint(50, 4000)
    more = [*rows[:place], layout.row(), *rows[place:]]
    before, after = (exact(cut(layout.body(each), size), media_type, out_of_range=mode) for each in (rows, more))
    assert before.distance(after) <= 1
    assert (before.ingest.rows_read, after.ingest.rows_read) == (len(rows), len(more))


def _person_line(media_type: MediaType, person: bytes, row: Any) -> bytes:
    if media_type is MediaType.NDJSON:
        return json_line(row | {"person": person.decode()})
    return b",".join([*row[:3], person, *row[3:]])


_PERSON_LINES = {
    MediaType.CSV: st.lists(_some_fields(_TAME), min_size=1, max_size=10),
    MediaType.NDJSON: st.lists(JSON_ROWS.map(lambda row: GOOD | row), min_size=1, max_size=10),
}
_PERSON_HEADER = "income,age,sex,person,day,at,tag"


def _interleaved(chance: random.Random, others: list[Any], own: list[Any]) -> tuple[list[Any], list[Any]]:
    """Two files in one order: the others alone, and with the rows of one person between them."""
    marked = [(row, False) for row in others] + [(row, True) for row in own]
    chance.shuffle(marked)
    return [row for row, is_own in marked if not is_own], [row for row, _ in marked]


def _repeated(chance: random.Random, rows: list[Any]) -> list[Any]:
    """1 to 200 rows of one person: a few different ones, repeated."""
    return (rows * chance.choice([1, 1, 2, 40]))[:200]


@pytest.mark.parametrize("media_type", _PERSON_LINES)
@cases(300)
@given(data=st.data(), chance=SEEDED, mode=MODES, most=st.integers(1, 4), block_bytes=st.integers(10, 400))
def test_one_person_more_moves_the_histogram_by_at_most_c(
    media_type: MediaType, data: st.DataObject, chance: random.Random, mode: OutOfRange, most: int, block_bytes: int
) -> None:
    """With 1 to 200 rows of any content, wherever they stand among those of others, in memory or in the spool."""
    ids = [b"p1", b"p2", b"p3", b"", b"w" * 300, b" p1"]
    drawn = data.draw(_PERSON_LINES[media_type])
    others, own = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
    files = _interleaved(
        chance,
        [_person_line(media_type, chance.choice(ids), row) for row in others],
        [_person_line(media_type, b"new", row) for row in _repeated(chance, own)],
    )
    limits = Limits(max_line_bytes=600, buffer_bytes=chance.choice([0, 10**6]))
    with patch.object(lines, "BLOCK_BYTES", block_bytes):
        before, after = (
            exact(
                text_body(media_type, file, _PERSON_HEADER),
                media_type,
                unit=Unit("person", most),
                out_of_range=mode,
                limits=limits,
            )
            for file in files
        )
    assert before.distance(after) <= most
    for each in (before, after):
        assert each.cells.sum() == each.size == each.ingest.rows_kept


@cases(300)
@given(chance=SEEDED, media_type=COLUMNAR, mode=MODES, most=st.integers(1, 4))
def test_one_person_more_of_a_columnar_file_moves_the_histogram_by_at_most_c(
    chance: random.Random, media_type: MediaType, mode: OutOfRange, most: int
) -> None:
    """The same for typed columns."""
    layout = Layout(chance, media_type)
    ids = [b"p1", b"p2", b"\xff\0", b"", b"w" * 300, None]
    others = [(chance.choice(ids), layout.row()) for _ in range(chance.randint(0, 6))]
    own = [(b"new", layout.row()) for _ in range(chance.randint(1, 5))]
    before, after = (
        exact(
            layout.body([row for _, row in each], [person for person, _ in each]),
            media_type,
            unit=Unit("person", most),
            out_of_range=mode,
        )
        for each in _interleaved(chance, others, _repeated(chance, own))
    )
    assert before.distance(after) <= most
    assert after.size == after.ingest.rows_kept


@cases(50)
@given(data=st.data(), chance=SEEDED, mode=MODES, most=st.integers(1, 4), block_bytes=st.integers(10, 400))
def test_one_person_more_moves_each_layer_of_an_adaptive_release_by_at_most_c(
    data: st.DataObject, chance: random.Random, mode: OutOfRange, most: int, block_bytes: int
) -> None:
    """For given noisy counts: base cells, coarse cells and leaves, each read from memory or from the spool again."""
    drawn = data.draw(_PERSON_LINES[MediaType.CSV])
    others, own = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
    files = _interleaved(
        chance,
        [_person_line(MediaType.CSV, chance.choice([b"p1", b"p2", b""]), row) for row in others],
        [_person_line(MediaType.CSV, b"new", row) for row in _repeated(chance, own)],
    )
    limits = Limits(max_line_bytes=600, buffer_bytes=chance.choice([0, 10**6]))
    with patch.object(lines, "BLOCK_BYTES", block_bytes), patch.object(record_buffer, "PAGE_ROWS", 1):
        before, after = (
            exact_layers(
                text_body(MediaType.CSV, file, _PERSON_HEADER),
                unit=Unit("person", most),
                out_of_range=mode,
                limits=limits,
            )
            for file in files
        )
    for one, other in zip(before, after, strict=True):
        assert abs(one - other).sum() <= most
    for layers in (before, after):
        assert len({int(layer.sum()) for layer in layers}) == 1


def test_the_layers_of_these_tests_tell_rows_apart() -> None:
    """Two rows a little apart share the base cell and the coarse cell, and have a leaf each."""
    rows = [_GOOD_LINE, _GOOD_LINE.replace(b"2.5", b"3")]
    base, coarse, leaves = exact_layers(text_body(MediaType.CSV, rows))
    assert (base.max(), coarse.max(), leaves.max()) == (2, 2, 1)
    assert len(base) < len(coarse) < len(leaves)


def test_the_histogram_of_these_tests_tells_rows_apart() -> None:
    """A good row is counted, in the cell of its own values: the properties above are not about empty histograms."""
    good = exact(text_body(MediaType.CSV, [_GOOD_LINE]), MediaType.CSV)
    other = exact(text_body(MediaType.CSV, [_GOOD_LINE.replace(b"2.5", b"-9")]), MediaType.CSV)
    assert good.cells.sum() == 1
    assert good.distance(other) == 2
    assert tuple(GOOD) == MIXED.names == tuple(KEPT.split(","))
