"""/v1/releases/{id}/synopsis and /rows: answers to take away, as JSON, CSV, Parquet or Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.access.principal import Principal
from app.http.asking import FOR_EVER, Level, Seed, answer, documented, published_release
from app.http.callers import Asker, CurrentService
from app.http.negotiation import has_already, negotiate
from app.http.routes.releases import ReleaseId
from app.http.schemas import answers as wire
from app.http.schemas.orders import GridReply
from app.http.streaming import Pieces, Stream
from app.questions import files
from app.questions.answers import Prepared, Question
from app.questions.files import Format
from core.checkpoint import Checkpoint
from core.errors import InvalidQuery
from core.intervals.levels import alpha_of, alpha_of_each
from core.mechanisms.discrete_laplace import MECHANISM
from core.queries.marginal import edges_of
from core.queries.synthetic import synthetic_rows
from core.synopsis import Synopsis

router = APIRouter(prefix="/v1/releases/{release_id}", tags=["answers"])

FormatName = Annotated[str | None, Query(alias="format", max_length=20, description="The form; overrides Accept.")]

_SYNOPSIS_FORMS = (Format.JSON, Format.CSV, Format.PARQUET, Format.ARROW)
_ROW_FORMS = (Format.JSON, Format.CSV, Format.PARQUET)


@router.get("/synopsis", responses=documented(wire.SynopsisReply, files=_SYNOPSIS_FORMS[1:]), response_class=Response)
async def synopsis(
    request: Request, caller: Asker, release_id: ReleaseId, form: FormatName = None, level: Level = 0.95
) -> Response:
    """Take the whole noisy histogram away."""
    chosen = negotiate(request, form, _SYNOPSIS_FORMS)
    if chosen is Format.JSON:
        return await answer(request, caller, release_id, Question("synopsis", {"level": level}, _synopsis_json(level)))
    question = Question("synopsis", {"format": chosen.value}, _in_pieces)

    def pieces(prepared: Prepared) -> Pieces:
        found = prepared.synopsis
        return files.written(files.cells(found), files.cell_schema(found), chosen)

    return await _file(request, caller, release_id, question, chosen, pieces)


@router.get("/rows", responses=documented(wire.RowsReply, files=_ROW_FORMS[1:]), response_class=Response)
async def rows(
    request: Request,
    service: CurrentService,
    caller: Asker,
    release_id: ReleaseId,
    count: Annotated[int, Query(ge=1, description="How many rows.")] = 1000,
    seed: Seed = 0,
    form: FormatName = None,
) -> Response:
    """Draw synthetic rows from the synopsis: uniform within a cell, from non-negative counts."""
    most = service.settings.max_synthetic_rows
    if count > most:
        raise InvalidQuery(f"At most {most:,} synthetic rows are drawn at once (RUGNIK_MAX_SYNTHETIC_ROWS).")
    chosen = negotiate(request, form, _ROW_FORMS)
    question = Question("rows", {"count": count, "seed": seed, "format": chosen.value}, _in_pieces)

    def pieces(prepared: Prepared) -> Pieces:
        names = prepared.synopsis.domain.names
        blocks = synthetic_rows(prepared.synopsis, count, seed, prepared.cumulative)
        if chosen is Format.JSON:
            return files.json_rows(blocks, {**question.envelope(prepared), "attributes": list(names)})
        return files.written(files.rows(blocks, names), files.row_schema(names), chosen)

    return await _file(request, caller, release_id, question, chosen, pieces)


async def _file(
    request: Request,
    caller: Principal,
    release_id: str,
    question: Question,
    form: Format,
    pieces: Callable[[Prepared], Pieces],
) -> Response:
    """A large answer in pieces, with the ETag of its question; 304 where the client has it."""
    answers, published = await published_release(request, caller, release_id)
    headers = {"ETag": f'"{question.key(published)}"', **FOR_EVER}
    if has_already(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{published.release}-{question.name}.{form.value}"'
    return Stream(caller, lambda: pieces(answers.prepared(published)), media_type=form.media_type, headers=headers)


def _in_pieces(_prepared: Prepared, _checkpoint: Checkpoint) -> Mapping[str, Any]:
    """The answer of a question that is answered by a stream."""
    return {}


def _synopsis_json(level: float) -> Callable[[Prepared, Checkpoint], Mapping[str, Any]]:
    def answer(prepared: Prepared, _checkpoint: Checkpoint) -> Mapping[str, Any]:
        found = prepared.synopsis
        grid = found.grid
        return {
            "dataset": found.dataset,
            "grid": GridReply.of(grid).model_dump(),
            "attributes": [
                {"name": a.name, "edges": edges_of(a, grid.cells_per_axis)} for a in found.domain.attributes
            ],
            "epsilon": str(found.epsilon),
            "epsilon_histogram": str(found.histogram_epsilon),
            "mechanism": MECHANISM,
            "size": found.size,
            "size_declared": found.size_declared,
            "clusters": found.clusters,
            "rule": found.rule.value,
            "out_of_range": found.out_of_range.value,
            "threshold": found.threshold,
            "cells": found.cells.listed,
            "counts": found.counts,
            "noise_sd": found.law.standard_deviation,
            "reach": _reach(found, level),
        }

    return answer


def _reach(synopsis: Synopsis, level: float) -> Mapping[str, float]:
    """How far one cell is off, and all of them; a listed cell was chosen for its noise, so for it only the latter."""
    law, cells = synopsis.law, synopsis.grid.cell_count
    together = law.tail_radius(probability=alpha_of_each(level, cells))
    each = law.tail_radius(probability=alpha_of(level)) if synopsis.cells.complete else together
    return {"level": level, "each": each, "all": together}
