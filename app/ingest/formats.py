"""The table of upload formats. Everything that depends on the format of a file reads it from here.

To add a format, write its reader, add a member to `MediaType` and a line to `FORMATS`, and add its suffixes to
`rugnik.bodies` (the client does not import the server; a test compares the two). The HTTP routes, the OpenAPI document
and the dashboard's file chooser follow. The tests of this package are parametrised over `MediaType`, so they need a
writer for the new format and then run for it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from enum import StrEnum

from app.ingest.arrow_reader import read_arrow
from app.ingest.batch import Batch, Wanted
from app.ingest.byte_stream import capped, inflate
from app.ingest.csv_reader import read_csv
from app.ingest.errors import Cap
from app.ingest.limits import Limits
from app.ingest.local_file import LocalFile
from app.ingest.ndjson_reader import read_ndjson
from app.ingest.parquet_reader import read_parquet, read_seekable_parquet

Reader = Callable[[Iterable[bytes], Wanted, Limits], Generator[Batch]]


class MediaType(StrEnum):
    """Content-Type of an upload."""

    CSV = "text/csv"
    PARQUET = "application/vnd.apache.parquet"
    ARROW_STREAM = "application/vnd.apache.arrow.stream"
    NDJSON = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Format:
    """An upload format.

    title     its name, for people
    suffixes  endings of file names that stand for it; each may be followed by .gz
    read      (chunks of the body, wanted columns, limits) -> batches of rows
    is_held   whether `read` holds the body until its end has come, up to `Limits.buffer_bytes` of it in memory
    """

    title: str
    suffixes: tuple[str, ...]
    read: Reader
    is_held: bool = False


# In the order in which the dashboard offers them; the first is its choice for a file name with another ending.
FORMATS = {
    MediaType.CSV: Format("CSV", (".csv",), read_csv),
    MediaType.NDJSON: Format("NDJSON", (".ndjson", ".jsonl"), read_ndjson),
    MediaType.PARQUET: Format("Parquet", (".parquet", ".pq"), read_parquet, is_held=True),
    MediaType.ARROW_STREAM: Format("Arrow stream", (".arrow", ".arrows"), read_arrow),
}


def holds_body(chunks: Iterable[bytes] | LocalFile, *, media_type: MediaType, gzip: bool) -> bool:
    """Whether `read_batches` takes up to `Limits.buffer_bytes` of memory to hold such a body."""
    is_read_in_place = isinstance(chunks, LocalFile) and not gzip
    return FORMATS[media_type].is_held and not is_read_in_place


def read_batches(
    chunks: Iterable[bytes] | LocalFile, wanted: Wanted, *, media_type: MediaType, gzip: bool, limits: Limits
) -> Generator[Batch]:
    """Yield the rows of a body: `Batch.columns` has one column for each attribute, in their order.

    A LocalFile of Parquet is read where it lies, any other body from its first byte to its last. Raises IngestError,
    also for a body that is larger than the limits, as sent or after gzip.
    """
    if isinstance(chunks, LocalFile):
        if media_type is MediaType.PARQUET and not gzip:
            return read_seekable_parquet(chunks, wanted, limits)
        chunks = chunks.chunks()
    body = capped(chunks, Cap.BYTES, limits.max_bytes)
    if gzip:
        body = capped(inflate(body), Cap.INFLATED_BYTES, limits.max_inflated_bytes)
    return FORMATS[media_type].read(body, wanted, limits)
