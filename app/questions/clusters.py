"""k clusters, with what noise leaves certain about them."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from app.questions.encoding import interval_reply
from app.questions.question import Common, Prepared, Question, question
from core.checkpoint import Checkpoint
from core.clustering.methods import Method
from core.queries.clusters import Cluster, find_clusters
from core.queries.effort import effort_of_clusters
from rugnik import wire
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
        synopsis = prepared.synopsis
        result = find_clusters(synopsis, k, level=level, seed=seed, method=method, checkpoint=checkpoint)
        half_a_cell = synopsis.domain.width / synopsis.grid.cells_per_axis / 2
        return wire.Clusters(
            **common,
            attributes=synopsis.domain.names,
            centers=tuple(cluster.centre for cluster in result.clusters),
            sizes=tuple(cluster.size for cluster in result.clusters),
            uncertainty=tuple(_uncertainty(cluster) for cluster in result.clusters),
            merges=tuple(wire.Merge(clusters=merge.clusters, probability=merge.probability) for merge in result.merges),
            discretisation=wire.CentreShift(center=tuple(half_a_cell.tolist())),
            inertia=result.inertia,
            stability=result.stability,
            method=result.choice.method.value,
            method_reason=result.choice.reason,
            warnings=result.warnings,
        )

    parameters = {"k": k, "level": level, "seed": seed, "method": method.value}
    return Question("clusters", parameters, answer, effort=partial(effort_of_clusters, k=k, asked=method), costly=True)


def _uncertainty(cluster: Cluster) -> wire.ClusterUncertainty:
    return wire.ClusterUncertainty(
        center=tuple(interval_reply(interval) for interval in cluster.centre_intervals),
        region=tuple(interval_reply(interval) for interval in cluster.region),
        size=interval_reply(cluster.size_interval),
        noise_probability=cluster.noise_probability,
    )
