"""The upload formats that are damaged, and the body of each trial: the same for the same format and number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.ingest.counts_stream import MEDIA_TYPE as COUNTS
from app.ingest.formats import MediaType
from torture.fuzzing import texts
from torture.fuzzing.arrow_streams import arrow
from torture.fuzzing.damage import Chance
from torture.fuzzing.gzips import gzipped
from torture.fuzzing.parquet_files import parquet

FILES: Mapping[str, tuple[MediaType, Callable[[Chance], bytes]]] = {
    "csv": (MediaType.CSV, texts.csv),
    "ndjson": (MediaType.NDJSON, texts.ndjson),
    "parquet": (MediaType.PARQUET, parquet),
    "arrow": (MediaType.ARROW_STREAM, arrow),
}
GZIP, COUNTED = "gzip", "counts"
FORMATS = (*FILES, GZIP, COUNTED)


@dataclass(frozen=True, slots=True)
class Sent:
    """A body and what its request says of it."""

    content: bytes
    headers: Mapping[str, str]


def sent(name: str, number: int) -> Sent:
    """The trial of this number, of any format but COUNTED, whose streams name the release that they are for."""
    chance = Chance(f"{name}/{number}")
    if name != GZIP:
        return Sent(FILES[name][1](chance), headers(name))
    within = chance.choice(list(FILES))
    return Sent(gzipped(FILES[within][1](chance)[: 2**18], chance), headers(f"{within}+{GZIP}"))


def headers(name: str) -> dict[str, str]:
    """What a request says of a body of this format, such as csv, counts or csv+gzip."""
    within, _, encoding = name.partition("+")
    kind = COUNTS if within == COUNTED else str(FILES[within][0])
    return {"Content-Type": kind} | ({"Content-Encoding": encoding} if encoding else {})
