"""About: what a curator says of a dataset in words, for the card of its releases. All of it is public and optional.

The fields follow the DP deployments registry (opendp/deployments-registry-data) and the questions of NIST SP 800-226.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, get_type_hints

from rugnik.wire.base import Body, Reply
from rugnik.wire.limits import Doc, Limits, Line

SHORT, LONG = 200, 2000  # characters
_LONG_FIELDS = {"intended_use", "collection", "preparation", "justification"}
_Short = Annotated[Line, Limits(max_length=SHORT)]
_Long = Annotated[Line, Limits(max_length=LONG)]


@dataclass(frozen=True, slots=True, kw_only=True)
class About(Reply):
    """What the curator says of a dataset, for the card of its releases. It is public, and fixed at registration."""

    curators: Annotated[_Short | None, Doc("Who publishes it: an organisation, or persons.")] = None
    contact: Annotated[_Short | None, Doc("Where questions about it are answered.")] = None
    intended_use: Annotated[_Long | None, Doc("What the releases are for.")] = None
    region: Annotated[_Short | None, Doc("The region that the data describe, or whose law applies.")] = None
    sector: Annotated[_Short | None, Doc("The industry or field, such as Healthcare or Government.")] = None
    collection: Annotated[_Long | None, Doc("How the rows were collected, and from whom.")] = None
    preparation: Annotated[
        _Long | None,
        Doc("What was done to the rows before, and how bounds and other parameters were chosen."),
    ] = None
    justification: Annotated[_Long | None, Doc("Why this budget, and this unit of privacy.")] = None
    licence: Annotated[_Short | None, Doc("Licence or terms of use, best as an address.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutBody(About, Body):
    """What the curator says of a dataset to register. Empty texts count as not given."""


def _described(name: str) -> tuple[str, int]:
    """The sentence about a field, and the most characters that it takes."""
    limits, doc = LONG if name in _LONG_FIELDS else SHORT, get_type_hints(About, include_extras=True)[name]
    return next(each.text for each in doc.__metadata__ if isinstance(each, Doc)), limits


# The fields in their order, each with a title for forms and pages.
TITLES: Mapping[str, str] = {
    "curators": "Published by",
    "contact": "Contact",
    "intended_use": "Intended use",
    "region": "Region",
    "sector": "Sector",
    "collection": "How the rows were collected",
    "preparation": "Preparation of the rows",
    "justification": "Why this budget and unit",
    "licence": "Licence or terms",
}

# Name, title, help and the most characters of each field, for forms.
ABOUT_FIELDS: tuple[tuple[str, str, str, int], ...] = tuple(
    (name, title, *_described(name)) for name, title in TITLES.items()
)


def about_body(stated: Mapping[str, Any]) -> AboutBody:
    """From fields by name. A registration is for ever, so ValueError for a misspelt name or for what is no text."""
    names = [member.name for member in fields(AboutBody)]
    unknown = [str(name) for name in stated if name not in names]
    if unknown:
        raise ValueError(f"about has no field {unknown[0]}; it has {', '.join(names)}.")
    if not all(isinstance(value, str) for value in stated.values()):
        raise ValueError("The fields of about are texts.")
    return AboutBody(**stated)
