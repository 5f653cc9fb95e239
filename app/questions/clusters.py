"""k clusters, with what noise leaves certain about them."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from app.questions.encoding import interval_reply, value_interval_reply
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from app.questions.reasons import NO_REACH, Reasons
from core.checkpoint import Checkpoint
from core.clustering.methods import Method
from core.domain.attribute import Ordered
from core.queries.clusters import Cluster, Clusters, find_clusters
from core.queries.effort import effort_of_clusters
from core.queries.estimates import half_cell
from rugnik import wire
from rugnik.wire.common import Value
from rugnik.wire.limits import Doc, Level, Seed


@question(wire.Clusters)
def clusters(
    k: Annotated[int, Doc("How many clusters.")],
    level: Level = 0.95,
    seed: Seed = 0,
    method: Annotated[
        Method, Doc("What is clustered; the answer says what served, which may be another where this does not fit.")
    ] = Method.POSTERIOR,
) -> Question:
    """Cluster the synopsis: centres in the attributes' own units, with what noise leaves certain about each."""

    def answer(prepared: Prepared, checkpoint: Checkpoint, common: Common) -> wire.Clusters:
        histogram = prepared.histogram
        result = find_clusters(histogram, k, level=level, seed=seed, method=method, checkpoint=checkpoint)
        attributes = histogram.domain.ordered
        return wire.Clusters(
            **common,
            notes=_notes(attributes, result),
            attributes=tuple(attribute.name for attribute in attributes),
            centers=centres_reply(attributes, result),
            sizes=tuple(cluster.size for cluster in result.clusters),
            uncertainty=tuple(_uncertainty(attributes, cluster) for cluster in result.clusters),
            merges=tuple(wire.Merge(clusters=merge.clusters, probability=merge.probability) for merge in result.merges),
            discretisation=wire.CentreShift(
                center=tuple(half_cell(histogram, x) for x in histogram.domain.ordered_axes)
            ),
            inertia=result.inertia,
            stability=result.stability,
            method=result.choice.method.value,
            method_reason=result.choice.reason,
            warnings=result.warnings,
        )

    parameters = {"k": k, "level": level, "seed": seed, "method": method.value}
    return Question(
        "clusters", parameters, answer, effort_of=partial(effort_of_clusters, k=k, asked=method), costly=True
    )


def centres_reply(attributes: tuple[Ordered, ...], result: Clusters) -> tuple[tuple[Value, ...], ...]:
    """The centres as values of their attributes."""
    return tuple(_shown(attributes, cluster.centre) for cluster in result.clusters)


def _shown(attributes: tuple[Ordered, ...], centre: tuple[float, ...]) -> tuple[Value, ...]:
    return tuple(attribute.shown(value) for attribute, value in zip(attributes, centre, strict=True))


def _uncertainty(attributes: tuple[Ordered, ...], cluster: Cluster) -> wire.ClusterUncertainty:
    center, region = (
        tuple(value_interval_reply(*pair) for pair in zip(attributes, intervals, strict=True))
        for intervals in (cluster.centre_intervals, cluster.region)
    )
    return wire.ClusterUncertainty(
        center=center,
        region=region,
        size=interval_reply(cluster.size_interval),
        noise_probability=cluster.noise_probability,
        discretisation=cluster.discretisation,
    )


def _notes(attributes: tuple[Ordered, ...], result: Clusters) -> tuple[str, ...]:
    """Why centres or sizes lie at an end of their intervals."""
    reasons = Reasons()
    for i, cluster in enumerate(result.clusters, start=1):
        size = cluster.size_interval
        reasons.about(f"the size of cluster {i}", cluster.size, size.low, size.high, least=0.0)
        for attribute, value, interval in zip(attributes, cluster.centre, cluster.centre_intervals, strict=True):
            reasons.about_value(attribute, f"{attribute.name} of centre {i}", value, interval, otherwise=NO_REACH)
    return reasons.notes
