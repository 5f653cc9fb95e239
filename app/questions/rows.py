"""Synthetic rows: as JSON, CSV or Parquet, always in pieces."""

from __future__ import annotations

from collections.abc import Generator

from app.questions import files
from app.questions.encoding import encode
from app.questions.files import Format
from app.questions.prepared import Prepared
from app.questions.question import Common, Question
from core.checkpoint import Checkpoint, carry_on
from core.domain.number import Number
from core.queries.synthetic import synthetic_rows
from rugnik import wire

FORMS = (Format.JSON, Format.CSV, Format.PARQUET)


def rows(count: int, seed: int, form: Format) -> Question:
    """The question for a form. Its answer has no rows: they follow in pieces."""

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Rows:
        attributes = prepared.histogram.domain.attributes
        kinds = tuple(attribute.kind for attribute in attributes)
        return wire.Rows(
            **common,
            attributes=prepared.histogram.domain.names,
            kinds=None if set(kinds) == {Number.kind} else kinds,
            rows=(),
        )

    return Question("rows", {"count": count, "seed": seed, "format": form.value}, answer)


def in_pieces(question: Question, prepared: Prepared, form: Format) -> Generator[bytes, None, None]:
    """The bytes of the reply to a question made by `rows`."""
    part = prepared.part(question.where)
    attributes = part.histogram.domain.attributes
    count, seed = question.parameters["count"], question.parameters["seed"]
    blocks = synthetic_rows(part.histogram, count, seed, part.cumulative)
    if form is Format.JSON:
        return files.json_rows(blocks, attributes, encode(question.answer(prepared, carry_on)))
    return files.written(files.rows(blocks, attributes, form), form)
