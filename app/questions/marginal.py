"""The histogram of some attributes."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from app.questions.encoding import axis_reply, listed
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from app.questions.reasons import Reasons
from core.arrays import Floats
from core.checkpoint import Checkpoint
from core.queries.denoise import CountsKind
from core.queries.effort import effort_of_marginal
from core.queries.marginal import Marginal, marginal
from rugnik import wire
from rugnik.wire.limits import Cells, Doc, Level, Limits


@question(wire.Marginal)
def get_marginal(
    attributes: Annotated[str, Limits(max_length=2000), Doc("Attribute names, separated by commas.")],
    level: Level = 0.95,
    counts: Annotated[CountsKind, Doc("Raw counts, or non-negative ones with the same sum.")] = CountsKind.RAW,
    cells: Cells = None,
) -> Question:
    """The histogram of some attributes, with standard errors."""
    names = tuple(attributes.split(","))

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Marginal:
        histogram = marginal(prepared.histogram, names, level=level, counts=counts, cells=cells)
        sizes, bounds = histogram.grouping.sizes, _bounds(histogram)
        axes = zip(histogram.domain.attributes, histogram.grid.axes, sizes, strict=True)
        return wire.Marginal(
            **common,
            notes=_notes(histogram, counts),
            attributes=tuple(axis_reply(*axis) for axis in axes),
            counts=listed(_shaped(histogram, histogram.counts)),
            noise_sd=histogram.noise_sd,
            reach=None if bounds else _reach(histogram),
            bounds=bounds,
            cells_summed=None if cells is None else sizes if len(set(sizes)) > 1 else sizes[0],
        )

    parameters: dict[str, Any] = {"attributes": list(names), "level": level, "counts": counts.value}
    parameters = parameters if cells is None else {**parameters, "cells": cells}
    return Question("marginal", parameters, answer, effort_of=partial(effort_of_marginal, bins=cells))


def _reach(histogram: Marginal) -> wire.Reach:
    """The error of one cell and of all cells together; the same for every cell."""
    return wire.Reach(level=histogram.level, each=listed(histogram.reach), all=listed(histogram.reach_all))


def _bounds(histogram: Marginal) -> wire.Bounds | None:
    """Where a threshold left cells out: bounds for each cell."""
    if histogram.bounds is None or histogram.bounds_all is None:
        return None
    each, together = (
        wire.Sides(low=listed(_shaped(histogram, low)), high=listed(_shaped(histogram, high)))
        for low, high in (histogram.bounds, histogram.bounds_all)
    )
    return wire.Bounds(level=histogram.level, each=each, all=together)


def _notes(histogram: Marginal, counts: CountsKind) -> tuple[str, ...]:
    """Why counts of cells lie at an end of their intervals."""
    reasons, values = Reasons(), histogram.counts
    if histogram.bounds is not None:
        reasons.about_many("cells", values, *histogram.bounds)
    elif counts is CountsKind.NONNEGATIVE:
        reasons.say("Counts that are not negative are biased; the reach is that of the raw counts, not theirs.")
    else:
        reach = histogram.reach or 0.0
        reasons.about_many("cells", values, values - reach, values + reach)
    return reasons.notes


def _shaped(histogram: Marginal, values: Floats) -> Floats:
    """A value per cell as an array with a dimension for each attribute."""
    return values.reshape(histogram.shape)
