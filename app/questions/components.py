"""Principal components."""

from __future__ import annotations

from typing import Annotated, Any

from app.questions.encoding import estimate_reply
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from app.questions.reasons import Reasons
from core.checkpoint import Checkpoint
from core.noisy_histogram import NoisyHistogram
from core.queries import components as core_components
from core.queries.components import Components, Matrix
from core.queries.effort import Effort, effort_of_components
from rugnik import wire
from rugnik.wire.limits import Doc, Level, Limits, Seed


@question(wire.Components)
def components(
    attributes: Annotated[
        str | None,
        Limits(max_length=2000),
        Doc("Attribute names, separated by commas; all but categories if left out."),
    ] = None,
    matrix: Annotated[
        Matrix, Doc("Of values in their own units (covariance), or each divided by its standard deviation.")
    ] = Matrix.CORRELATION,
    level: Level = 0.95,
    seed: Seed = 0,
) -> Question:
    """Principal components: explained shares of variance and loadings, with what noise leaves certain about each."""
    names = () if attributes is None else tuple(attributes.split(","))

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Components:
        computed = core_components.components(prepared.histogram, names, matrix=matrix, level=level, seed=seed)
        return wire.Components(
            **common,
            notes=_notes(computed),
            attributes=computed.names,
            center=computed.centre,
            scale=computed.scale,
            components=tuple(
                wire.Component(
                    variance=estimate_reply(each.variance),
                    share=estimate_reply(each.share),
                    loadings=each.loadings,
                    angle=each.angle,
                )
                for each in computed.components
            ),
            discretisation=computed.shift,
            warnings=() if computed.warning is None else (computed.warning,),
        )

    def effort(histogram: NoisyHistogram) -> Effort:
        return effort_of_components(histogram, len(names) or len(histogram.domain.ordered))

    parameters: dict[str, Any] = {"matrix": matrix.value, "level": level, "seed": seed}
    named = {"attributes": list(names)} if names else {}
    return Question("components", {**named, **parameters}, answer, effort_of=effort)


def _notes(computed: Components) -> tuple[str, ...]:
    """Why estimates lie at an end of their intervals."""
    reasons = Reasons()
    for number, each in enumerate(computed.components, start=1):
        for name, estimate, most in (("variance", each.variance, float("inf")), ("share", each.share, 1.0)):
            interval = estimate.interval
            of = f"the {name} of component {number}"
            reasons.about(of, estimate.value, interval.low, interval.high, least=0.0, most=most)
    return reasons.notes
