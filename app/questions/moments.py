"""Size, means, variances, covariances, correlations."""

from __future__ import annotations

from app.questions.encoding import estimate_reply, value_estimate_reply
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from core.checkpoint import Checkpoint
from core.queries import moments as core_moments
from core.queries.effort import effort_of_moments
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
            size=estimate_reply(computed.size),
            attributes=tuple(
                wire.AttributeMoments(
                    name=each.name,
                    mean=value_estimate_reply(ordered[each.name], each.mean),
                    variance=estimate_reply(each.variance),
                    discretisation=wire.Shift(mean=each.discretisation, sd=each.sd_discretisation),
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
