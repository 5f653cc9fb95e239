"""Uploads from everything that holds rows: the same rows, the same counts, streamed."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from rugnik import Client, bodies, errors
from tests.support.service.api import ROWS
from tests.support.service.live import Live

FRAME = pd.read_csv(io.BytesIO(ROWS))
CSV = "text/csv"


def parquet(folder: Path) -> Path:
    """The rows as a Parquet file."""
    pa.parquet.write_table(pa.Table.from_pandas(FRAME), folder / "rows.parquet")
    return folder / "rows.parquet"


def arrow(folder: Path) -> Path:
    """The rows as an Arrow stream in a file."""
    table = pa.Table.from_pandas(FRAME)
    with pa.ipc.new_stream(folder / "rows.arrows", table.schema) as writer:
        writer.write_table(table)
    return folder / "rows.arrows"


def written(folder: Path, name: str, data: bytes) -> Path:
    """A file of that name."""
    (folder / name).write_bytes(data)
    return folder / name


SOURCES: dict[str, Callable[[Path], Any]] = {
    "path": lambda folder: written(folder, "rows.csv", ROWS),
    "path as text": lambda folder: str(written(folder, "rows.csv", ROWS)),
    "gzip file": lambda folder: written(folder, "rows.CSV.gz", gzip.compress(ROWS)),
    "NDJSON": lambda folder: written(folder, "r.jsonl", FRAME.to_json(orient="records", lines=True).encode()),
    "Parquet": parquet,
    "Arrow stream": arrow,
    "pandas": lambda _: FRAME,
    "pandas with more columns": lambda _: FRAME.assign(note=[f"row {i}" if i % 2 else i for i in range(len(FRAME))]),
    "polars": lambda _: pl.from_pandas(FRAME),
    "pyarrow table": lambda _: pa.Table.from_pandas(FRAME),
    "pyarrow reader": lambda _: pa.Table.from_pandas(FRAME).to_reader(max_chunksize=99),
}


@pytest.mark.parametrize("squeeze", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("source", SOURCES)
def test_rows_arrive_from(live: Live, curator: Client, order: str, tmp_path: Path, source: str, squeeze: bool) -> None:
    """Five hundred rows read, none dropped, whatever they came in; compressed on the way or not."""
    published = curator.upload(order, SOURCES[source](tmp_path), gzip=squeeze)
    assert published.ingest is not None
    assert (published.ingest.rows_read, published.ingest.rows_dropped) == (500, 0)
    sent = next(headers for headers in live.gate.headers if "content-type" in headers)
    assert (sent.get("content-encoding") == "gzip") is (squeeze or source == "gzip file")


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow table"])
def test_a_table_goes_as_parquet_when_asked(live: Live, curator: Client, order: str, kind: str, tmp_path: Path) -> None:
    """By its media type."""
    published = curator.upload(order, SOURCES[kind](tmp_path), media_type=bodies.PARQUET)
    assert published.ingest is not None
    assert published.ingest.rows_read == 500
    assert live.gate.headers[-1]["content-type"] == bodies.PARQUET


def test_a_file_object_is_sent_from_where_it_stands(curator: Client, order: str, tmp_path: Path) -> None:
    """By its name's ending, or by the media type that is given."""
    with written(tmp_path, "rows.csv", b"junk" + ROWS).open("rb") as file:
        file.seek(4)
        published = curator.upload(order, file)
    assert published.ingest is not None
    assert published.ingest.rows_read == 500


def test_progress_tells_of_every_byte(curator: Client, order: str, tmp_path: Path) -> None:
    """Bytes of the source so far, and of how many; compressed or not, the last call has them all."""
    reported: list[tuple[int, int | None]] = []
    rows = b"age,income\n" + b"1,2\n" * 200_000
    path = written(tmp_path, "rows.csv", rows)
    curator.upload(order, path, gzip=True, progress=lambda sent, total: reported.append((sent, total)))
    assert [sent for sent, _ in reported] == sorted(sent for sent, _ in reported)
    assert len(reported) > 2
    assert {total for _, total in reported} == {len(rows)}
    assert reported[-1][0] == len(rows)


def test_the_length_of_a_file_is_stated_and_its_rows_are_not(live: Live, curator: Client, tmp_path: Path) -> None:
    """Content-Length lets the service refuse early; a declared size is never derived from a file or a table."""
    for source in (written(tmp_path, "rows.csv", ROWS), FRAME):
        live.gate.headers.clear()
        release = curator.order(live.city, epsilon="0.1", clusters=4)
        assert set(release.plan.order["size"]) == {"estimate"}
        curator.upload(release.id, source)
        length = live.gate.headers[-1].get("content-length")
        assert length == (str(len(ROWS)) if isinstance(source, Path) else None)


def test_batches_stay_small() -> None:
    """A table of one large batch leaves in pieces that a server can hold, and all of it, each time it is read."""
    table = pa.table({"age": range(300_000)})
    body = bodies.body_of(table, media_type=None)
    assert max(len(piece) for piece in body.read()) < 2**20
    for _ in range(2):
        assert pa.ipc.open_stream(b"".join(body.read())).read_all() == table


@pytest.mark.parametrize(
    ("source", "media_type", "sentence"),
    [
        ("nowhere.csv", None, "no file"),
        (".", None, "not a file"),
        (ROWS, None, "give media_type"),
        (io.BytesIO(ROWS), None, "give media_type"),
        (io.StringIO("age,income\n"), CSV, "binary mode"),
        ({"age": [1]}, None, "Give a path"),
        (FRAME, CSV, "Arrow stream or as Parquet"),
        (pd.DataFrame([["CANARY", 1, 2]], columns=["age", "age", "income"]), None, "a name of its own"),
    ],
)
def test_what_cannot_be_sent_is_refused_in_words(
    curator: Client, order: str, source: Any, media_type: str | None, sentence: str
) -> None:
    """UnfitSource, with what to do, and without a value of the rows."""
    with pytest.raises(errors.UnfitSource, match=sentence) as refused:
        curator.upload(order, source, media_type=media_type)
    assert "CANARY" not in repr(refused.value) + repr(refused.value.__context__)
    assert curator.release(order).state == "ordered"


def test_a_file_without_a_telling_name_needs_its_media_type(curator: Client, order: str, tmp_path: Path) -> None:
    """No guess is made from the content."""
    file = written(tmp_path, "rows.txt", ROWS)
    with pytest.raises(errors.UnfitSource, match=r"rows\.txt"):
        curator.upload(order, file)
    assert curator.upload(order, file, media_type=CSV).state == "published"


def test_a_file_that_shrinks_on_the_way_is_not_published(curator: Client, order: str, tmp_path: Path) -> None:
    """Half of a file is no file."""
    file = written(tmp_path, "rows.csv", b"age,income\n" + b"1,2\n" * 200_000)

    def cut(sent: int, _total: int | None) -> None:
        if sent < 2**19:
            file.write_bytes(file.read_bytes()[: sent + 10])

    with pytest.raises(errors.UnfitSource, match="shorter"):
        curator.upload(order, file, progress=cut)
    assert curator.release(order).state == "ordered"
