"""Uploads that try to use much memory. Run as a program: prints the megabytes that each case used."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

from app.ingest.batch import Wanted
from app.ingest.errors import IngestError, UnreadableFile, UploadTooLarge
from app.ingest.formats import MediaType, read_batches
from app.ingest.limits import MIB, Limits
from app.ingest.people import PersonBuffer
from app.ingest.thrift import LIST
from core.domain.kinds import attribute_of
from core.plan import EstimatedSize
from core.records import Records
from tests.app.ingest.bodies import WRITERS, arrow_body, count, cut, numbers, parquet_body, table
from tests.app.ingest.hostile_arrow import parquet, schema, stream
from tests.app.ingest.hostile_parquet import (
    as_decimal,
    closed,
    footer_of,
    headers_of,
    numbers_of,
    replaced,
    with_header,
)

LIMITS = Limits(buffer_bytes=0)  # nothing is held in memory on purpose
HEADER = b"x,y\n"


def repeated(head: bytes, piece: bytes, times: int) -> Iterator[bytes]:
    """A long body that is generated piece by piece."""
    yield head
    for _ in range(times):
        yield piece


def rows_declared() -> None:
    """A million rows with a declared size."""
    body = repeated(HEADER, b"3.25,0.125\n" * 10_000, 100)
    assert count(body, limits=LIMITS).ingest.rows_read == 10**6


def rows_estimated() -> None:
    """A million rows that wait for their grid, all but the first in the spool."""
    body = repeated(HEADER, b"3.25,0.125\n" * 10_000, 100)
    assert count(body, size=EstimatedSize(), limits=Limits(buffer_bytes=MIB)).ingest.rows_read == 10**6


def bad_rows() -> None:
    """Two hundred thousand rows, each of which fails its block."""
    body = repeated(HEADER, b'"\n' * 10_000, 20)
    assert count(body, limits=LIMITS).ingest.rows_dropped == 200_000


def long_line() -> None:
    """A line of 200 MB."""
    for media_type, head in ((MediaType.CSV, HEADER), (MediaType.NDJSON, b"")):
        body = repeated(head, b"9" * MIB, 200)
        assert count(body, media_type, limits=LIMITS).ingest.rows_read == 1


def long_header() -> None:
    """A first line of 200 MB."""
    with suppress(UnreadableFile):
        count(repeated(b"x,y", b"9" * MIB, 200), limits=LIMITS)
        raise AssertionError


def blank_lines() -> None:
    """100 MB of nothing but line ends."""
    assert count(repeated(HEADER, b"\n" * MIB, 100), limits=LIMITS).ingest.rows_read == 0


def gzip_bomb() -> None:
    """A thousand to one, as a single chunk of 150 kB."""
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(part) for part in repeated(b"", bytes(MIB), 150)) + packer.flush()
    assert count(bomb, MediaType.NDJSON, gzip=True, limits=LIMITS).ingest.rows_read == 1


def arrow_claims() -> None:
    """Sixteen gigabytes claimed at every place of a stream that a length could stand at."""
    body = arrow_body(table(20), compression="lz4")
    for place in range(0, len(body) - 8, 8):
        lie = body[:place] + struct.pack("<q", 2**34) + body[place + 8 :]
        with suppress(IngestError):
            count(cut(lie, 4096), MediaType.ARROW_STREAM, limits=LIMITS)


def arrow_bomb() -> None:
    """A batch of some kilobytes that inflates to 256 MB."""
    zeros = np.zeros(16 * MIB)
    bomb = arrow_body(pa.table({"x": zeros, "y": zeros}), compression="zstd")
    reset_peak()
    with suppress(UploadTooLarge):
        count(bomb, MediaType.ARROW_STREAM, limits=LIMITS)
        raise AssertionError


def parquet_rows() -> None:
    """Four million rows in one row group, from the spool."""
    zeros = np.zeros(4 * MIB)
    body = parquet_body(
        pa.table({"x": zeros, "y": zeros}), compression="none", use_dictionary=False, row_group_size=4 * MIB
    )
    reset_peak()
    assert count(cut(body, 65536), MediaType.PARQUET, limits=LIMITS).ingest.rows_read == 4 * MIB


def parquet_rows_held() -> None:
    """The same, half a million in each row group, with 16 MB for the body and for the rows that wait for their grid."""
    zeros = np.zeros(4 * MIB)
    body = parquet_body(
        pa.table({"x": zeros, "y": zeros}), compression="none", use_dictionary=False, row_group_size=MIB // 2
    )
    del zeros
    reset_peak()
    limits = Limits(buffer_bytes=16 * MIB)
    counted = count(cut(body, 65536), MediaType.PARQUET, size=EstimatedSize(), limits=limits)
    assert counted.ingest.rows_read == 4 * MIB


def parquet_claims() -> None:
    """Two gigabytes, or as many values, claimed by every number of every page header and of the footer."""
    for options in ({}, {"use_dictionary": False}, {"compression": "none", "data_page_version": "2.0"}):
        body = parquet_body(table(20), **options)
        footer, end = footer_of(body)
        lies = [closed(body[:end], replaced(footer, path, 2**31 - 1)) for path in numbers_of(footer)]
        for position, length, header in headers_of(body):
            false = [replaced(header, path, 2**31 - 1) for path in numbers_of(header)]
            lies += [with_header(body, position, length, lie) for lie in false]
        for lie in lies:
            with suppress(IngestError):
                count(lie, MediaType.PARQUET, limits=LIMITS)


def parquet_long_values() -> None:
    """A decimal of a megabyte in a dictionary, where 400 rows point to it."""
    for kind in (pa.binary(), pa.binary(MIB)):
        rows = pa.table({"x": pa.array([b"1" * MIB] * 400, kind)})
        refuse(as_decimal(parquet_body(rows, dictionary_pagesize_limit=4 * MIB), b"x"))


def parquet_long_beginnings() -> None:
    """A megabyte that 100 decimals begin with, in a column that the footer calls four bytes wide."""
    rows = pa.table({"x": pa.array([b"1" * (MIB - 1) + bytes([row]) for row in range(100)], pa.binary(MIB))})
    body = parquet_body(rows, use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY")
    refuse(as_decimal(body, b"x", length=4))


TEXTS = Wanted((attribute_of({"name": "x", "kind": "category", "values": ["f"], "other": True}),), "person")
LONG = b"1" * MIB


def read_texts(body: bytes, media_type: MediaType, rows: int) -> None:
    """Read a category and an id of so many rows, measured from here on."""
    reset_peak()
    batches = read_batches(cut(body, 65536), TEXTS, media_type=media_type, gzip=False, limits=LIMITS)
    assert sum(map(len, batches)) == rows


def _shared(rows: int) -> pa.Table:
    """Rows that all refer to one text of a megabyte."""
    column = pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), pa.array([LONG]))
    return pa.table({"x": column, "person": column})


def parquet_shared_texts() -> None:
    """A text of a megabyte in a dictionary, where 100,000 rows refer to it: as Arrow dictionaries, and as strings."""
    body = parquet_body(_shared(100_000), dictionary_pagesize_limit=4 * MIB)
    read_texts(body, MediaType.PARQUET, 100_000)
    footer, end = footer_of(body)
    footer.pop((5, LIST))  # the note that these are Arrow dictionaries
    read_texts(closed(body[:end], footer), MediaType.PARQUET, 100_000)


def parquet_long_texts() -> None:
    """Texts of a megabyte in pages of their own, which compress to nothing: 200 of them in one row group."""
    texts = pa.array([b"%d" % (row % 10) * MIB for row in range(200)])
    body = parquet_body(
        pa.table({"x": texts, "person": texts}),
        use_dictionary=False,
        compression="zstd",
        write_statistics=False,
        write_batch_size=1,
        data_page_size=1,
    )
    del texts
    read_texts(body, MediaType.PARQUET, 200)


def parquet_distinct_texts() -> None:
    """Half a million different ids in one row group: first in a dictionary, then in pages of their own."""
    texts = pa.array(np.arange(MIB // 2)).cast(pa.string())
    body = parquet_body(pa.table({"x": texts, "person": texts}), row_group_size=MIB)
    del texts
    read_texts(body, MediaType.PARQUET, MIB // 2)


def arrow_shared_texts() -> None:
    """A text of a megabyte to which 400,000 rows refer, by a dictionary and by views."""
    read_texts(arrow_body(_shared(400_000)), MediaType.ARROW_STREAM, 400_000)
    view = np.array([[MIB, 0x31313131, 0, 0]] * 400_000, dtype=np.int32)
    column = pa.Array.from_buffers(pa.string_view(), len(view), [None, pa.py_buffer(view), pa.py_buffer(LONG)])
    read_texts(arrow_body(pa.table({"x": column, "person": column})), MediaType.ARROW_STREAM, 400_000)


def long_ids() -> None:
    """Lines with an id of almost the length of a line, on both paths of CSV, and as NDJSON."""
    long = b"w" * 60_000
    for rows in (b"f,%b\n" % long, b'f,"%b"\n' % long):
        body = repeated(b"x,person\n", rows, 1000)
        batches = read_batches(body, TEXTS, media_type=MediaType.CSV, gzip=False, limits=LIMITS)
        assert sum(map(len, batches)) == 1000


def refuse(body: bytes) -> None:
    """Read the column x of a Parquet body that must be refused, measured from here on."""
    reset_peak()
    with suppress(IngestError):
        list(read_batches([body], numbers("x"), media_type=MediaType.PARQUET, gzip=False, limits=LIMITS))
        raise AssertionError


def shared_fields() -> None:
    """A million fields, or 200 MB of texts, in an Arrow schema of at most a megabyte, also within a Parquet file."""
    for message in (
        schema(fan=90, padding=600_000),
        schema(fan=9, name_bytes=2**18),
        schema(pairs=800, name_bytes=2**18),
    ):
        for media_type, body in ((MediaType.ARROW_STREAM, stream(message)), (MediaType.PARQUET, parquet(message))):
            with suppress(UploadTooLarge):
                count(body, media_type, limits=LIMITS)
                raise AssertionError


def keep(persons: int, distinct: int) -> None:
    """A million rows of persons, of whom three rows each are kept, with 1 MB for rows in memory."""
    dtypes = (np.dtype(np.uint32), np.dtype(np.uint64))
    with PersonBuffer(dtypes=dtypes, max_rows=3, limits=Limits(buffer_bytes=MIB)) as buffer:
        for start in range(0, 10**6, 50_000):
            rows = np.arange(start, start + 50_000)
            ids = pa.array(rows % persons).cast(pa.string()).cast(pa.binary())
            codes = rows % distinct
            buffer.add(ids, Records((codes.astype(np.uint32), codes.astype(np.uint64))))
        assert sum(map(len, buffer.kept())) == 3 * persons


def many_persons() -> None:
    """A hundred thousand persons of ten rows."""
    keep(10**5, 10**6)


def person_of_different_rows() -> None:
    """A single person of a million different rows."""
    keep(1, 10**6)


def person_of_equal_rows() -> None:
    """A single person of a million equal rows."""
    keep(1, 1)


CASES: tuple[Callable[[], None], ...] = (
    rows_declared,
    rows_estimated,
    bad_rows,
    long_line,
    long_header,
    blank_lines,
    gzip_bomb,
    arrow_claims,
    arrow_bomb,
    parquet_rows,
    parquet_rows_held,
    parquet_claims,
    parquet_long_values,
    parquet_long_beginnings,
    parquet_shared_texts,
    parquet_long_texts,
    parquet_distinct_texts,
    arrow_shared_texts,
    long_ids,
    shared_fields,
    many_persons,
    person_of_different_rows,
    person_of_equal_rows,
)
_base = 0


def megabytes(field: str) -> int:
    """Memory of this process in megabytes: VmHWM is the peak, VmRSS the present size."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(field)) // 1024


def reset_peak() -> None:
    """Start measuring here, without what Arrow keeps of earlier cases and could use again."""
    pa.default_memory_pool().release_unused()
    global _base  # noqa: PLW0603 - a program of one thread
    Path("/proc/self/clear_refs").write_text("5")
    _base = megabytes("VmRSS")


def main() -> None:
    """Every case, after every library has been used once."""
    for media_type, write in WRITERS.items():
        count(write(table(1000)), media_type)
    growth = {}
    for case in CASES:
        reset_peak()
        case()
        growth[case.__name__] = megabytes("VmHWM") - _base
    print(json.dumps(growth))  # noqa: T201 - a program


if __name__ == "__main__":
    main()
