"""Files that a catalogue lists for a release, each with its SHA-256."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import pyarrow as pa

from app.cards.card import SUBJECT, Card
from app.questions import synopsis
from app.questions.files import writing
from app.questions.formats import Format
from app.questions.prepared import Prepared
from app.questions.spreadsheets import as_text
from core.checkpoint import Checkpoint, carry_on


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, and the type of its values in the words of schema.org."""

    name: str
    data_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file: its name, where it is (relative to the catalogue's own address), its kind and its SHA-256."""

    name: str
    url: str
    media_type: str
    sha256: str
    description: str
    columns: tuple[Column, ...] = ()


def synopsis_file(card: Card) -> File:
    """The canonical bytes of the synopsis, as a file beside the catalogue. Their SHA-256 is the one in the ledger."""
    return File(
        name=SUBJECT,
        url=SUBJECT,
        media_type="application/octet-stream",
        sha256=card.synopsis_digest,
        description="The noisy histogram in its canonical bytes. Their SHA-256 is in the ledger.",
    )


def csv_file(prepared: Prepared, checkpoint: Checkpoint = carry_on) -> File:
    """The CSV file of `GET …/synopsis?format=csv`. It is written once to be hashed, piece by piece, and not kept."""
    release = prepared.synopsis.release
    question = synopsis.synopsis(0.95, Format.CSV)
    digest = sha256()
    for piece in synopsis.in_pieces(question, prepared, Format.CSV):
        digest.update(piece)
        checkpoint()
    schema = next(writing.cells(prepared.histogram, Format.CSV, {})).schema
    return File(
        name=f"{release}-synopsis.csv",
        url=f"/v1/releases/{release}/synopsis?format=csv",
        media_type=Format.CSV.media_type,
        sha256=digest.hexdigest(),
        description="The noisy histogram: a row for each released cell, with its bounds and its noisy count.",
        columns=tuple(Column(as_text(field.name), _data_type(field.type)) for field in schema),
    )


def _data_type(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "sc:Integer"
    if pa.types.is_floating(kind):
        return "sc:Float"
    return "sc:Text"
