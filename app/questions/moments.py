"""Size, means, variances, covariances, correlations."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from app.questions.encoding import estimate_reply, value_estimate_reply
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from app.questions.reasons import Reasons
from core.checkpoint import Checkpoint
from core.domain.attribute import Ordered
from core.queries import moments as core_moments
from core.queries.effort import effort_of_moments
from core.queries.estimates import Estimate, Moments
from rugnik import wire
from rugnik.wire.limits import Level


@question(wire.Moments)
def moments(level: Level = 0.95) -> Question:
    """Size, means, variances, covariances and correlations, with intervals."""

    def answer(prepared: Prepared, _checkpoint: Checkpoint, common: Common) -> wire.Moments:
        computed = core_moments.moments(prepared.histogram, level=level)
        ordered = {attribute.name: attribute for attribute in prepared.histogram.domain.ordered}
        return wire.Moments(
            **common,
            notes=_notes(computed, ordered),
            size=estimate_reply(computed.size),
            attributes=tuple(
                wire.AttributeMoments(
                    name=each.name,
                    mean=value_estimate_reply(ordered[each.name], each.mean),
                    variance=estimate_reply(each.variance),
                    discretisation=wire.Shift(
                        mean=each.discretisation, sd=each.sd_discretisation, variance=each.variance_shift
                    ),
                )
                for each in computed.attributes
            ),
            pairs=tuple(
                wire.PairMoments(
                    attributes=pair.names,
                    covariance=estimate_reply(pair.covariance),
                    correlation=estimate_reply(pair.correlation),
                )
                for pair in computed.pairs
            ),
        )

    return Question("moments", {"level": level}, answer, effort_of=effort_of_moments)


def _notes(computed: Moments, ordered: Mapping[str, Ordered]) -> tuple[str, ...]:
    """Why estimates lie at an end of their intervals."""
    reasons = Reasons()

    def about(name: str, estimate: Estimate, least: float, most: float) -> None:
        interval = estimate.interval
        reasons.about(name, estimate.value, interval.low, interval.high, least=least, most=most)

    about("the size", computed.size, 0.0, inf)
    for each in computed.attributes:
        attribute = ordered[each.name]
        reasons.about_value(attribute, f"the mean of {each.name}", each.mean.value, each.mean.interval)
        about(f"the variance of {each.name}", each.variance, 0.0, attribute.width**2 / 4)
    for pair in computed.pairs:
        of = " and ".join(pair.names)
        most = ordered[pair.names[0]].width * ordered[pair.names[1]].width / 4
        about(f"the covariance of {of}", pair.covariance, -most, most)
        about(f"the correlation of {of}", pair.correlation, -1.0, 1.0)
    return reasons.notes
