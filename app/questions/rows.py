"""Synthetic rows: as JSON, CSV or Parquet, always in pieces."""

from __future__ import annotations

from collections.abc import Generator
from typing import Annotated

from app.questions.encoding import encode
from app.questions.formats import Format, FormatName, named
from app.questions.json_rows import json_rows
from app.questions.prepared import Prepared
from app.questions.question import Common, Question
from core.checkpoint import Checkpoint, carry_on
from core.domain.number import Number
from core.queries.synthetic import synthetic_rows
from rugnik import wire
from rugnik.wire.limits import Doc, Limits, Seed
from rugnik.wire.where import SLICE, Where

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


def get_rows(
    count: Annotated[int, Limits(ge=1), Doc("How many rows.")] = 1000,
    seed: Seed = 0,
    format: FormatName = None,  # noqa: A002 - the name it has in the API
    where: Annotated[Where | None, Doc(SLICE)] = None,
) -> Question:
    """Draw synthetic rows from the synopsis: uniform within a cell, from non-negative counts."""
    return rows(count, seed, named(format, FORMS)).about(where)


def in_pieces(question: Question, prepared: Prepared, form: Format) -> Generator[bytes, None, None]:
    """The bytes of the reply to a question made by `rows`."""
    part = prepared.part(question.where)
    attributes = part.histogram.domain.attributes
    count, seed = question.parameters["count"], question.parameters["seed"]
    blocks = synthetic_rows(part.histogram, count, seed, part.cumulative)
    if form is Format.JSON:
        return json_rows(blocks, attributes, encode(question.answer(prepared, carry_on)))
    from app.questions.files import writing  # noqa: PLC0415 - pyarrow: no other answer needs it

    return writing.written(writing.rows(blocks, attributes, form), form)
