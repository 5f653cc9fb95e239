"""Quantiles of one attribute."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from app.questions.encoding import ends_reply, interval_reply
from app.questions.question import Common, Prepared, Question, question
from core.checkpoint import Checkpoint
from core.queries.effort import effort_of_cells
from core.queries.quantile import Quantile, quantile
from rugnik import wire
from rugnik.wire.limits import Doc, Finite, Level, Limits


@question(wire.Quantiles)
def quantiles(
    attribute: Annotated[str, Limits(max_length=64)],
    q: Annotated[list[Finite], Limits(min_length=1, max_length=100), Doc("Shares between 0 and 1; repeat for more.")],
    level: Level = 0.95,
) -> Question:
    """Quantiles of one attribute, with intervals."""

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Quantiles:
        computed = (quantile(prepared.synopsis, attribute, share, level=level) for share in q)
        return wire.Quantiles(**common, quantiles=tuple(_reply(each) for each in computed))

    parameters = {"attribute": attribute, "q": list(q), "level": level}
    return Question("quantiles", parameters, answer, effort=partial(effort_of_cells, passes=len(q)))


def _reply(computed: Quantile) -> wire.Quantile:
    return wire.Quantile(
        q=computed.q,
        value=computed.value,
        interval=interval_reply(computed.interval),
        discretisation=ends_reply(computed.cell),
    )
