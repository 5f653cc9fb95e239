"""Datasets: the domain and the unit of a body, and the reply about a dataset."""

from __future__ import annotations

from app.ledger.standing import Standing, Stretch
from app.releases.datasets import Dataset
from core.domain.attribute import Attribute
from core.domain.domain import Domain
from core.domain.kinds import attribute_of
from core.domain.number import Number
from core.errors import InvalidDomain
from core.unit import Unit
from rugnik import wire
from rugnik.wire.base import json_fields

# Variances, covariances and their errors stay within the range of a double.
LEAST_WIDTH, MOST_WIDTH = 1e-70, 1e70


def domain_of(body: wire.DatasetBody) -> Domain:
    """The public box; InvalidDomain where it cannot be gridded."""
    return Domain(tuple(_attribute(position, each) for position, each in enumerate(body.attributes)))


def unit_of(body: wire.DatasetBody) -> Unit:
    """The privacy unit; InvalidDomain where it is none."""
    try:
        return Unit.from_json(json_fields(body.unit))
    except InvalidDomain as error:
        raise InvalidDomain(f"unit: {error}") from None


def about_texts(body: wire.DatasetBody) -> dict[str, str]:
    """What the curator says of a dataset, by field; a text that is empty was not given."""
    return {} if body.about is None else {name: text for name, text in json_fields(body.about).items() if text}


def _attribute(position: int, body: wire.AttributeBody) -> Attribute:
    """An attribute; errors name it by its position, because messages do not repeat what was sent."""
    try:
        attribute = attribute_of(json_fields(body))
    except InvalidDomain as error:
        raise InvalidDomain(f"attributes[{position}]: {error}") from None
    if isinstance(attribute, Number) and not LEAST_WIDTH <= attribute.width <= MOST_WIDTH:
        raise InvalidDomain(f"attributes[{position}]: The bounds lie {LEAST_WIDTH:g} to {MOST_WIDTH:g} apart.")
    return attribute


def dataset_reply(dataset: Dataset) -> wire.Dataset:
    """Schema, budget and newest releases of a dataset."""
    budget = dataset.budget
    return wire.Dataset(
        name=dataset.name,
        description=dataset.description,
        state="closed" if dataset.closed else "open",
        attributes=tuple(wire.Attribute.of(each.declaration()) for each in dataset.domain.attributes),
        unit=wire.Unit(**dataset.unit.to_json()),
        budget=wire.Budget(granted=str(budget.granted), spent=str(budget.spent), remaining=str(budget.remaining)),
        releases=tuple(_summary(key, standing) for key, standing in dataset.releases.items()),
        earlier_releases=dataset.earlier,
        newest_published=None if dataset.last_published is None else _summary(*dataset.last_published),
        two_persons_above=None if dataset.two_persons_above is None else str(dataset.two_persons_above),
        about=wire.About(**dataset.about) if dataset.about else None,
    )


def releases_reply(listed: Stretch) -> wire.ReleaseList:
    """Some releases of a dataset, and where to read on."""
    shown = tuple(_summary(key, standing) for key, standing in listed.standings.items())
    return wire.ReleaseList(releases=shown, next=listed.before + len(shown) if listed.after else None)


def _summary(release_id: str, standing: Standing) -> wire.ReleaseSummary:
    return wire.ReleaseSummary(
        id=release_id,
        state=standing.state.value,
        epsilon=str(standing.epsilon),
        synopsis=synopsis_reference(standing),
        label=standing.label,
        ordered=standing.ordered,
        published=standing.published,
    )


def synopsis_reference(standing: Standing) -> wire.SynopsisReference | None:
    """The digest of a release's synopsis; None until it is published."""
    return wire.SynopsisReference(digest=standing.digest) if standing.digest else None
