"""Synthetic rows: as JSON, CSV or Parquet, always in pieces."""

from __future__ import annotations

from collections.abc import Generator

from app.questions import files
from app.questions.encoding import encode
from app.questions.files import Format
from app.questions.question import Common, Prepared, Question
from core.checkpoint import Checkpoint, carry_on
from core.queries.synthetic import synthetic_rows
from rugnik import wire

FORMS = (Format.JSON, Format.CSV, Format.PARQUET)


def rows(count: int, seed: int, form: Format) -> Question:
    """The question for a form. Its answer has no rows: they follow in pieces."""

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Rows:
        return wire.Rows(**common, attributes=prepared.synopsis.domain.names, rows=())

    return Question("rows", {"count": count, "seed": seed, "format": form.value}, answer)


def in_pieces(question: Question, prepared: Prepared, form: Format) -> Generator[bytes, None, None]:
    """The bytes of the reply to a question made by `rows`."""
    count, seed = question.parameters["count"], question.parameters["seed"]
    blocks = synthetic_rows(prepared.synopsis, count, seed, prepared.cumulative)
    if form is Format.JSON:
        return files.json_rows(blocks, encode(question.answer(prepared, carry_on)))
    names = prepared.synopsis.domain.names
    return files.written(files.rows(blocks, names), files.row_schema(names), form)
