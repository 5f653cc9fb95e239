"""Counting an upload: a row adds at most one count, and an upload is counted as a whole or refused as a whole."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ingest import lines, parquet_reader, record_buffer, upload
from app.ingest.errors import Cap, MissingColumns, UploadTooLarge
from app.ingest.formats import MediaType
from app.ingest.limits import Limits
from app.ingest.local_file import LocalFile
from app.ingest.upload import check_upload
from core.domain.domain import Domain
from core.domain.number import Number
from core.errors import TooManyCells
from core.histogram import Counts
from core.histogram import count as count_records
from core.plan import DeclaredSize, EstimatedSize, make_plan
from core.records import OutOfRange
from core.unit import RECORD, Unit
from tests.app.ingest.bodies import (
    DOMAIN,
    LIMITS,
    WRITERS,
    arrow_body,
    count,
    csv_body,
    cut,
    descriptors,
    order,
    parquet_body,
    read,
    table,
)
from tests.app.ingest.hostile import LINES
from tests.core.rows import take_rows

ESTIMATE = EstimatedSize()
MODES = st.sampled_from(OutOfRange)
FILES = st.lists(LINES, max_size=12)


def body_of(media_type: MediaType, rows: list[bytes]) -> bytes:
    """Lines as a file."""
    header = [b"x,z,y"] if media_type is MediaType.CSV else []
    return b"".join(line + b"\n" for line in (*header, *rows))


@settings(max_examples=250)
@given(FILES, LINES, st.data(), MODES, st.sampled_from([MediaType.CSV, MediaType.NDJSON]), st.integers(10, 300))
def test_one_line_more_changes_the_histogram_by_at_most_one(
    rows: list[bytes], line: bytes, data: st.DataObject, mode: OutOfRange, media_type: MediaType, block_bytes: int
) -> None:
    """For any line at any place, whatever it does to its block: the L1 distance of the histograms is at most 1."""
    place = data.draw(st.integers(0, len(rows)))
    size = data.draw(st.integers(1, 400))
    neighbour = [*rows[:place], line, *rows[place:]]
    with patch.object(lines, "BLOCK_BYTES", block_bytes):
        before = count(cut(body_of(media_type, rows), size), media_type, out_of_range=mode)
        after = count(cut(body_of(media_type, neighbour), size), media_type, out_of_range=mode)
    assert np.abs(before.counts.cells - after.counts.cells).sum() <= 1
    assert before.plan == after.plan
    for report in (before, after):
        kept = report.ingest.rows_read - report.ingest.rows_dropped
        assert report.counts.cells.sum() == kept
        assert 0 <= report.ingest.rows_clipped <= kept
    assert 0 <= after.ingest.rows_read - before.ingest.rows_read <= 1


@pytest.mark.parametrize("line", [b'"', b'1,"a,0.5', b"\0", b"1,a\r0.5", b"w" * 2_000_000, b"\xff\xfe", b"1", b""])
def test_one_hostile_line_in_a_large_file_costs_nothing_but_itself(line: bytes) -> None:
    """A hundred thousand rows around it, in blocks of their true size."""
    rows = [b"%d,a,0.5" % (number % 10) for number in range(100_000)]
    clean = count(body_of(MediaType.CSV, rows))
    rows.insert(12_345, line)
    assert np.array_equal(count(body_of(MediaType.CSV, rows)).counts.cells, clean.counts.cells)


@pytest.mark.parametrize("media_type", MediaType)
@pytest.mark.parametrize("mode", OutOfRange)
def test_counts_and_report_are_those_of_the_rows(media_type: MediaType, mode: OutOfRange) -> None:
    """The batches of an upload add up to what core makes of all its rows at once."""
    rows = table(300)
    counted = count(WRITERS[media_type](rows), media_type, out_of_range=mode)
    taken = take_rows(np.column_stack([rows[name].to_numpy() for name in DOMAIN.names]), DOMAIN, mode)
    assert np.array_equal(counted.counts.cells, count_records(taken.records, counted.plan.grid).cells)
    assert counted.ingest.rows_read == 300
    assert counted.ingest.rows_dropped == taken.rows_dropped
    assert counted.ingest.rows_clipped == taken.rows_clipped
    assert counted.plan == make_plan(order(), max_cells=10_000)


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        (b"x,y", 0),
        (b"x,y\n", 0),
        (b"x,y\r\n\r\n", 0),
        (b"x,y\nno,number\n1\n1,2,3\n,\nnan,inf\n", 5),
        (b"x,y\n" + b'"' * 399 + b"\n", 1),
        (b"x,y\n" + b"9" * 5000, 1),
        (b"x,y\n" + b"\xff\0\r" * 100 + b"\n\0", 2),
    ],
)
@pytest.mark.parametrize("size", [order().size, ESTIMATE])
def test_a_file_without_a_good_row_is_counted_like_any_other(
    body: bytes, rows: int, size: DeclaredSize | EstimatedSize
) -> None:
    """Zero in every cell: what the rows contain never decides whether a release appears."""
    counted = count(body, size=size)
    assert counted.counts.cells.sum() == 0
    assert (counted.ingest.rows_read, counted.ingest.rows_dropped, counted.ingest.rows_clipped) == (rows, rows, 0)


@pytest.mark.parametrize("media_type", MediaType)
def test_the_cap_on_rows_counts_good_and_bad_ones(media_type: MediaType) -> None:
    """At the row, and the upload is refused as a whole."""
    body = WRITERS[media_type](table(50))
    assert count(body, media_type, limits=Limits(max_rows=50)).ingest.rows_read == 50
    with pytest.raises(UploadTooLarge) as refusal:
        count(body, media_type, limits=Limits(max_rows=49))
    assert (refusal.value.cap, refusal.value.allowed) == (Cap.ROWS, 49)
    with pytest.raises(UploadTooLarge):
        count(csv_body(b"bad", b"1,2", b"bad"), limits=Limits(max_rows=2))


@pytest.mark.parametrize("buffer_bytes", [0, 1000, 10**6])
@pytest.mark.parametrize("media_type", MediaType)
def test_an_estimated_size_counts_every_row_on_the_grid_it_leads_to(media_type: MediaType, buffer_bytes: int) -> None:
    """Whether the records waited in memory or in the spool."""
    rows = table(500)
    with patch.object(record_buffer, "PAGE_ROWS", 64):
        counted = count(WRITERS[media_type](rows), media_type, size=ESTIMATE, limits=Limits(buffer_bytes=buffer_bytes))
    values = read(WRITERS[media_type](rows), media_type).values
    expected = Counts.zero(counted.plan.grid)
    expected.add(take_rows(values, DOMAIN, OutOfRange.CLIP).records)
    assert np.array_equal(counted.counts.cells, expected.cells)


@pytest.mark.parametrize("size", [ESTIMATE, DeclaredSize(500)])
def test_the_size_of_an_upload_is_the_number_of_records_that_were_kept(size: DeclaredSize | EstimatedSize) -> None:
    """Not of the rows read: a bad line is no record, and a row out of range is one only if it is clipped."""
    body = csv_body(b"1,0", b"bad", b"nan,0", b"99,0", b"2,0")
    for out_of_range, kept in ((OutOfRange.CLIP, 3), (OutOfRange.DROP, 2)):
        with upload.read_upload(
            [body],
            media_type=MediaType.CSV,
            gzip=False,
            order=order(size),
            domain=DOMAIN,
            out_of_range=out_of_range,
            max_cells=10_000,
            limits=LIMITS,
        ) as rows:
            assert len(rows) == kept


def test_records_that_wait_beyond_the_cap_of_the_spool_are_refused(tmp_path: Path) -> None:
    """A clear refusal; neither their spool nor that of a Parquet body stays open or in the folder."""
    body = parquet_body(pa.table({"x": [1.0] * 1000, "y": [0.0] * 1000}))
    limits = Limits(buffer_bytes=0, spool_bytes=4000, spool_folder=tmp_path)
    assert len(body) < 4000
    before = descriptors()
    with patch.object(record_buffer, "PAGE_ROWS", 64), pytest.raises(UploadTooLarge) as refusal:
        count(body, MediaType.PARQUET, size=ESTIMATE, limits=limits)
    assert refusal.value.cap is Cap.SPOOL_BYTES
    assert descriptors() == before
    assert list(tmp_path.iterdir()) == []


def memory_of(
    chunks: list[bytes] | LocalFile, media_type: MediaType, size: DeclaredSize | EstimatedSize, unit: Unit
) -> list[int]:
    """The memory that each buffer of an upload may take, of 1000 bytes for all of them."""
    limits = Limits(buffer_bytes=1000)
    with (
        patch.object(parquet_reader, "HeldBody", wraps=parquet_reader.HeldBody) as bodies,
        patch.object(upload, "RecordBuffer", wraps=upload.RecordBuffer) as records,
        patch.object(upload, "PersonBuffer", wraps=upload.PersonBuffer) as persons,
        upload.read_upload(
            chunks,
            media_type=media_type,
            gzip=False,
            order=order(size, unit=unit),
            domain=DOMAIN,
            out_of_range=OutOfRange.CLIP,
            max_cells=10_000,
            limits=limits,
        ) as rows,
    ):
        assert rows.ingest.rows_read == 50
    given = [call.args[0] for call in bodies.call_args_list]
    given += [call.kwargs["limits"] for call in (*records.call_args_list, *persons.call_args_list)]
    return [each.buffer_bytes for each in given]


PERSON = Unit(column="person", max_rows=2)


@pytest.mark.parametrize(
    ("media_type", "size", "unit", "expected"),
    [
        (MediaType.PARQUET, DeclaredSize(500), RECORD, [1000]),
        (MediaType.PARQUET, ESTIMATE, RECORD, [500, 500]),
        (MediaType.PARQUET, DeclaredSize(500), PERSON, [500, 500]),
        (MediaType.CSV, ESTIMATE, RECORD, [1000]),
        (MediaType.CSV, DeclaredSize(500), PERSON, [1000]),
    ],
)
def test_a_held_body_and_its_rows_share_the_memory_of_an_upload(
    media_type: MediaType, size: DeclaredSize | EstimatedSize, unit: Unit, expected: list[int]
) -> None:
    """The setting bounds both together; whatever is alone has all of it."""
    rows = table(50).append_column("person", pa.array([f"p{row}" for row in range(50)]))
    assert memory_of([WRITERS[media_type](rows)], media_type, size, unit) == expected


def test_rows_of_a_file_that_is_read_where_it_lies_have_all_the_memory(tmp_path: Path) -> None:
    """Its body is not held."""
    path = tmp_path / "rows.parquet"
    path.write_bytes(parquet_body(table(50)))
    with LocalFile(path) as file:
        assert memory_of(file, MediaType.PARQUET, ESTIMATE, RECORD) == [1000]


def test_a_check_of_persons_shares_the_memory_too() -> None:
    """As the upload would."""
    rows = table(50).append_column("person", pa.array([f"p{row}" for row in range(50)]))
    with (
        patch.object(parquet_reader, "HeldBody", wraps=parquet_reader.HeldBody) as bodies,
        patch.object(upload, "PersonBuffer", wraps=upload.PersonBuffer) as persons,
    ):
        check_upload(
            [parquet_body(rows)],
            media_type=MediaType.PARQUET,
            gzip=False,
            domain=DOMAIN,
            out_of_range=OutOfRange.CLIP,
            limits=Limits(buffer_bytes=1000),
            unit=PERSON,
        )
    assert bodies.call_args.args[0].buffer_bytes == persons.call_args.kwargs["limits"].buffer_bytes == 500


def test_an_order_that_no_grid_can_serve_is_refused_before_a_byte_is_read() -> None:
    """A declared size is planned first."""

    def untouched() -> Iterator[bytes]:
        raise AssertionError
        yield b""

    reading = upload.read_upload(
        untouched(),
        media_type=MediaType.CSV,
        gzip=False,
        order=order(),
        domain=DOMAIN,
        out_of_range=OutOfRange.CLIP,
        max_cells=3,
        limits=LIMITS,
    )
    with pytest.raises(TooManyCells), reading:
        pass


@pytest.mark.parametrize("mode", OutOfRange)
@pytest.mark.parametrize("media_type", MediaType)
def test_checking_a_file_tells_what_uploading_it_would(media_type: MediaType, mode: OutOfRange) -> None:
    """The same readers, the same three numbers, the same refusals."""
    body = WRITERS[media_type](table(100))
    options = {"media_type": media_type, "gzip": False, "out_of_range": mode, "limits": LIMITS}
    assert check_upload([body], domain=DOMAIN, **options) == count(body, media_type, out_of_range=mode).ingest
    if media_type is not MediaType.NDJSON:
        with pytest.raises(MissingColumns):
            check_upload([body], domain=Domain((Number("absent", 0, 1),)), **options)


PEOPLE = csv_body(
    *(b"%d,0,%b" % (row % 10, person) for person, count in ((b"a", 1), (b"b", 3), (b"c", 7)) for row in range(count)),
    *(b"1,0,", b"1,0,%b" % (b"w" * 257), b"nan,0,a", b"bad", b"99,0, a "),
    header=b"x,y,person",
)


@pytest.mark.parametrize("size", [ESTIMATE, DeclaredSize(500)])
@pytest.mark.parametrize(("most", "kept"), [(1, 3), (2, 6), (5, 10), (10, 12)])
def test_of_each_person_at_most_so_many_rows_are_counted(
    size: DeclaredSize | EstimatedSize, most: int, kept: int
) -> None:
    """Rows beyond that are neither dropped nor counted; a row without a usable id is dropped."""
    counted = count(PEOPLE, size=size, unit=Unit("person", most))
    assert counted.counts.cells.sum() == counted.ingest.rows_kept == kept
    ingest = counted.ingest
    assert (ingest.rows_read, ingest.rows_dropped, ingest.rows_clipped) == (16, 4, 1)
    assert ingest.rows_over_limit == 12 - kept
    assert ingest.rows_kept_by == ()


@pytest.mark.parametrize("size", [ESTIMATE, DeclaredSize(500)])
def test_the_size_of_an_upload_of_people_is_the_number_of_rows_that_were_kept(
    size: DeclaredSize | EstimatedSize,
) -> None:
    """It is what the noisy size is drawn from."""
    with upload.read_upload(
        [PEOPLE],
        media_type=MediaType.CSV,
        gzip=False,
        order=order(size, unit=Unit("person", 2)),
        domain=DOMAIN,
        out_of_range=OutOfRange.CLIP,
        max_cells=10_000,
        limits=LIMITS,
    ) as rows:
        assert len(rows) == 6


@pytest.mark.parametrize("most", [1, 3, 10, 20])
def test_checking_a_file_of_people_compares_the_bounds(most: int) -> None:
    """How many rows each would keep, whatever the bound of the dataset is; all else is what uploading tells."""
    options = {"media_type": MediaType.CSV, "gzip": False, "out_of_range": OutOfRange.CLIP, "limits": LIMITS}
    checked = check_upload([PEOPLE], domain=DOMAIN, unit=Unit("person", most), **options)
    assert checked.rows_kept_by == ((1, 3), (2, 6), (5, 10), (10, 12))
    assert replace(checked, rows_kept_by=()) == count(PEOPLE, unit=Unit("person", most)).ingest


def test_a_row_that_is_dropped_takes_its_id_with_it() -> None:
    """Else the rows after it would be those of another person."""
    body = csv_body(b"nan,0,a", b"1,0,b", b"2,0,", b"3,0,b", b"4,0,b", header=b"x,y,person")
    ingest = count(body, unit=Unit("person", 1)).ingest
    assert (ingest.rows_dropped, ingest.rows_over_limit, ingest.rows_kept) == (2, 2, 1)


@pytest.mark.parametrize("media_type", MediaType)
def test_the_column_of_ids_must_be_there(media_type: MediaType) -> None:
    """A file without it is refused for its header; NDJSON has none, so there each row lacks an id and is dropped."""
    body = WRITERS[media_type](table(20))
    if media_type is MediaType.NDJSON:
        assert count(body, media_type, unit=Unit("person", 2)).ingest.rows_dropped == 20
    else:
        with pytest.raises(MissingColumns) as fault:
            count(body, media_type, unit=Unit("person", 2))
        assert fault.value.names == ("person",)


@pytest.mark.parametrize("media_type", MediaType)
def test_an_attribute_may_be_the_id_too(media_type: MediaType) -> None:
    """Then a column is read in two ways."""
    body = WRITERS[media_type](pa.table({"x": [1, 1, 2], "y": [0.0, 0.5, 0.5]}))
    counted = count(body, media_type, unit=Unit("x", 1))
    assert (counted.counts.cells.sum(), counted.ingest.rows_over_limit) == (2, 1)


def test_what_is_private_does_not_show_itself() -> None:
    """No number in a repr; counts and records refuse to be pickled anyway."""
    counted = count(csv_body(*[b"1,0"] * 123))
    assert "123" not in repr(counted.ingest).partition(" at ")[0]
    assert "123" not in repr(counted).partition(" at ")[0]
    with pytest.raises(TypeError):
        pickle.dumps(counted)


def test_rows_of_one_parquet_or_arrow_file_are_judged_one_by_one() -> None:
    """One row more, with any value of its type, changes the histogram by at most one and refuses no file."""
    rows = table(100).select(["x", "y"])
    for x in (0, 5, -(2**63), 2**63 - 1, None):
        for y in (0.5, float("nan"), float("-inf"), 1e308, None):
            more = pa.concat_tables([rows, pa.Table.from_pylist([{"x": x, "y": y}], rows.schema)])
            for media_type, write in ((MediaType.PARQUET, parquet_body), (MediaType.ARROW_STREAM, arrow_body)):
                before, after = (count(write(part), media_type) for part in (rows, more))
                assert np.abs(before.counts.cells - after.counts.cells).sum() <= 1
                assert after.ingest.rows_read == 101
