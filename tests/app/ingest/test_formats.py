"""All formats: the same rows, the same refusals, no crash, and no row in any error."""

from __future__ import annotations

import io
import random
import re
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

from app.ingest.errors import Cap, IngestError, UnreadableFile, UploadTooLarge
from app.ingest.formats import FORMATS, MediaType
from app.ingest.limits import Limits
from rugnik.bodies import body_of, kind_of
from rugnik.errors import UnfitSource
from tests.app.ingest.bodies import (
    DOMAIN,
    WRITERS,
    arrow_body,
    count,
    csv_body,
    cut,
    descriptors,
    gzipped,
    ndjson_body,
    parquet_body,
    read,
    summary,
    table,
)

CANARY = "kanarienvogel4711"
LIMITS = Limits(max_bytes=10**7, max_inflated_bytes=10**7, max_rows=10**6, max_line_bytes=1000)


@pytest.mark.parametrize("gzip", [False, True])
@pytest.mark.parametrize("media_type", MediaType)
def test_the_same_rows_count_the_same_in_every_format(media_type: MediaType, gzip: bool) -> None:
    """Attributes by name, other columns ignored, plain or under gzip."""
    rows = table(400)
    body = WRITERS[media_type](rows)
    counted = count(cut(gzipped(body) if gzip else body, 777), media_type, gzip=gzip)
    assert summary(counted) == summary(count(WRITERS[MediaType.CSV](rows)))
    assert counted.ingest.rows_read == 400
    assert counted.ingest.rows_clipped > 0
    assert counted.counts.cells.sum() == 400


@pytest.mark.parametrize("media_type", MediaType)
def test_a_body_is_capped_as_sent_and_as_inflated(media_type: MediaType) -> None:
    """At the byte."""
    body = WRITERS[media_type](table())
    packed = gzipped(body)
    assert len(read(body, media_type, limits=Limits(max_bytes=len(body))).values) == 50
    assert len(read(packed, media_type, gzip=True, limits=Limits(max_inflated_bytes=len(body))).values) == 50
    for sent, gzip, limits, cap in (
        (body, False, Limits(max_bytes=len(body) - 1), Cap.BYTES),
        (packed, True, Limits(max_bytes=len(packed) - 1), Cap.BYTES),
        (packed, True, Limits(max_inflated_bytes=len(body) - 1), Cap.INFLATED_BYTES),
    ):
        with pytest.raises(UploadTooLarge) as refusal:
            read(sent, media_type, gzip=gzip, limits=limits)
        assert refusal.value.cap is cap


class Gone(OSError):
    """What a body raises when its sender has gone; an OSError, as readers raise them too."""


@pytest.mark.parametrize("media_type", MediaType)
def test_a_sender_that_goes_away_is_not_a_fault_of_the_file(media_type: MediaType) -> None:
    """The exception of the body comes out as it is, wherever it happens."""
    body = WRITERS[media_type](table(200))

    def chunks(end: int) -> Iterator[bytes]:
        yield from cut(body[:end], 50)
        raise Gone

    for end in range(0, len(body), len(body) // 20):
        with pytest.raises(Gone):
            read(chunks(end), media_type)


def secret_table() -> pa.Table:
    """Rows with a canary as text, as a column's name and in metadata, beside good attributes."""
    words = [f"{CANARY}{row}" for row in range(40)]
    return pa.table({"x": np.arange(40.0), CANARY: words, "y": np.zeros(40)}).replace_schema_metadata({CANARY: CANARY})


def faulty_bodies() -> dict[str, tuple[MediaType, bytes, bool]]:
    """Files with a canary that are refused, each for another reason."""
    rows = secret_table()
    lists = pa.array([[word] for word in rows[CANARY].to_pylist()])
    wrong = pa.table({"x": rows["x"], "y": lists, CANARY: rows["y"]})
    missing = rows.rename_columns(["x", CANARY, f"{CANARY}y"])
    twice = rows.rename_columns(["x", "x", "y"])
    arrow, parquet = arrow_body(rows), parquet_body(rows, compression="none", use_dictionary=False)
    csv = csv_body(f"1,{CANARY},2".encode(), header=f"x,{CANARY},y".encode())
    sink = io.BytesIO()
    with pyarrow.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)
    return {
        "csv without the columns": (MediaType.CSV, csv.replace(b"y\n", b"z\n"), False),
        "csv with an open quote in its header": (MediaType.CSV, csv.replace(b"x,", b'"x,', 1), False),
        "csv with a header of one long line": (MediaType.CSV, CANARY.encode() * 100, False),
        "csv with a column twice": (MediaType.CSV, csv.replace(b"y\n", b"y,y\n"), False),
        "csv that is not gzip": (MediaType.CSV, csv, True),
        "csv in half a gzip": (MediaType.CSV, gzipped(csv * 100)[:-20], True),
        "csv before garbage": (MediaType.CSV, gzipped(csv) + CANARY.encode(), True),
        "ndjson in half a gzip": (MediaType.NDJSON, gzipped(ndjson_body(rows))[:-5], True),
        "parquet with lists": (MediaType.PARQUET, parquet_body(wrong), False),
        "parquet without the columns": (MediaType.PARQUET, parquet_body(missing), False),
        "parquet with pages of nonsense": (MediaType.PARQUET, parquet[:4] + CANARY.encode() * 9 + parquet[157:], False),
        "parquet cut short": (MediaType.PARQUET, parquet[:-50], False),
        "parquet that is csv": (MediaType.PARQUET, csv, False),
        "arrow with lists": (MediaType.ARROW_STREAM, arrow_body(wrong), False),
        "arrow without the columns": (MediaType.ARROW_STREAM, arrow_body(missing), False),
        "arrow with a column twice": (MediaType.ARROW_STREAM, arrow_body(twice), False),
        "arrow cut short": (MediaType.ARROW_STREAM, arrow[:-50], False),
        "arrow that is csv": (MediaType.ARROW_STREAM, csv, False),
        "arrow that is a file": (MediaType.ARROW_STREAM, sink.getvalue(), False),
    }


def texts_of(error: BaseException | None) -> str:
    """All that a logger could find out about an exception: texts, fields, causes, contexts, tracebacks."""
    if error is None:
        return ""
    own = "".join(traceback.format_exception(error)) + repr(error) + repr(error.args) + repr(vars(error))
    return own + texts_of(error.__cause__) + texts_of(error.__context__)


@pytest.mark.parametrize("case", faulty_bodies())
def test_no_error_quotes_a_byte_of_the_file(case: str) -> None:
    """Not the message, not a field, not an exception that it came from; and there is none that it came from."""
    media_type, body, gzip = faulty_bodies()[case]
    with pytest.raises(IngestError) as fault:
        read(cut(body, 64), media_type, gzip=gzip, limits=LIMITS)
    assert CANARY not in texts_of(fault.value)
    assert fault.value.__cause__ is None
    assert fault.value.__context__ is None


@pytest.mark.parametrize("media_type", [MediaType.CSV, MediaType.NDJSON])
def test_bad_lines_are_dropped_without_a_word(media_type: MediaType, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is raised and nothing printed, on any of the streams."""
    header = [b"x,y"] if media_type is MediaType.CSV else []
    lines = [f'"{CANARY}', f"{CANARY},{CANARY}", f'{{"{CANARY}": 1, "x": "{CANARY}", "y": 1}}', CANARY * 100]
    counted = count(b"\n".join([*header, *(line.encode() for line in lines)]), media_type)
    assert (counted.ingest.rows_read, counted.ingest.rows_dropped) == (4, 4)
    assert CANARY not in "".join(capfd.readouterr())


@pytest.mark.parametrize("case", faulty_bodies())
def test_nothing_is_left_behind_by_a_refusal(case: str, tmp_path: Path) -> None:
    """No file in the folder, no file open: not even while somebody still holds on to the exception."""
    media_type, body, gzip = faulty_bodies()[case]
    before = descriptors()
    with pytest.raises(IngestError) as fault:
        count(cut(body, 64), media_type, gzip=gzip, limits=Limits(max_line_bytes=1000, spool_folder=tmp_path))
    assert descriptors() == before
    assert list(tmp_path.iterdir()) == []
    assert fault.value.__traceback__ is not None


def mutant(body: bytes, chance: random.Random) -> bytes:
    """A body with one to a few changes: bytes, numbers, deletions, hostile scraps, repetitions, an end cut off."""
    changed = bytearray(body)
    for _ in range(chance.choice([1, 1, 1, 2, 3, 10])):
        anywhere, elsewhere = (chance.randrange(len(changed) + 1) for _ in range(2))
        near_start, near_end = int(chance.expovariate(0.01)), max(0, len(changed) - int(chance.expovariate(0.003)))
        place = chance.choice([anywhere, anywhere, near_start, near_end])  # metadata live at both ends
        width = chance.choice([1, 2, 4, 8])
        number = chance.choice([0, 1, 127, 128, 2**15, 2**31 - 1, 2**31, 2**63 - 1, 2**64 - 1]) % 256**width
        scrap = chance.choice([b'"', b"\r", b"\0", b"\n", b",", b"\xef\xbb\xbf", b"\xff\xff\xff\xff", b"PAR1"])
        stop, new = chance.choice(
            [
                (place + 1, chance.randbytes(1)),
                (place + width, number.to_bytes(width, "little")),
                (place + width, b""),
                (place, scrap),
                (place + 40, changed[elsewhere : elsewhere + 40]),
                (len(changed) if chance.random() < 0.1 else place + 1, b""),
            ]
        )
        changed[place:stop] = new
    return bytes(changed)


def sound_bodies() -> list[tuple[MediaType, bytes]]:
    """Files that the mutants come from: many compressions and encodings, optional values, nested columns."""
    rows = table(60)
    gaps = pa.table(
        {
            "x": pa.array([1.0, None] * 30),
            "tag": pa.array(["a", "b"] * 30).dictionary_encode(),
            "y": pa.array([None, 1] * 30, pa.decimal128(9, 2)),
            "list": [[1], []] * 30,
        }
    )
    text = [(MediaType.CSV, WRITERS[MediaType.CSV](rows)), (MediaType.NDJSON, ndjson_body(rows))]
    arrow = [arrow_body(part, rows=20, compression=codec) for part in (rows, gaps) for codec in (None, "zstd", "lz4")]
    parquet = [
        parquet_body(part, compression=codec, data_page_version=version, use_dictionary=dictionary, row_group_size=25)
        for part in (rows, gaps)
        for codec, version, dictionary in (("none", "1.0", True), ("zstd", "2.0", False), ("snappy", "1.0", False))
    ]
    return (
        text * 2 + [(MediaType.ARROW_STREAM, body) for body in arrow] + [(MediaType.PARQUET, body) for body in parquet]
    )


@pytest.mark.parametrize("seed", range(8))
def test_mutated_files_are_read_or_refused_and_nothing_else(seed: int) -> None:
    """No other exception, no crash, and no trace of what a reader said; a tenth of them under gzip."""
    chance = random.Random(seed)
    bodies = sound_bodies()
    refusals = 0
    for _ in range(400):
        media_type, body = chance.choice(bodies)
        gzip = chance.random() < 0.1
        sent = mutant(gzipped(mutant(body, chance)), chance) if gzip else mutant(body, chance)
        try:
            read(cut(sent, 500), media_type, names=DOMAIN.names, gzip=gzip, limits=LIMITS)
        except IngestError as error:
            refusals += 1
            assert error.__context__ is None  # noqa: PT017 - most mutants, but not all, are refused
    assert refusals > 100


def test_text_is_refused_for_its_header_and_for_nothing_below_it() -> None:
    """A thousand mutants of the rows of a CSV or NDJSON file: all counted."""
    chance = random.Random(1)
    rows = table(20)
    for _ in range(1000):
        below = mutant(WRITERS[MediaType.CSV](rows).partition(b"\n")[2], chance)
        count(b"y,note,x\n" + below)
        count(mutant(ndjson_body(rows), chance), MediaType.NDJSON)


def test_an_empty_body_is_a_fault_where_a_file_cannot_be_empty() -> None:
    """NDJSON alone has nothing but rows."""
    for media_type in (MediaType.CSV, MediaType.PARQUET, MediaType.ARROW_STREAM):
        with pytest.raises(UnreadableFile):
            read(b"", media_type)
    assert len(read(b"", MediaType.NDJSON).values) == 0


def test_every_media_type_has_a_format_and_no_two_share_a_suffix() -> None:
    """The table is complete, and a suffix stands for a single format."""
    assert set(FORMATS) == set(MediaType)
    suffixes = [suffix for form in FORMATS.values() for suffix in form.suffixes]
    assert len(set(suffixes)) == len(suffixes)


def test_client_and_service_agree_on_the_suffixes_of_files() -> None:
    """The client has its own table, because it does not import the service; it names all suffixes when it refuses."""
    for media_type, form in FORMATS.items():
        for suffix in form.suffixes:
            assert kind_of(f"rows{suffix}") == (media_type, False)
            assert kind_of(f"rows{suffix}.gz") == (media_type, True)
    with pytest.raises(UnfitSource) as refusal:
        body_of(b"rows", media_type=None)
    assert set(re.findall(r"\.[a-z]+", str(refusal.value))) == {s for form in FORMATS.values() for s in form.suffixes}
