"""Rows that can be recognised in any form they might be left behind in, as files of every kind that is read."""

from __future__ import annotations

import gzip
import io
import json
import struct
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

AGE, INCOME = 31.41592653589, 271.8281828459  # bounds as in tests.support.service.api: 0..100 and 0..1000
TEXT, COLUMN = "CANARY-7f3a", "CANARYCOLUMN-9c1d"


def _fixed(value: float, upper: float) -> int:
    """A value as a record holds it: 32-bit fixed point (DESIGN.md, "Counting")."""
    scaled = value / upper * 2**32
    return int(scaled) + (scaled % 1 > 0)


_RECORD = _fixed(AGE, 100), _fixed(INCOME, 1000)
FORMS = {
    "text": TEXT.encode(),
    "text in UTF-16": TEXT.encode("utf-16-le"),
    "column": COLUMN.encode(),
    "age in decimals": b"31.4159",
    "income in decimals": b"271.8281",
    "age as a double": struct.pack("<d", AGE),
    "age as a double, big end first": struct.pack(">d", AGE),
    "income as a double": struct.pack("<d", INCOME),
    "income as a double, big end first": struct.pack(">d", INCOME),
    "record": struct.pack("<II", *_RECORD),
    "record, big end first": struct.pack(">II", *_RECORD),
}


def traces(data: bytes | str) -> list[str]:
    """The forms that a text or a file contains."""
    data = data.encode() if isinstance(data, str) else data
    return [form for form, sought in FORMS.items() if sought in data]


def traces_in(folder: Path) -> dict[str, list[str]]:
    """The files in and below a folder that contain a canary, by content or by name."""
    forms_by_path = {str(path): traces(str(path.name)) for path in folder.rglob("*")}
    for path in folder.rglob("*"):
        if path.is_file():
            forms_by_path[str(path)] += traces(path.read_bytes())
    return {path: forms for path, forms in forms_by_path.items() if forms}


def csv(rows: int) -> bytes:
    """Good rows, bad rows, and a column that is not asked for."""
    bad = f'{TEXT},{INCOME},{TEXT}\n{AGE}\n{AGE},{INCOME},{TEXT},{TEXT}\n"{AGE},{INCOME},{TEXT}\n'
    return f"age,{COLUMN},income\n{bad}".encode() + f"{AGE},{TEXT},{INCOME}\n".encode() * rows


def ndjson(rows: int) -> bytes:
    """Good rows, bad rows, and a field that is not asked for."""
    good = json.dumps({"age": AGE, "income": INCOME, COLUMN: TEXT})
    bad = json.dumps({"age": TEXT, "income": INCOME}) + "\n" + good[:-5] + "\n" + TEXT + "\n"
    return bad.encode() + f"{good}\n".encode() * rows


def _table(rows: int) -> pa.Table:
    return pa.table({"age": [AGE] * rows + [None], COLUMN: [TEXT] * (rows + 1), "income": [INCOME] * (rows + 1)})


def parquet(rows: int) -> bytes:
    """Good rows, one without a value, and a column that is not asked for; nothing compressed."""
    return _parquet(_table(rows))


def _parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, compression="NONE", use_dictionary=False)
    return file.getvalue()


def arrow(rows: int) -> bytes:
    """The same as an Arrow stream."""
    file = io.BytesIO()
    table = _table(rows)
    with pyarrow.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2**16)
    return file.getvalue()


CSV = {"Content-Type": "text/csv"}
NDJSON = {"Content-Type": "application/x-ndjson"}
PARQUET = {"Content-Type": "application/vnd.apache.parquet"}
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}
GZIP = {"Content-Encoding": "gzip"}

FILES: dict[str, tuple[Callable[[int], bytes], dict[str, str]]] = {
    "CSV": (csv, CSV),
    "NDJSON": (ndjson, NDJSON),
    "Parquet": (parquet, PARQUET),
    "Arrow": (arrow, ARROW),
    "CSV in gzip": (lambda rows: gzip.compress(csv(rows), 1), CSV | GZIP),
}

# Files that cannot be taken, each for a reason of its own.
UNFIT: dict[str, tuple[bytes, dict[str, str]]] = {
    "CSV without the columns": (csv(9).replace(b"age", TEXT.encode(), 1), CSV),
    "CSV with a column twice": (csv(9).replace(COLUMN.encode(), b"age", 1), CSV),
    "CSV with an open quote in its header": (b'"' + csv(9), CSV),
    "CSV with a header too long": (COLUMN.encode() * 5000 + csv(9), CSV),
    "CSV said to be gzip": (csv(9), CSV | GZIP),
    "gzip cut short": (gzip.compress(csv(2000))[:-20], CSV | GZIP),
    "gzip with more after its end": (gzip.compress(csv(9)) + csv(9), CSV | GZIP),
    "Parquet cut short": (parquet(9)[:-10], PARQUET),
    "Parquet with a damaged footer": (parquet(9)[:-40] + b"\xff" * 32 + parquet(9)[-8:], PARQUET),
    "CSV said to be Parquet": (csv(9), PARQUET),
    "Parquet without the columns": (_parquet(_table(9).drop(["age"])), PARQUET),
    "Parquet with lists for numbers": (_parquet(pa.table({"age": [[TEXT]], "income": [[TEXT]]})), PARQUET),
    "Arrow cut short": (arrow(2000)[:-500], ARROW),
    "Arrow without the columns": (arrow(9).replace(b"income", b"incom_"), ARROW),
    "CSV said to be Arrow": (csv(9), ARROW),
    "CSV said to be something else": (csv(9), {"Content-Type": f"text/{TEXT}"}),
}
