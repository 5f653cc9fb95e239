"""How many rows lie in each of many boxes?"""

from __future__ import annotations

from functools import partial

from app.questions.boxes import parse_boxes, require_where
from app.questions.encoding import listed
from app.questions.question import Common, Prepared, Question, question
from core.checkpoint import Checkpoint
from core.queries.effort import effort_of_boxes
from core.queries.range_count import count_boxes
from rugnik import wire


@question(wire.Counts)
def counts(body: wire.CountsBody) -> Question:
    """Count the rows in up to 10,000 boxes at once, each with the interval of its whole error."""
    for where in body.boxes:
        require_where(where)
    level, simultaneous = body.level, body.simultaneous

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Counts:
        boxes = parse_boxes(body.boxes, prepared.synopsis.domain)
        counted = count_boxes(prepared.table, boxes, level=level, simultaneous=simultaneous)
        return wire.Counts(
            **common,
            counts=listed(counted.count),
            low=listed(counted.low),
            high=listed(counted.high),
            noise=wire.ManyNoises(
                low=listed(counted.noise_low), high=listed(counted.noise_high), sd=listed(counted.noise_sd)
            ),
            discretisation=wire.ManyEnds(low=listed(counted.without_cut), high=listed(counted.with_cut)),
        )

    parameters = {"boxes": len(body.boxes), "level": level, "simultaneous": simultaneous}
    return Question("counts", parameters, answer, effort=partial(effort_of_boxes, boxes=len(body.boxes)))
