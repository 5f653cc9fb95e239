"""How many rows lie in a box?"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from app.questions.boxes import parse_box, require_where
from app.questions.encoding import ends_reply
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from app.questions.reasons import Reasons
from app.questions.snapping import snapped_boxes
from core.checkpoint import Checkpoint
from core.queries.effort import effort_of_boxes
from core.queries.range_count import count_boxes
from rugnik import wire
from rugnik.wire.limits import Doc, Level
from rugnik.wire.where import PART, Where


@question(wire.Count, cuts_cells=True)
def count(
    where: Annotated[Where | None, Doc(f"Count a part of the rows only: {PART} Repeat for more.")] = None,
    level: Level = 0.95,
    snap: Annotated[
        bool, Doc("Move both ends of each range to the nearest cell edge, so that no cell is cut.")
    ] = False,
) -> Question:
    """Count the rows in a box: a raw sum, with the interval of its whole error and the parts of that error."""
    require_where(where or ())

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Count:
        box = parse_box(where or (), prepared.synopsis.domain)
        counted = count_boxes(prepared.table, (box,), level=level, simultaneous=False, snap=snap)
        weight, reasons = float(counted.size_weight[0]), Reasons()
        low, high = counted.inner_ends
        reasons.about("the count", float(counted.count[0]), float(low[0]), float(high[0]), least=0.0)
        return wire.Count(
            **common,
            notes=reasons.notes,
            count=float(counted.count[0]),
            interval=wire.Interval(level=level, low=float(counted.low[0]), high=float(counted.high[0])),
            noise=wire.CountNoise(
                low=float(counted.noise_low[0]), high=float(counted.noise_high[0]), sd=float(counted.noise_sd[0])
            ),
            discretisation=ends_reply((float(counted.without_cut[0]), float(counted.with_cut[0]))),
            snapped=snapped_boxes(prepared.table, (box,))[0] if snap else None,
            size_weight=weight or None,
        )

    parameters = {"where": sorted(where or []), "level": level} | ({"snap": True} if snap else {})
    return Question("count", parameters, answer, effort_of=partial(effort_of_boxes, boxes=1))
