"""How many rows lie in each of many boxes?"""

from __future__ import annotations

from functools import partial

from app.questions.boxes import parse_boxes, require_where
from app.questions.encoding import listed
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from app.questions.reasons import Reasons
from app.questions.snapping import snapped_boxes
from core.checkpoint import Checkpoint
from core.queries.effort import effort_of_boxes
from core.queries.range_count import count_boxes
from rugnik import wire


@question(wire.Counts, cuts_cells=True)
def counts(body: wire.CountsBody) -> Question:
    """Count the rows in up to 10,000 boxes at once, each with the interval of its whole error."""
    in_common = body.where or []
    for where in (in_common, *body.boxes):
        require_where(where)
    level, simultaneous, snap = body.level, body.simultaneous, bool(body.snap)

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Counts:
        domain = prepared.synopsis.domain
        boxes = parse_boxes([[*in_common, *where] for where in body.boxes], domain)
        counted = count_boxes(prepared.table, boxes, level=level, simultaneous=simultaneous, snap=snap)
        reasons = Reasons()
        reasons.about_many("boxes", counted.count, *counted.inner_ends)
        return wire.Counts(
            **common,
            notes=reasons.notes,
            counts=listed(counted.count),
            low=listed(counted.low),
            high=listed(counted.high),
            noise=wire.ManyNoises(
                low=listed(counted.noise_low), high=listed(counted.noise_high), sd=listed(counted.noise_sd)
            ),
            discretisation=wire.ManyEnds(low=listed(counted.without_cut), high=listed(counted.with_cut)),
            snapped=snapped_boxes(prepared.table, boxes) if snap else None,
            size_weights=tuple(counted.size_weight.tolist()) if counted.size_weight.any() else None,
        )

    number = len(body.boxes)
    parameters = {"boxes": number, "level": level, "simultaneous": simultaneous}
    shared = ({"where": sorted(in_common)} if in_common else {}) | ({"snap": True} if snap else {})
    return Question("counts", {**parameters, **shared}, answer, effort_of=partial(effort_of_boxes, boxes=number))
