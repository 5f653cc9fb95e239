"""Which of k centres is nearest to each of the analyst's own points?"""

from __future__ import annotations

from functools import partial

import numpy as np

from app.questions.encoding import listed
from app.questions.question import Common, Prepared, Question, question
from core.checkpoint import Checkpoint
from core.clustering.methods import Method
from core.errors import InvalidQuery
from core.queries import clusters
from core.queries.effort import effort_of_clusters
from rugnik import wire


@question(wire.Assignment)
def assign(body: wire.AssignBody) -> Question:
    """Tell which of k centres is nearest to each of your own points."""
    k, seed, method = body.k, body.seed, Method(body.method)

    def answer(prepared: Prepared, checkpoint: Checkpoint, common: Common) -> wire.Assignment:
        synopsis = prepared.synopsis
        if any(len(point) != synopsis.domain.dimensions for point in body.points):
            names = ", ".join(synopsis.domain.names)
            raise InvalidQuery(f"Each point has one number for each attribute of the release: {names}.")
        result = clusters.find_clusters(synopsis, k, level=0.95, seed=seed, method=method, checkpoint=checkpoint)
        points = np.array(body.points, dtype=np.float64).reshape(-1, synopsis.domain.dimensions)
        return wire.Assignment(
            **common,
            labels=listed(clusters.assign(synopsis, result, points)),
            centers=tuple(cluster.centre for cluster in result.clusters),
            method=result.choice.method.value,
            method_reason=result.choice.reason,
        )

    parameters = {"k": k, "seed": seed, "method": method.value, "points": len(body.points)}
    return Question("assign", parameters, answer, effort=partial(effort_of_clusters, k=k, asked=method))
