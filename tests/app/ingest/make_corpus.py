"""Rewrites corpus/: small hostile inputs for the readers of Parquet. Run `python -m tests.app.ingest.make_corpus`.

A `.thrift` file is a struct of the compact protocol, a `.parquet` file a whole upload. Each claims far more than it
holds, or has no end. A file that a fuzzer finds belongs here too, by hand, under a name that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from app.ingest.thrift import I32, I64
from tests.app.ingest.bodies import parquet_body, table
from tests.app.ingest.hostile_parquet import (
    closed,
    encode,
    footer_of,
    headers_of,
    numbers_of,
    replaced,
    varint,
    with_header,
)

CORPUS = Path(__file__).with_name("corpus")
HUGE = 2**31 - 1


def thrift_inputs() -> Iterator[tuple[str, bytes]]:
    """Structs that a reader must refuse, by name."""
    most = varint(2**32 - 1)
    yield "list-of-four-billion-numbers", b"\x19\xf5" + most
    yield "list-of-four-billion-structs", b"\x19\xfc" + most + b"\x00" * 64
    yield "list-of-four-billion-truths", b"\x19\xf1" + most + b"\x01" * 64
    yield "set-of-four-billion-lists", b"\x1a\xf9" + most + b"\x05" * 64
    yield "binary-of-four-gigabytes", b"\x18" + most + b"abc"
    yield "number-without-end", b"\x16" + b"\xff" * 512
    yield "number-of-zeros-without-end", b"\x16" + b"\x80" * 512
    yield "length-wider-than-its-type", b"\x18" + varint(2**70) + b"abc"
    yield "structs-in-structs", b"\x1c" * 2_000
    yield "lists-in-lists", b"\x19" * 2_000
    yield "lists-and-structs-in-turn", b"\x19\x1c" * 1_000
    yield "map", b"\x1b\x01\x55\x00\x00\x00"
    yield "field-twice", b"\x15\x02\x05\x02\x04\x00"


def parquet_inputs() -> Iterator[tuple[str, bytes]]:
    """Files that a reader must refuse, by name: one number of the metadata replaced."""
    body = parquet_body(table(20), compression="none")
    footer, end = footer_of(body)
    pages = list(headers_of(body))
    for number, (start, length, header) in enumerate(pages[:2]):
        for path in numbers_of(header):
            if path[-1] in {(2, I32), (3, I32)} and len(path) == 1:
                name = "inflated" if path[-1][0] == 2 else "compressed"
                yield (
                    f"page-{number}-{name}-to-two-gigabytes",
                    with_header(body, start, length, replaced(header, path, HUGE)),
                )
    for path in numbers_of(footer):
        if path[-1] in {(5, I64), (7, I64)} and len(path) == 6 and path[3] != 1:  # the column between is not read
            group, column = path[1], path[3]
            name = "size" if path[-1][0] == 7 else "values"
            yield (
                f"chunk-{group}-{column}-{name}-beyond-the-file",
                closed(body[:end], replaced(footer, path, 2**40)),
            )
    yield "footer-longer-than-the-file", body[:-8] + (HUGE).to_bytes(4, "little") + b"PAR1"
    yield "footer-of-nothing", body[:end] + bytes(4) + b"PAR1"
    yield "footer-cut-off", closed(body[:end], footer)[: end + 20] + (20).to_bytes(4, "little") + b"PAR1"
    yield "row-groups-without-end", _with_footer(body[:end], b"\x49\xfc" + varint(2**32 - 1) + encode({}))


def _with_footer(pages: bytes, footer: bytes) -> bytes:
    return pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


if __name__ == "__main__":
    for kind, inputs in (("thrift", thrift_inputs()), ("parquet", parquet_inputs())):
        for name, data in inputs:
            (CORPUS / f"{name}.{kind}").write_bytes(data)
