"""The whole noisy histogram: as JSON, or as a file with a row for each cell."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Annotated

import numpy as np

from app.questions.encoding import axis_reply, cells_reply, listed
from app.questions.formats import Format, FormatName, named
from app.questions.layers import layers_reply
from app.questions.prepared import Prepared
from app.questions.question import Common, Question
from app.questions.reasons import Reasons
from core.adaptive.cells import AdaptiveCells
from core.adaptive.listing import listings, merged
from core.checkpoint import Checkpoint
from core.domain.axis import OFFSET_STEPS
from core.errors import InvalidQuery
from core.intervals.levels import alpha_of, alpha_of_each
from core.mechanisms.discrete_laplace import MECHANISM
from core.mechanisms.vector_laplace import MECHANISM as OFFSET_MECHANISM
from core.noisy_histogram import NoisyHistogram
from core.queries.effort import effort_of_listing
from core.synopsis import Synopsis
from rugnik import wire
from rugnik.wire.limits import Doc, Level, Limits
from rugnik.wire.where import SLICE, Where

FORMS = (Format.JSON, Format.CSV, Format.PARQUET, Format.ARROW)


def synopsis(level: float, form: Format = Format.JSON, cells: int | None = None) -> Question:
    """The question for a form; only JSON has intervals, so only there the level matters.

    With `cells`, neighbouring leaves of an adaptive release are taken together until so many are left.
    """
    if cells is not None and form is not Format.JSON:
        raise InvalidQuery("cells= takes leaves together in JSON only: a file has all of them.")

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Synopsis:
        synopsis, histogram = prepared.synopsis, prepared.histogram
        axes = zip(histogram.domain.attributes, histogram.grid.axes, strict=True)
        layers, reasons = _layers(histogram, level, cells), Reasons()
        reach = _reach(histogram, level) if layers is None else None
        if reach is not None:
            values = histogram.counts.astype(np.float64)
            reasons.about_many("cells", values, values - reach.each, values + reach.each)
        return wire.Synopsis(
            **common,
            notes=reasons.notes,
            dataset=synopsis.dataset,
            grid=cells_reply(histogram.cells),
            attributes=tuple(axis_reply(*axis) for axis in axes),
            epsilon=str(synopsis.epsilon),
            epsilon_histogram=str(synopsis.histogram_epsilon),
            mechanism=MECHANISM,
            size=histogram.size,
            size_declared=histogram.size_declared,
            clusters=histogram.clusters,
            rule=synopsis.rule.value,
            out_of_range=synopsis.out_of_range.value,
            unit=wire.Unit(**synopsis.unit.to_json()) if synopsis.unit.is_person else None,
            threshold=histogram.threshold,
            cells=listed(histogram.cells.listed),
            counts=listed(histogram.counts) if layers is None else layers.leaf.counts,
            noise_sd=histogram.law.standard_deviation if layers is None else None,
            reach=reach,
            offsets=_offsets(synopsis, histogram),
            layers=layers,
        )

    parameters = {"level": level} if form is Format.JSON else {"format": form.value}
    together = {} if cells is None else {"cells": cells}
    return Question("synopsis", parameters | together, answer, effort_of=effort_of_listing)


def get_synopsis(
    format: FormatName = None,  # noqa: A002 - the name it has in the API
    level: Level = 0.95,
    where: Annotated[Where | None, Doc(SLICE)] = None,
    cells: Annotated[
        int | None,
        Limits(ge=1, le=2**24),
        Doc(
            "Of an adaptive release, as JSON: neighbouring leaves are taken together until at most so many are left, "
            "or its coarse cells; the other layers are left out."
        ),
    ] = None,
) -> Question:
    """Take the whole noisy histogram away, or a part of it."""
    return synopsis(level, named(format, FORMS), cells).about(where)


def _layers(histogram: NoisyHistogram, level: float, most: int | None) -> wire.Layers | None:
    """The cells of an adaptive release; None for a grid, whose cells need no boxes."""
    if not isinstance(histogram.cells, AdaptiveCells):
        if most is not None:
            raise InvalidQuery("cells= takes the leaves of an adaptive release together; this release has a grid.")
        return None
    if most is None:
        every = listings(histogram.cells, histogram.domain)
    else:
        every = (merged(histogram.cells, histogram.domain, most=most),)
    return layers_reply(every, histogram.domain, alpha=alpha_of(level))


def in_pieces(question: Question, prepared: Prepared, form: Format) -> Generator[bytes, None, None]:
    """The bytes of a file in one of the forms other than JSON."""
    from app.questions.files import writing  # noqa: PLC0415 - pyarrow: no other answer needs it

    part = prepared.part(question.where)
    about = {"synopsis_digest": part.digest} | ({"slice": json.dumps(part.slice)} if part.slice else {})
    return writing.written(writing.cells(part.histogram, form, about), form)


def _offsets(synopsis: Synopsis, histogram: NoisyHistogram) -> wire.Offsets | None:
    offsets = histogram.cells.offsets
    if offsets is None:
        return None
    return wire.Offsets(
        attributes=tuple(attribute.name for attribute in histogram.domain.ordered),
        epsilon=str(synopsis.offset_epsilon),
        mechanism=OFFSET_MECHANISM,
        steps=OFFSET_STEPS,
        noise_sd=offsets.law.standard_deviation,
        sums=listed(offsets.sums),
    )


def _reach(histogram: NoisyHistogram, level: float) -> wire.Reach:
    """The error of one cell, and of all cells together.

    With a threshold, a cell is listed because its noise is high, so that only the error of all cells holds for it.
    """
    law, cells = histogram.law, histogram.grid.cell_count
    together = law.tail_radius(probability=alpha_of_each(level, cells))
    each = law.tail_radius(probability=alpha_of(level)) if histogram.cells.complete else together
    return wire.Reach(level=level, each=each, all=together)
