"""Datasets: the domain of a body, and the reply about a dataset."""

from __future__ import annotations

from app.ledger.standing import Standing
from app.releases.datasets import Dataset
from core.domain.domain import Domain
from core.domain.number import Number
from core.errors import InvalidDomain
from rugnik import wire

# Variances, covariances and their errors stay within the range of a double.
LEAST_WIDTH, MOST_WIDTH = 1e-70, 1e70


def domain_of(body: wire.DatasetBody) -> Domain:
    """The public box; InvalidDomain where it cannot be gridded."""
    return Domain(tuple(_attribute(position, each) for position, each in enumerate(body.attributes)))


def _attribute(position: int, body: wire.AttributeBody) -> Number:
    """An attribute; errors name it by its position, because messages do not repeat what was sent."""
    try:
        attribute = Number(name=body.name, lower=body.lower, upper=body.upper)
    except InvalidDomain as error:
        raise InvalidDomain(f"attributes[{position}]: {error}") from None
    if not LEAST_WIDTH <= attribute.width <= MOST_WIDTH:
        raise InvalidDomain(f"attributes[{position}]: The bounds lie {LEAST_WIDTH:g} to {MOST_WIDTH:g} apart.")
    return attribute


def dataset_reply(dataset: Dataset) -> wire.Dataset:
    """Schema, budget and releases of a dataset."""
    budget = dataset.budget
    return wire.Dataset(
        name=dataset.name,
        description=dataset.description,
        state="closed" if dataset.closed else "open",
        attributes=tuple(wire.Attribute(**each.declaration()) for each in dataset.domain.attributes),
        budget=wire.Budget(granted=str(budget.granted), spent=str(budget.spent), remaining=str(budget.remaining)),
        releases=tuple(_summary(key, standing) for key, standing in dataset.releases.items()),
    )


def _summary(release_id: str, standing: Standing) -> wire.ReleaseSummary:
    return wire.ReleaseSummary(
        id=release_id,
        state=standing.state.value,
        epsilon=str(standing.epsilon),
        synopsis=synopsis_reference(standing),
    )


def synopsis_reference(standing: Standing) -> wire.SynopsisReference | None:
    """The digest of a release's synopsis; None until it is published."""
    return wire.SynopsisReference(digest=standing.digest) if standing.digest else None
