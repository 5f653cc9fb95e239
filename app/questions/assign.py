"""Which of k centres is nearest to each of the analyst's own points?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from app.questions.clusters import centres_reply
from app.questions.encoding import listed
from app.questions.prepared import Prepared
from app.questions.question import Common, Question, question
from core.arrays import Floats
from core.checkpoint import Checkpoint
from core.clustering.methods import Method
from core.domain.attribute import Ordered
from core.domain.dates import Date, Datetime
from core.errors import InvalidQuery
from core.queries import clusters
from core.queries.effort import effort_of_clusters
from rugnik import wire
from rugnik.wire.common import Value


@question(wire.Assignment)
def assign(body: wire.AssignBody) -> Question:
    """Tell which of k centres is nearest to each of your own points."""
    k, seed, method = body.k, body.seed, Method(body.method)

    def answer(prepared: Prepared, checkpoint: Checkpoint, common: Common) -> wire.Assignment:
        histogram = prepared.histogram
        attributes = histogram.domain.ordered
        points = _points(body.points, attributes)
        result = clusters.find_clusters(histogram, k, level=0.95, seed=seed, method=method, checkpoint=checkpoint)
        return wire.Assignment(
            **common,
            labels=listed(clusters.assign(histogram, result, points)),
            centers=centres_reply(attributes, result),
            method=result.choice.method.value,
            method_reason=result.choice.reason,
        )

    parameters = {"k": k, "seed": seed, "method": method.value, "points": len(body.points)}
    return Question("assign", parameters, answer, effort_of=partial(effort_of_clusters, k=k, asked=method))


def _points(given: Sequence[Sequence[Value]], attributes: tuple[Ordered, ...]) -> Floats:
    """The analyst's points in the attributes' own units, one per row."""
    if any(len(point) != len(attributes) for point in given):
        names = ", ".join(attribute.name for attribute in attributes)
        raise InvalidQuery(f"Each point has one value for each attribute that is no category: {names}.")
    columns = [[_value(attribute, point[x]) for point in given] for x, attribute in enumerate(attributes)]
    return np.array(columns, dtype=np.float64).T.reshape(-1, len(attributes))


def _value(attribute: Ordered, value: Value) -> float:
    """A value as JSON has it, in the attribute's own unit."""
    if isinstance(value, str):
        try:
            return attribute.value_of(value)
        except InvalidQuery:
            raise InvalidQuery(f"A point has a text for {attribute.name} that is no {attribute.kind}.") from None
    if isinstance(attribute, Date | Datetime):
        raise InvalidQuery(f"A point has a number for {attribute.name}: write a {attribute.kind} as a text.")
    return value
