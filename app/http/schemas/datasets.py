"""Datasets and grants on the wire."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, FiniteFloat

from app.http.schemas.base import Body, DatasetName, EpsilonText, Line
from app.ledger.standing import Standing
from app.releases.datasets import Dataset
from core.budget import Budget
from core.domain.domain import Attribute, Domain
from core.domain.grid import MAX_DIMENSIONS
from core.errors import InvalidDomain
from core.ledger.kinds import State

# Variances, covariances and their errors stay within the range of a double.
LEAST_WIDTH, MOST_WIDTH = 1e-70, 1e70


class AttributeBody(Body):
    """One numeric column with its public bounds, stated and never read off the data."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    lower: FiniteFloat
    upper: FiniteFloat


class DatasetBody(Body):
    """A population to register: its public box and its first grant."""

    name: DatasetName
    description: Annotated[Line, Field(max_length=2000)] = ""
    attributes: Annotated[list[AttributeBody], Field(min_length=1, max_length=MAX_DIMENSIONS)]
    budget: EpsilonText

    def to_domain(self) -> Domain:
        """The public box; refused where it cannot be gridded."""
        return Domain(tuple(self._attribute(position) for position in range(len(self.attributes))))

    def _attribute(self, position: int) -> Attribute:
        body = self.attributes[position]
        try:
            attribute = Attribute(name=body.name, lower=body.lower, upper=body.upper)
        except InvalidDomain as error:  # which one, by its place: messages do not repeat what was sent
            raise InvalidDomain(f"attributes[{position}]: {error}") from None
        if not LEAST_WIDTH <= attribute.width <= MOST_WIDTH:
            raise InvalidDomain(f"attributes[{position}]: The bounds lie {LEAST_WIDTH:g} to {MOST_WIDTH:g} apart.")
        return attribute


class GrantBody(Body):
    """More epsilon for a dataset, and why."""

    epsilon: EpsilonText
    reason: Annotated[Line, Field(min_length=1, max_length=500)]


class BudgetReply(BaseModel):
    """Grants minus charges plus voids."""

    granted: str
    spent: str
    remaining: str

    @classmethod
    def of(cls, budget: Budget) -> BudgetReply:
        """From a Budget."""
        return cls(granted=str(budget.granted), spent=str(budget.spent), remaining=str(budget.remaining))


class AttributeReply(BaseModel):
    """A column and its public bounds."""

    name: str
    lower: float
    upper: float


class SynopsisReference(BaseModel):
    """A synopsis by its name: the SHA-256 of its canonical bytes."""

    digest: str

    @classmethod
    def of(cls, standing: Standing) -> SynopsisReference | None:
        """From a release's standing; None until it is published."""
        return cls(digest=standing.digest) if standing.digest else None


class ReleaseSummary(BaseModel):
    """A release in the listing of its dataset."""

    id: str
    state: State
    epsilon: str
    synopsis: SynopsisReference | None

    @classmethod
    def of(cls, release_id: str, standing: Standing) -> ReleaseSummary:
        """From a release's standing in the ledger."""
        return cls(
            id=release_id,
            state=standing.state,
            epsilon=str(standing.epsilon),
            synopsis=SynopsisReference.of(standing),
        )


class DatasetReply(BaseModel):
    """A population: its public schema, its budget, its releases."""

    name: str
    description: str
    state: Literal["open", "closed"]
    attributes: list[AttributeReply]
    budget: BudgetReply
    releases: list[ReleaseSummary]

    @classmethod
    def of(cls, dataset: Dataset) -> DatasetReply:
        """From a Dataset."""
        return cls(
            name=dataset.name,
            description=dataset.description,
            state="closed" if dataset.closed else "open",
            attributes=[AttributeReply(**attribute.described()) for attribute in dataset.domain.attributes],
            budget=BudgetReply.of(dataset.budget),
            releases=[ReleaseSummary.of(key, value) for key, value in dataset.releases.items()],
        )


class DatasetList(BaseModel):
    """Datasets that the key may see, by name; `next` is the name to give as `after` for more."""

    datasets: list[DatasetReply]
    next: str | None
