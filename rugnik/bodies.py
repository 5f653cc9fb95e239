"""What can be uploaded: a path, a file object, bytes, or anything that speaks Arrow (pandas, polars, pyarrow).

Told apart by what they can do, so that no data library is imported that is not in use already.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rugnik.errors import UnfitSource
from rugnik.frames import batches, selected

CSV = "text/csv"
NDJSON = "application/x-ndjson"
PARQUET = "application/vnd.apache.parquet"
ARROW = "application/vnd.apache.arrow.stream"

_SUFFIXES = {
    ".csv": CSV,
    ".ndjson": NDJSON,
    ".jsonl": NDJSON,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".arrow": ARROW,
    ".arrows": ARROW,
}
Progress = Callable[[int, int | None], object]  # bytes of the source that are sent, and of how many if that is known

_PIECE = 2**18
_GZIP_WBITS = 31


@dataclass(frozen=True, slots=True)
class Body:
    """An upload: what it is, how to read it from its beginning, and how long it is where that is known.

    total       bytes of the source, for a progress bar
    length      bytes as sent, for Content-Length; None where they are compressed or made on the way
    replayable  whether `read` may be called again
    """

    media_type: str
    read: Callable[[], Iterator[bytes]]
    total: int | None = None
    length: int | None = None
    replayable: bool = True
    gzip: bool = False

    def headers(self) -> dict[str, str]:
        """The headers that tell a server what this is."""
        headers = {"Content-Type": self.media_type}
        if self.gzip:
            headers["Content-Encoding"] = "gzip"
        if self.length is not None:
            headers["Content-Length"] = str(self.length)
        return headers


def kind_of(name: str) -> tuple[str | None, bool]:
    """The media type that a file name promises, and whether it is compressed: 'rows.csv.gz' -> (text/csv, True)."""
    path = Path(name.lower())
    gzip = path.suffix == ".gz"
    return _SUFFIXES.get(path.with_suffix("").suffix if gzip else path.suffix), gzip


def body_of(source: Any, *, media_type: str | None, columns: Sequence[str] = ()) -> Body:
    """An upload from whatever was given; of a table in memory, `columns` alone where it has them all."""
    if isinstance(source, str | os.PathLike):
        return _of_path(Path(source), media_type)
    if isinstance(source, bytes):
        return _of_bytes(source, _required(media_type))
    if hasattr(source, "read"):
        return _of_file(source, media_type)
    return _of_frame(selected(source, columns), media_type or ARROW, columns)


def metered(body: Body, progress: Progress) -> Body:
    """The same upload, telling after each piece how many bytes of the source are gone, and of how many."""

    def read() -> Iterator[bytes]:
        sent = 0
        for piece in body.read():
            yield piece
            sent += len(piece)
            progress(sent, body.total)

    return replace(body, read=read)


def compressed(body: Body) -> Body:
    """The same upload, compressed on the way; what is compressed already stays as it is."""
    if body.gzip:
        return body
    return replace(body, read=lambda: _deflated(body.read()), length=None, gzip=True)


def _of_path(path: Path, media_type: str | None) -> Body:
    by_name, gzip = kind_of(path.name)
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        raise UnfitSource(f"{path} cannot be read: {error.strerror}.") from None
    if size is None:
        raise UnfitSource(f"{path} is not a file." if path.exists() else f"There is no file {path}.")

    def read() -> Iterator[bytes]:
        left = size
        try:
            with path.open("rb") as file:
                while left and (piece := file.read(min(_PIECE, left))):
                    left -= len(piece)
                    yield piece
        except OSError as error:
            raise UnfitSource(f"{path} cannot be read: {error.strerror}.") from None
        if left:
            raise UnfitSource(f"{path} became shorter while it was sent.")

    return Body(_required(media_type or by_name, path.name), read, total=size, length=size, gzip=gzip)


def _of_bytes(data: bytes, media_type: str) -> Body:
    def read() -> Iterator[bytes]:
        return (data[start : start + _PIECE] for start in range(0, len(data), _PIECE))

    return Body(media_type, read, total=len(data), length=len(data))


def _of_file(file: Any, media_type: str | None) -> Body:
    """From where the file stands now, to its end."""
    name = getattr(file, "name", None)
    by_name, gzip = kind_of(name) if isinstance(name, str) else (None, False)
    start = file.tell() if hasattr(file, "seekable") and file.seekable() else None

    def read() -> Iterator[bytes]:
        if start is not None:
            file.seek(start)
        while piece := file.read(_PIECE):
            if not isinstance(piece, bytes):
                raise UnfitSource("Open the file in binary mode, as in open(path, 'rb').")
            yield piece

    return Body(_required(media_type or by_name, "a file object"), read, replayable=start is not None, gzip=gzip)


def _required(media_type: str | None, source: str = "these bytes") -> str:
    if media_type is None:
        suffixes = ", ".join(sorted(_SUFFIXES))
        raise UnfitSource(f"What {source} holds is not told by a name ending in {suffixes}: give media_type.")
    return media_type


def _of_frame(table: Any, media_type: str, columns: Sequence[str]) -> Body:
    one_shot = hasattr(table, "read_next_batch") or hasattr(table, "__next__")
    if not hasattr(table, "__arrow_c_stream__"):
        raise UnfitSource("Give a path, a binary file, bytes, or a pandas, polars or pyarrow table.")
    try:
        import pyarrow as pa  # noqa: PLC0415 - needed for tables in memory alone
    except ImportError:
        return _without_pyarrow(table)
    if media_type == PARQUET:
        return _of_bytes(_parquet(batches(pa, table, columns)), PARQUET)
    if media_type != ARROW:
        raise UnfitSource("A table in memory is sent as an Arrow stream or as Parquet.")
    return Body(ARROW, lambda: _arrow_pieces(pa, batches(pa, table, columns)), replayable=not one_shot)


def _arrow_pieces(pa: Any, reader: Any) -> Iterator[bytes]:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            yield _drained(sink)
    yield _drained(sink)


def _drained(sink: io.BytesIO) -> bytes:
    data = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return data


def _parquet(reader: Any) -> bytes:
    from pyarrow.parquet import write_table  # noqa: PLC0415 - pyarrow is there, or this was not reached

    sink = io.BytesIO()
    write_table(reader.read_all(), sink, row_group_size=2**20)
    return sink.getvalue()


def _without_pyarrow(table: Any) -> Body:
    """polars and pandas write CSV by themselves, in which the service judges each value."""
    write = getattr(table, "write_csv", None)
    if write is None and not hasattr(table, "to_csv"):
        raise UnfitSource("Sending this table needs pyarrow: pip install pyarrow.")
    text = write() if write is not None else table.to_csv(index=False)
    return _of_bytes(text.encode(), CSV)


def _deflated(pieces: Iterable[bytes]) -> Iterator[bytes]:
    squeeze = zlib.compressobj(1, zlib.DEFLATED, _GZIP_WBITS)  # more would take longer than most networks do
    for piece in pieces:
        if made := squeeze.compress(piece):
            yield made
    yield squeeze.flush()
