"""Linear least squares of one attribute on others."""

from __future__ import annotations

from typing import Annotated

from app.questions.encoding import interval_reply
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from app.questions.reasons import Reasons
from core.checkpoint import Checkpoint
from core.noisy_histogram import NoisyHistogram
from core.queries import regression as core_regression
from core.queries.effort import Effort, effort_of_products
from core.queries.regression import Regression
from rugnik import wire
from rugnik.wire.limits import Doc, Level, Limits


@question(wire.Regression)
def regression(
    target: Annotated[str, Limits(max_length=64), Doc("The attribute that is explained.")],
    on: Annotated[str, Limits(max_length=2000), Doc("The attributes that explain it, separated by commas.")],
    level: Level = 0.95,
) -> Question:
    """Linear least squares of one attribute on others: coefficients and R squared, with intervals."""
    names = tuple(on.split(","))

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Regression:
        computed = core_regression.regression(prepared.histogram, target, names, level=level)
        interval = interval_reply(computed.r_squared_interval)
        return wire.Regression(
            **common,
            notes=_notes(computed),
            target=target,
            on=names,
            coefficients=tuple(
                wire.Coefficient(
                    name=each.name,
                    value=each.value,
                    interval=None if each.interval is None else interval_reply(each.interval),
                    discretisation=each.shift,
                    sheppard=each.sheppard,
                )
                for each in computed.coefficients
            ),
            r_squared=wire.Estimate(value=computed.r_squared, interval=interval),
            warnings=() if computed.undetermined is None else (computed.undetermined,),
        )

    def effort(histogram: NoisyHistogram) -> Effort:
        return effort_of_products(histogram, len(names) + 1, sums=9 * len(names) + 6)

    return Question("regression", {"target": target, "on": list(names), "level": level}, answer, effort_of=effort)


def _notes(computed: Regression) -> tuple[str, ...]:
    """Why estimates lie at an end of their intervals."""
    reasons = Reasons()
    for each in computed.coefficients:
        if each.interval is not None:
            name = "the constant" if each.name is None else f"the coefficient of {each.name}"
            reasons.about(name, each.value, each.interval.low, each.interval.high)
    share = computed.r_squared_interval
    reasons.about("R squared", computed.r_squared, share.low, share.high, least=0.0, most=1.0)
    return reasons.notes
