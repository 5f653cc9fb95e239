"""A file and its receipt: every form of every sort of release verifies, and nothing that was changed does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.receipts.downloads import Form, UnfitFile
from app.receipts.verifying import verify
from core.canonical import canonical_json
from core.cells import DenseCells
from core.log.note import InvalidNote
from core.log.receipt import Receipt, header_of
from core.synopsis import Synopsis
from tests.support.receipts import CHARGED, PUBLISHED, TestLog, ledger_of
from tests.support.synopses import SORTS, asked, download, sort_of

LOG = TestLog.new()
FILES = [form for form in Form if form is not Form.BUNDLE]
TABLES = [Form.CSV, Form.PARQUET, Form.ARROW]
GRID, LISTED, OFFSETS, LAYERS = "dense", "thresholded, every kind of attribute", "offsets", "adaptive"
DIGEST = "The file gives the digest [0-9a-f]{16}…; the publish entry has [0-9a-f]{16}…."


def refusal(data: bytes, synopsis: Synopsis, receipt: Receipt | None = None, **options: Any) -> str:
    """The sentence with which a file is refused."""
    with pytest.raises((UnfitFile, InvalidNote)) as refused:
        verify(data, receipt or LOG.receipt_of(synopsis), LOG.policy, **options)
    return str(refused.value)


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("sort", SORTS)
def test_every_form_of_every_sort_of_release_verifies(sort: str, form: Form) -> None:
    """As the service writes it."""
    synopsis = sort_of(sort)
    verified = verify(download(synopsis, form), LOG.receipt_of(synopsis), LOG.policy)
    assert (verified.form, verified.facts.digest) == (form, synopsis.digest)


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("sort", SORTS)
def test_the_receipt_of_another_release_is_refused(sort: str, form: Form) -> None:
    """Whatever that one is, there is a sentence; with the same grid and other counts it is about the digest."""
    synopsis, names = sort_of(sort), list(SORTS)
    other = sort_of(names[names.index(sort) - 1])
    assert refusal(download(synopsis, form), synopsis, LOG.receipt_of(other)).endswith(".")
    if isinstance(synopsis.cells, DenseCells):
        other = replace(synopsis, release="r2", cells=DenseCells(synopsis.grid, synopsis.counts + 1))
        assert re.match(DIGEST, refusal(download(synopsis, form), synopsis, LOG.receipt_of(other)))


THREADS = """
import os, sys
from app.questions.formats import Format
from app.receipts.tables import read_table

data, threads = sys.stdin.buffer.read(), len(os.listdir("/proc/self/task"))
read_table(data, Format(sys.argv[1]))
print(len(os.listdir("/proc/self/task")) - threads)
"""


@pytest.mark.parametrize("form", TABLES)
def test_a_table_is_read_without_a_pool_of_threads(form: Form) -> None:
    """A pool that starts up while the command ends aborts it now and then. Arrow reads CSV with one thread beside."""
    command = [sys.executable, "-c", THREADS, form.value]
    done = subprocess.run(command, input=download(sort_of(GRID), form), check=True, stdout=subprocess.PIPE)
    assert int(done.stdout) <= (form is Form.CSV)


# --- tables: a cell of a table is edited, rows are swapped, columns and notes are changed


def table_of(data: bytes, form: Form) -> pa.Table:
    """The table of a Parquet or Arrow file."""
    return pyarrow.parquet.read_table(BytesIO(data)) if form is Form.PARQUET else pa.ipc.open_stream(data).read_all()


def file_of(table: pa.Table, form: Form) -> bytes:
    """The other way."""
    sink = BytesIO()
    if form is Form.PARQUET:
        pyarrow.parquet.write_table(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


def edited(synopsis: Synopsis, form: Form, column: str, row: int, value: Any) -> bytes:
    """A file with another value in one place; None takes the value of the next row."""
    data = download(synopsis, form)
    if form is Form.CSV:
        lines = [line.split(",") for line in data.decode().split("\n")]
        place = lines[0].index(f'"{column}"')
        lines[row][place] = lines[row + 1][place] if value is None else str(value)
        return "\n".join(map(",".join, lines)).encode()
    table = table_of(data, form)
    place = table.column_names.index(column)
    values = table.column(place).to_pylist()
    values[row - 1] = values[row] if value is None else value
    return file_of(table.set_column(place, table.field(place), pa.array(values, table.field(place).type)), form)


def swapped(synopsis: Synopsis, form: Form, row: int) -> bytes:
    """A file in which a row and the next one have changed places."""
    data = download(synopsis, form)
    if form is Form.CSV:
        lines = data.split(b"\n")
        lines[row], lines[row + 1] = lines[row + 1], lines[row]
        return b"\n".join(lines)
    table = table_of(data, form)
    order = list(range(table.num_rows))
    order[row - 1], order[row] = order[row], order[row - 1]
    return file_of(table.take(order), form)


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("sort", [GRID, LISTED, OFFSETS, LAYERS])
def test_an_edited_count_is_refused(sort: str, form: Form) -> None:
    """By the digest: nobody can say which count it was."""
    sentence = refusal(edited(sort_of(sort), form, "count", 3, 77), sort_of(sort))
    assert re.match(DIGEST, sentence)


@pytest.mark.parametrize("form", TABLES)
def test_an_edited_sum_of_offsets_is_refused(form: Form) -> None:
    """By the digest, too."""
    assert re.match(DIGEST, refusal(edited(sort_of(OFFSETS), form, "age_offsets", 3, 5), sort_of(OFFSETS)))


BOXES: dict[str, tuple[str, str, Any, str]] = {
    "a lower end": (GRID, "x_lower", 1.25, r"Row 3 differs: its 'x_lower' is 1\.25; that of the release is (0|0\.0)\."),
    "an upper end": (GRID, "x_upper", 9.5, r"Row 3 differs: its 'x_upper' is 9\.5; that of the release is 3\.25\."),
    "an end that no cell has": (LISTED, "age_lower", 1.25, "Row 3 is no cell of the release: .* 'age_lower'."),
    "an upper end of a listed cell": (LISTED, "age_upper", 1.25, r"Row 3 differs: its 'age_upper' is 1\.25; .*"),
    "an end of a layer": (LAYERS, "x_lower", 1.25, r"Row 3 differs: its 'x_lower' is 1\.25; .*"),
    "the name of a layer": (
        LAYERS,
        "layer",
        "leaf",
        "Row 3 differs: its 'layer' is leaf; that of the release is base.",
    ),
    "an estimate": (LAYERS, "estimate", 7.5, r"Row 3 differs: its 'estimate' is 7\.5; .*"),
    "the sd of noise": (LAYERS, "noise_sd", 7.5, r"Row 3 differs: its 'noise_sd' is 7\.5; .*"),
}


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("case", BOXES)
def test_an_edited_box_or_estimate_is_refused_with_its_row(case: str, form: Form) -> None:
    """The counts are the published ones, so that only writing the file again shows it."""
    sort, column, value, sentence = BOXES[case]
    assert re.fullmatch(sentence, refusal(edited(sort_of(sort), form, column, 3, value), sort_of(sort)))


@pytest.mark.parametrize("form", TABLES)
def test_the_box_of_another_cell_is_out_of_order_or_gives_another_digest(form: Form) -> None:
    """An edited category that is one of the release."""
    sentence = refusal(edited(sort_of(LISTED), form, "count_2", 3, "m"), sort_of(LISTED))
    assert re.match(f"Row [34] is out of order|{DIGEST}", sentence)


@pytest.mark.parametrize("form", TABLES)
def test_rows_that_changed_places_are_refused_with_the_row(form: Form) -> None:
    """Of listed cells by their order; of a grid by the digest, with the row whose box is not where it should be."""
    assert refusal(swapped(sort_of(LISTED), form, 4), sort_of(LISTED)).startswith("Row 5 is out of order")
    sentence = refusal(swapped(sort_of(GRID), form, 4), sort_of(GRID))
    assert re.match(DIGEST, sentence)
    assert "Row 4 differs" in sentence


@pytest.mark.parametrize("sort", [GRID, LISTED, LAYERS])
@pytest.mark.parametrize("form", TABLES)
def test_a_row_less_or_more_is_refused(sort: str, form: Form) -> None:
    """The last one left out, or there twice."""
    data, synopsis = download(sort_of(sort), form), sort_of(sort)
    if form is Form.CSV:
        changed = [b"\n".join(data.split(b"\n")[:-2]) + b"\n", data + data.split(b"\n")[-2] + b"\n"]
    else:
        table = table_of(data, form)
        changed = [file_of(table.slice(0, table.num_rows - 1), form)]
        changed += [file_of(pa.concat_tables([table, table.slice(table.num_rows - 1)]), form)]
    for each in changed:
        assert re.match(f"The file has .* rows; the release has|Row .* out of order|{DIGEST}", refusal(each, synopsis))


@pytest.mark.parametrize("form", [Form.PARQUET, Form.ARROW])
def test_what_a_table_says_of_itself_is_compared(form: Form) -> None:
    """Names and types of columns, and the notes in the schema; what pandas adds does not count."""
    synopsis = sort_of(LISTED)
    table = table_of(download(synopsis, form), form)
    notes = table.schema.metadata
    renamed = table.rename_columns(["alter", *table.column_names[1:]])
    assert (
        refusal(file_of(renamed, form), synopsis) == "The file has a column 'alter' where the release has 'age_lower'."
    )
    narrow = table.set_column(0, "age_lower", table.column(0).cast(pa.float32()))
    assert "type float; in a download it has double" in refusal(file_of(narrow, form), synopsis)
    other = file_of(table.replace_schema_metadata(notes | {b"threshold": b"3"}), form)
    assert refusal(other, synopsis) == "The file says something else about its 'threshold' than the release."
    assert "columns; a download of this release has" in refusal(file_of(table.drop_columns("count"), form), synopsis)
    fractions = table.set_column(table.column_names.index("count"), "count", table.column("count").cast(pa.float64()))
    assert "no whole number" in refusal(file_of(fractions, form), synopsis)
    from_pandas = file_of(table.replace_schema_metadata(notes | {b"pandas": b"{}"}), form)
    verify(from_pandas, LOG.receipt_of(synopsis), LOG.policy)


def test_csv_is_compared_byte_for_byte() -> None:
    """Other line ends, a name of a column, text for a number: each with a sentence."""
    synopsis = sort_of(LISTED)
    data = download(synopsis, Form.CSV)
    assert "not written as the service writes it, in line 1" in refusal(data.replace(b"\n", b"\r\n"), synopsis)
    assert "not written as the service writes it" in refusal(data + b"\n", synopsis)
    assert "a column 'alter'" in refusal(data.replace(b'"age_lower"', b'"alter"'), synopsis)
    assert "no whole number" in refusal(edited(synopsis, Form.CSV, "count", 2, "many"), synopsis)
    assert "cannot be read as csv" in refusal(b"", synopsis)
    assert "cannot be read as csv" in refusal(b"\xff\xfe", synopsis)


def test_an_estimate_that_another_processor_rounds_otherwise_is_the_same() -> None:
    """In its last digits; a box has no such leeway."""
    synopsis = sort_of(LAYERS)
    table = table_of(download(synopsis, Form.PARQUET), Form.PARQUET)
    column = table.column_names.index("estimate")
    values = [None if value is None else value * (1 + 1e-14) for value in table.column(column).to_pylist()]
    rounded = table.set_column(column, "estimate", pa.array(values, pa.float64()))
    verify(file_of(rounded, Form.PARQUET), LOG.receipt_of(synopsis), LOG.policy)


# --- JSON


def answer_of(sort: str) -> dict[str, Any]:
    """The JSON of a download."""
    answer: dict[str, Any] = json.loads(download(sort_of(sort), Form.JSON))
    return answer


def with_field(answer: dict[str, Any], path: tuple[str | int, ...], value: Any) -> bytes:
    """The JSON with another value in one place."""
    inner: Any = answer
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return json.dumps(answer).encode()


FIELDS: dict[str, tuple[str, tuple[str | int, ...], Any, str]] = {
    "an edge": (
        GRID,
        ("attributes", 0, "edges", 1),
        3.5,
        r"attributes\[0\]\.edges\[1\] is 3\.5; that of the .* 3\.25\.",
    ),
    "another release": (GRID, ("release",), "r2", 'release is "r2"; that of the release is "r1".'),
    "the epsilon": (GRID, ("epsilon",), "0.1", 'epsilon is "0.1"; that of the release is "1".'),
    "a field more": (GRID, ("sponsor",), "us", "sponsor is there, and not in the release."),
    "the digest": (LISTED, ("synopsis_digest",), "0" * 64, 'synopsis_digest is "0+".*'),
    "a reach": (LISTED, ("reach", "all"), 1.5, r"reach\.all is 1\.5; .*"),
    "the level": (LISTED, ("parameters", "level"), 0.5, r"parameters\.level|reach\.level is 0\.9; .*"),
    "a level that is none": (LISTED, ("parameters", "level"), "high", r"parameters\.level is no level\."),
    "a level beyond": (LISTED, ("parameters", "level"), 0.9999999999, ".*"),
    "fewer labels": (LISTED, ("attributes", 1, "labels"), [], r"attributes\[1\]\.labels has 0 values; .* 7\."),
    "an end of a layer": (LAYERS, ("layers", "leaf", "lower", 0, 2), 5, r"layers\.leaf\.lower\[0\]\[2\] is 5; .*"),
    "a part": (GRID, ("slice",), {"x": "0..1"}, "The file is of a part of the release: only the whole can be checked."),
    "merged leaves": (LAYERS, ("parameters", "cells"), 3, "The file is of a part of the release: .*"),
    "another question": (GRID, ("question",), "count", "The file is no synopsis: .*"),
    "a count that is true": (GRID, ("counts", 0), True, "The file does not have the whole numbers .*"),
    "a count too large": (GRID, ("counts", 0), 2**70, "The file does not have the whole numbers .*"),
    "no counts": (GRID, ("counts",), None, "The file does not have the whole numbers .*"),
    "a count": (GRID, ("counts", 0), 99, DIGEST + ".*"),
    "the number of a cell": (LISTED, ("cells", 0), 0, DIGEST + ".*"),
    "a sum of offsets": (OFFSETS, ("offsets", "sums", 0, 0), 1, DIGEST + ".*"),
    "a count of a coarse cell": (LAYERS, ("layers", "coarse", "counts", 0), 1, DIGEST + ".*"),
    "the counts beside the layers": (LAYERS, ("counts", 0), 1, r"counts\[0\] is 1; .*"),
}


@pytest.mark.parametrize("case", FIELDS)
def test_an_edited_field_of_json_is_refused_with_its_path(case: str) -> None:
    """Whatever it is."""
    sort, path, value, sentence = FIELDS[case]
    assert re.fullmatch(sentence, refusal(with_field(answer_of(sort), path, value), sort_of(sort)))


def test_a_field_less_is_refused_and_another_layout_is_not() -> None:
    """`rugnik query synopsis --json` writes the same values with spaces."""
    answer = answer_of(GRID)
    verify(json.dumps(answer, indent=2).encode(), LOG.receipt_of(sort_of(GRID)), LOG.policy)
    del answer["mechanism"]
    assert refusal(json.dumps(answer).encode(), sort_of(GRID)) == "mechanism is missing."
    assert "cannot be read as JSON" in refusal(b"{", sort_of(GRID))


def test_a_file_of_a_part_is_not_the_release() -> None:
    """It has fewer rows, and says so."""
    synopsis = sort_of(GRID)
    for form in TABLES:
        part = asked(synopsis, form, where=("x:..3.25",))
        assert re.match(f"The file has 3 rows; the release has 12 cells|{DIGEST}", refusal(part, synopsis))


# --- the receipt, the header, the card


HEADERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "clusters": lambda header: header | {"clusters": 4},
    "domain": lambda header: header | {"domain": [["x", 0.0, 14.0], *header["domain"][1:]]},
    "size": lambda header: header | {"size": 1},
    "a grid that is none": lambda header: header | {"grid": {}},
}


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("case", HEADERS)
def test_another_header_is_refused(case: str, form: Form) -> None:
    """Nothing signs the header by itself: the digest over header and counts does."""
    synopsis = sort_of(GRID)
    magic, line, _ = header_of(synopsis.to_bytes()).split("\n")
    header = f"{magic}\n{canonical_json(HEADERS[case](json.loads(line))).decode()}\n"
    receipt = LOG.receipt(ledger_of(synopsis), CHARGED, PUBLISHED, header)
    sentence = refusal(download(synopsis, form), synopsis, receipt)
    assert re.match(f"The header in the receipt|{DIGEST}", sentence)


@pytest.mark.parametrize("sort", [GRID, LAYERS])
def test_a_changed_synopsis_is_refused(sort: str) -> None:
    """Any bit of the canonical bytes."""
    data = bytearray(sort_of(sort).to_bytes())
    data[-1] ^= 1
    assert re.match(DIGEST, refusal(bytes(data), sort_of(sort)))


TEXT = str(LOG.receipt_of(sort_of(GRID))).encode()
BYTES = sort_of(GRID).to_bytes()


@given(st.integers(0, len(TEXT) - 1), st.integers(1, 255))
def test_no_byte_of_a_receipt_can_be_flipped(place: int, change: int) -> None:
    """With the file in hand, the header is bound as well: every byte counts."""
    flipped = bytearray(TEXT)
    flipped[place] ^= change
    with pytest.raises((InvalidNote, UnfitFile, UnicodeDecodeError)):
        verify(BYTES, Receipt.parse(flipped.decode()), LOG.policy)


def test_the_card_is_the_one_that_the_publish_names() -> None:
    """Another one is refused, and so is any where the publish names none."""
    synopsis, card = sort_of(GRID), b'{"a":1}'
    receipt = LOG.receipt_of(synopsis, card=sha256(card).hexdigest())
    data = synopsis.to_bytes()
    assert verify(data, receipt, LOG.policy, card=card).card_checked
    assert not verify(data, receipt, LOG.policy).card_checked
    assert "is not the one that the publish entry names" in refusal(data, synopsis, receipt, card=b"{}")
    assert "names no release card" in refusal(data, synopsis, card=card)


def test_progress_is_told_to_the_end() -> None:
    """Rows done, of rows in all."""
    told: list[tuple[int, int]] = []
    synopsis = sort_of(LISTED)
    verify(
        download(synopsis, Form.ARROW),
        LOG.receipt_of(synopsis),
        LOG.policy,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told[-1] == (len(synopsis.counts), len(synopsis.counts))
