"""Quantiles of one attribute."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from app.questions.encoding import value_interval_reply
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from app.questions.reasons import ON_EDGE, ROUNDED, Reasons
from core.checkpoint import Checkpoint
from core.domain.attribute import Ordered
from core.queries import quantile as core_quantile
from core.queries.effort import effort_of_quantiles
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
        histogram = prepared.histogram
        computed = core_quantile.quantiles(histogram, attribute, q, level=level)
        (kind,) = (each for each in histogram.domain.ordered if each.name == attribute)
        reasons = Reasons()
        otherwise = ROUNDED if kind.is_whole else ON_EDGE
        for each in computed:
            reasons.about_value(kind, f"the {each.q:g}-quantile", each.value, each.interval, otherwise=otherwise)
        return wire.Quantiles(**common, notes=reasons.notes, quantiles=tuple(_reply(kind, each) for each in computed))

    parameters = {"attribute": attribute, "q": list(q), "level": level}
    return Question("quantiles", parameters, answer, effort_of=partial(effort_of_quantiles, shares=len(q)))


def _reply(attribute: Ordered, computed: core_quantile.Quantile) -> wire.Quantile:
    low, high = computed.cell
    return wire.Quantile(
        q=computed.q,
        value=attribute.shown(computed.value),
        interval=value_interval_reply(attribute, computed.interval),
        discretisation=wire.ValueEnds(low=attribute.shown(low, up=False), high=attribute.shown(high, up=True)),
    )
