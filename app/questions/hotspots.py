"""Connected cells that stand out."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from app.questions.encoding import axis_reply, estimate_reply
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from app.questions.reasons import Reasons
from core.checkpoint import Checkpoint
from core.queries import hotspots as core_hotspots
from core.queries.effort import effort_of_hotspots
from core.queries.hotspots import Hotspots
from rugnik import wire
from rugnik.wire.limits import Cells, Doc, Level, Limits


@question(wire.Hotspots)
def hotspots(
    attributes: Annotated[
        str, Limits(max_length=200), Doc("One or two attributes that are no categories, separated by a comma.")
    ],
    level: Level = 0.95,
    cells: Cells = None,
) -> Question:
    """Regions with more rows than evenly spread rows would leave there, with intervals that hold for all of them."""
    names = tuple(attributes.split(","))

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Hotspots:
        computed = core_hotspots.hotspots(prepared.histogram, names, level=level, cells=cells)
        table = computed.histogram
        axes = tuple(
            axis_reply(*each)
            for each in zip(table.domain.attributes, table.grid.axes, table.grouping.sizes, strict=True)
        )
        return wire.Hotspots(
            **common,
            notes=_notes(computed),
            attributes=axes,
            level=level,
            null_hypothesis="uniform",
            rows=estimate_reply(computed.rows),
            regions=tuple(
                wire.Hotspot(
                    ranges=tuple(
                        wire.ValueEnds(low=axis.edges[min(places)], high=axis.edges[max(places) + 1])
                        for axis, places in zip(axes, zip(*region.cells, strict=True), strict=True)
                    ),
                    cells=region.cells,
                    count=estimate_reply(region.count),
                    expected=region.expected,
                    excess=estimate_reply(region.excess),
                )
                for region in computed.regions
            ),
            warnings=_warnings(computed),
        )

    parameters: dict[str, Any] = {"attributes": list(names), "level": level}
    parameters = parameters if cells is None else {**parameters, "cells": cells}
    return Question("hotspots", parameters, answer, effort_of=partial(effort_of_hotspots, names=names, bins=cells))


def _warnings(computed: Hotspots) -> tuple[str, ...]:
    """That not all regions are listed."""
    listed = len(computed.regions)
    if listed == computed.in_all:
        return ()
    return (
        f"{listed:,} of {computed.in_all:,} regions are listed: those with the largest excess. Ask for fewer cells on "
        "an axis, with cells=….",
    )


def _notes(computed: Hotspots) -> tuple[str, ...]:
    """Why counts lie at an end of their intervals."""
    reasons, rows = Reasons(), computed.rows
    reasons.about("the number of rows", rows.value, rows.interval.low, rows.interval.high, least=0.0)
    for number, region in enumerate(computed.regions, start=1):
        for name, each in (("count", region.count), ("excess", region.excess)):
            reasons.about(f"the {name} of region {number}", each.value, each.interval.low, each.interval.high)
    return reasons.notes
