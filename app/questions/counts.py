"""How many rows lie in each of many boxes?"""

from __future__ import annotations

from functools import partial

from app.questions.boxes import parse_box
from app.questions.encoding import listed
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from core.checkpoint import Checkpoint
from core.queries.effort import effort_of_boxes
from core.queries.range_count import count_boxes
from rugnik import wire


@question(wire.Counts, cuts_cells=True)
def counts(body: wire.CountsBody) -> Question:
    """Count the rows in up to 10,000 boxes at once, each with the interval of its whole error."""
    level, simultaneous = body.level, body.simultaneous

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Counts:
        domain = prepared.synopsis.domain
        common_part = parse_box(body.where or (), domain)
        boxes = tuple((*common_part, *parse_box(where, domain)) for where in body.boxes)
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

    number = len(body.boxes)
    parameters = {"boxes": number, "level": level, "simultaneous": simultaneous}
    where = {"where": sorted(body.where)} if body.where else {}
    return Question("counts", {**parameters, **where}, answer, effort_of=partial(effort_of_boxes, boxes=number))
