"""`rugnik init`: a schema file to fill in, from the names and types of a file's columns. No row is looked at.

Parquet and Arrow files have typed columns, and their schema says so. A CSV file has a header of names alone. Metadata
by the CSV on the Web standard (a file `rows.csv-metadata.json` beside `rows.csv`) may state types and bounds; what it
states is taken over, because it was written for the public and not computed from the rows.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli.curator import FileArgument
from app.cli.exits import Code, fail
from app.cli.header import advice, header_names, holds_values, separated
from app.cli.output import note
from app.cli.schema import fields_of, stem

_HEAD = """\
# What to register before {file} is released. Everything here becomes public.
# State what is known without looking at the rows: a minimum or a maximum of the data is a value of somebody's row.
# Delete the attributes that are not needed: every one of them costs accuracy.

name = {name}
description = ""
# The most epsilon that may ever be spent on these people, such as "2.0".
budget = ""

# Whose presence is protected: one row, or a person who may have several.
[unit]
kind = "record"
# kind = "person"
# column = "patient"   # the column of the persons' ids
# max_rows = 3         # the most rows that are counted of each person

# For the card of its releases: what a reader should know. Texts that stay empty read "not stated".
[about]
{about}"""
_WHOLE = '# If all of its values are whole, declare kind = "integer": its cells then never cut a value.\n'
_EXAMPLES = """\
# A category in place of a number: kind = "category", and values = ["f", "m", "x"] in place of lower and upper.
# A date: kind = "date", lower = "2026-01-01", upper = "2026-12-31".
"""
_CSVW = {
    "integer": "integer", "int": "integer", "long": "integer", "short": "integer", "byte": "integer",
    "nonNegativeInteger": "integer", "positiveInteger": "integer", "number": "number", "double": "number",
    "float": "number", "decimal": "number", "date": "date", "dateTime": "datetime", "datetime": "datetime",
    "dateTimeStamp": "datetime", "boolean": "category", "string": "category",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the file: its name, the kind that its type suggests, if it has one, and fields stated elsewhere."""

    name: str
    kind: str | None = None
    stated: Mapping[str, Any] = field(default_factory=dict)


def init(
    file: FileArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write it.", show_default="FILE's name with .toml")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a schema file to fill in, from the names and types of the columns. No row is looked at.

    Bounds and values are left to you: they become public, so they must not
    come from the rows.

    \b
    Example:
      rugnik init examples/bike-trips.csv -o draft.toml
    """
    target = output or file.with_name(stem(file) + ".toml")
    if target.exists() and not force:
        fail(f"{target} is there already; --force writes over it.", Code.USAGE)
    columns = columns_of(file)
    if not columns:
        fail(f"{file} names no columns.", Code.UNFIT_FILE)
    target.write_text("".join(_draft(file, columns)), encoding="utf-8")
    note(f"Written to {target}: fill in bounds and budget, then 'rugnik check {file} --schema {target}'.")


def columns_of(file: Path) -> list[Column]:
    """Names and types of a file's columns, with what metadata beside it states; ends the command if there are none."""
    from rugnik.bodies import ARROW, CSV, PARQUET, kind_of

    if not file.is_file():
        fail(f"{file} is not a file." if file.exists() else f"There is no file {file}.", Code.UNFIT_FILE)
    media_type, gzip = kind_of(file.name)
    if media_type == CSV:
        stated = _csvw(file)
        return [stated.get(name, Column(name)) for name in _header(file, gzip=gzip)]
    if gzip or media_type not in (PARQUET, ARROW):
        readable = f"{file}: init reads the columns of .csv, .csv.gz, .parquet and .arrow files."
        fail("\n".join([*advice(file, []), readable]), Code.USAGE)
    return typed_columns(file, is_parquet=media_type == PARQUET)


def _header(file: Path, *, gzip: bool) -> list[str]:
    """The names in the first line."""
    try:
        names = header_names(file, gzip=gzip)
    except (OSError, UnicodeDecodeError, csv.Error):
        advised = advice(file, [])
        fail(
            "\n".join([f"{file}: its first line, which should name the columns, cannot be read.", *advised]),
            Code.UNFIT_FILE,
        )
    if len(names) == 1 and (otherwise := separated(names[0])):
        fail(f"{file}: {otherwise}", Code.UNFIT_FILE)
    if holds_values(names):
        fail(f"{file}: its first line holds values. It must name the columns.", Code.UNFIT_FILE)
    return names


def typed_columns(file: Path, *, is_parquet: bool) -> list[Column]:
    """The columns of a Parquet file or an Arrow stream; ends the command where the file is neither."""
    import pyarrow as pa
    import pyarrow.ipc
    import pyarrow.parquet

    try:
        with file.open("rb") as source:
            schema = pa.parquet.read_schema(source) if is_parquet else pa.ipc.open_stream(source).schema
    except (pa.ArrowInvalid, OSError):
        fail(f"{file} is not a file of its kind.", Code.UNFIT_FILE)
    return [Column(each.name, _kind(each.type)) for each in schema]


def _kind(kind: Any) -> str:
    """The kind that a column's type suggests."""
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_timestamp(kind):
        return "datetime"
    is_number = pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
    return "number" if is_number else "category"


def _csvw(file: Path) -> dict[str, Column]:
    """What CSV on the Web metadata beside a file states of its columns, by name."""
    path = file.with_name(file.name.removesuffix(".gz") + "-metadata.json")
    if not path.is_file():
        return {}
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))["tableSchema"]
        columns = [_csvw_column(column) for column in schema["columns"]]
    except (AttributeError, KeyError, TypeError, ValueError):
        fail(f"{path} is no CSV on the Web metadata with a tableSchema.", Code.UNFIT_FILE)
    note(f"Types and bounds from {path.name}.")
    return {column.name: column for column in columns}


def _csvw_column(column: Mapping[str, Any]) -> Column:
    datatype = column.get("datatype", "string")
    facets = datatype if isinstance(datatype, dict) else {"base": datatype}
    titles = column.get("titles")
    name = column["name"] if titles is None else titles if isinstance(titles, str) else column["name"]
    ends = {
        "lower": facets.get("minimum", facets.get("minInclusive")),
        "upper": facets.get("maximum", facets.get("maxInclusive")),
    }
    stated = {end: value for end, value in ends.items() if value is not None}
    return Column(str(name), _CSVW.get(facets.get("base", "string"), "category"), stated)


def _draft(file: Path, columns: list[Column]) -> Iterator[str]:
    from rugnik.wire.about import TITLES
    from rugnik.wire.kinds import KINDS

    about = "".join(f'{name} = ""   # {title}\n' for name, title in TITLES.items())
    yield _HEAD.format(file=file.name, name=json.dumps(stem(file)), about=about)
    yield "\n# The kinds of attributes:\n"
    yield from (f"#   {kind}: {words.meaning}\n" for kind, words in KINDS.items())
    yield '# Any attribute may have missing = "keep": then missing and unreadable values have a cell of their own.\n'
    if not all(column.kind for column in columns):
        yield _EXAMPLES
    for column in columns:
        kind = column.kind or "number"
        others = "" if column.kind else f"   # or {', '.join(other for other in KINDS if other != kind)}"
        yield f"\n[[attributes]]\nname = {json.dumps(column.name)}\nkind = {json.dumps(kind)}{others}\n"
        if kind == "number":
            yield _WHOLE
        for wanted in fields_of(kind):
            if wanted in column.stated:
                yield f"{wanted} = {json.dumps(column.stated[wanted])}\n"
            else:
                yield f"# {wanted} = \n"
