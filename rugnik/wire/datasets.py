"""Datasets: register, grant, list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rugnik.wire.base import Body, Reply
from rugnik.wire.limits import MAX_DIMENSIONS, DatasetName, Doc, EpsilonText, Finite, Limits, Line, one_of

State = Annotated[
    str,
    one_of("ordered", "burnt", "published", "void"),
    Doc("Where a release stands. Burnt: noise was drawn and nothing is published, so that its epsilon is spent."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute(Reply):
    """A column and its public bounds."""

    name: Annotated[str, Limits(min_length=1, max_length=64)]
    lower: Finite
    upper: Finite


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeBody(Attribute, Body):
    """One numeric column with its public bounds, stated and never read off the data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetBody(Body):
    """A population to register: its public box and its first grant."""

    name: DatasetName
    description: Annotated[Line, Limits(max_length=2000)] = ""
    attributes: Annotated[list[AttributeBody], Limits(min_length=1, max_length=MAX_DIMENSIONS)]
    budget: EpsilonText


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantBody(Body):
    """More epsilon for a dataset, and why."""

    epsilon: EpsilonText
    reason: Annotated[Line, Limits(min_length=1, max_length=500)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(Reply):
    """Grants minus charges plus voids."""

    granted: str
    spent: str
    remaining: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SynopsisReference(Reply):
    """A synopsis by its name: the SHA-256 of its canonical bytes."""

    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSummary(Reply):
    """A release in the listing of its dataset."""

    id: str
    state: State
    epsilon: str
    synopsis: SynopsisReference | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset(Reply):
    """A population: its public schema, its budget, its releases (to an analyst, published ones only)."""

    name: str
    description: str
    state: Annotated[str, one_of("open", "closed")]
    attributes: tuple[Attribute, ...]
    budget: Budget
    releases: tuple[ReleaseSummary, ...]

    @property
    def newest(self) -> ReleaseSummary | None:
        """The newest published release."""
        return next((release for release in reversed(self.releases) if release.state == "published"), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetList(Reply):
    """Datasets that the key may see, by name; `next` is the name to give as `after` for more."""

    datasets: tuple[Dataset, ...]
    next: str | None
