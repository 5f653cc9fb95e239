"""The kinds of file that an upload may be, and the reader of each."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from enum import StrEnum

from app.ingest.arrow_reader import read_arrow
from app.ingest.batch import Batch
from app.ingest.byte_stream import capped, inflate
from app.ingest.csv_reader import read_csv
from app.ingest.errors import Cap
from app.ingest.limits import Limits
from app.ingest.ndjson_reader import read_ndjson
from app.ingest.parquet_reader import read_parquet


class MediaType(StrEnum):
    """What a body can be."""

    CSV = "text/csv"
    PARQUET = "application/vnd.apache.parquet"
    ARROW_STREAM = "application/vnd.apache.arrow.stream"
    NDJSON = "application/x-ndjson"


_READERS: dict[MediaType, Callable[[Iterable[bytes], tuple[str, ...], Limits], Generator[Batch]]] = {
    MediaType.CSV: read_csv,
    MediaType.PARQUET: read_parquet,
    MediaType.ARROW_STREAM: read_arrow,
    MediaType.NDJSON: read_ndjson,
}


def read_batches(
    chunks: Iterable[bytes], names: tuple[str, ...], *, media_type: MediaType, gzip: bool, limits: Limits
) -> Generator[Batch]:
    """The rows of a body: one column of values per attribute name, in that order."""
    body = capped(chunks, Cap.BYTES, limits.max_bytes)
    if gzip:
        body = capped(inflate(body), Cap.INFLATED_BYTES, limits.max_inflated_bytes)
    return _READERS[media_type](body, names, limits)
