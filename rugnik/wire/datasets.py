"""Datasets: register, grant, list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rugnik.wire.about import About, AboutBody
from rugnik.wire.base import Body, Reply
from rugnik.wire.kinds import KINDS
from rugnik.wire.limits import MAX_DIMENSIONS, MAX_ROWS, DatasetName, Doc, EpsilonText, Finite, Limits, Line, one_of

TwoPersonsAbove = Annotated[
    EpsilonText | None,
    Doc("An order, a grant or a void of more epsilon than this takes two keys; left out where there is no such rule."),
]
Label = Annotated[str | None, Doc("What its order is called; left out where nobody said.")]
State = Annotated[
    str,
    one_of("ordered", "counting", "burnt", "published", "void"),
    Doc(
        "Where a release stands. Counting: rows are counted elsewhere, noise was drawn for some steps, and the next is "
        "awaited. Burnt: noise was drawn and nothing is published, so that its epsilon is spent."
    ),
]


Kind = Annotated[
    str,
    one_of(*KINDS),
    Doc("The kind of its values: what bounds and ranges mean, and how values are written."),
]
Bound = Annotated[
    Annotated[int, Limits(strict=True)] | Finite | Annotated[str, Limits(max_length=40)] | None,
    Doc(
        "A number for a number or an integer, YYYY-MM-DD for a date, RFC 3339 with an offset for a datetime. Both "
        "bounds belong to the range, except the upper bound of a datetime. A category has none.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute(Reply):
    """A column, the kind of its values, and its public bounds or values."""

    name: Annotated[str, Limits(min_length=1, max_length=64)]
    kind: Kind = "number"
    lower: Bound = None
    upper: Bound = None
    values: Annotated[
        tuple[Annotated[str, Limits(max_length=100)], ...] | None,
        Doc("The values of a category, matched as text."),
    ] = None
    other: Annotated[
        bool, Doc("Whether values that are not on the list of a category have a cell; else rows drop.")
    ] = False
    missing: Annotated[
        str, one_of("drop", "keep"), Doc("Rows with a missing or unreadable value drop, or have a cell of their own.")
    ] = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeBody(Attribute, Body):
    """One column with its public bounds or values, stated and never read off the data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit(Reply):
    """Whose presence is protected: a record, or a person with at most so many rows. A dataset has one unit for life."""

    kind: Annotated[str, one_of("record", "person")]
    column: Annotated[
        Annotated[str, Limits(min_length=1, max_length=64)] | None,
        Doc("The column with the ids of persons: no attribute, and never released. Null for records."),
    ] = None
    max_rows: Annotated[
        Annotated[int, Limits(strict=True, ge=1, le=MAX_ROWS)] | None,
        Doc("The most rows that are counted of a person; the noise grows with it. Null for records."),
    ] = None

    @property
    def sentence(self) -> str:
        """Whom it protects, in words."""
        if self.kind == "record":
            return "records: one row each"
        return f"persons by the column {self.column}, at most {self.max_rows} rows each"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitBody(Unit, Body):
    """The privacy unit of a dataset to register."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetBody(Body):
    """A population to register: its public box and its first grant."""

    name: DatasetName
    description: Annotated[Line, Limits(max_length=2000)] = ""
    attributes: Annotated[list[AttributeBody], Limits(min_length=1, max_length=MAX_DIMENSIONS)]
    unit: UnitBody = UnitBody(kind="record")
    budget: EpsilonText
    two_persons_above: TwoPersonsAbove = None
    about: Annotated[AboutBody | None, Doc("What is said of it on the card of its releases: public, and for ever.")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantBody(Body):
    """More epsilon for a dataset, and why."""

    epsilon: EpsilonText
    reason: Annotated[Line, Limits(min_length=1, max_length=500)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleBody(Body):
    """The two-person rule of a dataset. To raise or to remove it takes two keys itself."""

    above: Annotated[
        EpsilonText | None,
        Doc('An order, a grant or a void of more epsilon than this takes two keys: "0" is all. Left out: no rule.'),
    ] = None


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
    label: Label = None
    ordered: Annotated[str | None, Doc("The UTC day of its order.")] = None
    published: Annotated[str | None, Doc("The UTC day of its publication; left out until then.")] = None

    @property
    def day(self) -> str | None:
        """The UTC day of its publication, before that of its order; None from a service that does not say."""
        return self.published or self.ordered


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseList(Reply):
    """Releases of a dataset, newest last; `next` is the number to give as `after` for more."""

    releases: tuple[ReleaseSummary, ...]
    next: int | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Dataset(Reply):
    """A population: its public schema, its budget, its newest releases (to an analyst, published ones only)."""

    name: str
    description: str
    state: Annotated[str, one_of("open", "closed")]
    attributes: tuple[Attribute, ...]
    unit: Unit
    budget: Budget
    releases: Annotated[
        tuple[ReleaseSummary, ...],
        Doc("The newest 100, newest last. `GET /v1/datasets/{name}/releases` has them all, in pages."),
    ]
    earlier_releases: Annotated[int, Doc("How many releases come before these; left out if none.")] = 0
    newest_published: Annotated[
        ReleaseSummary | None,
        Doc(
            "The release that was published last, where it is not the last published one of the list; left out "
            "otherwise."
        ),
    ] = None
    two_persons_above: TwoPersonsAbove = None
    about: Annotated[About | None, Doc("What the curator says of it; left out where nothing was said.")] = None

    @property
    def newest(self) -> ReleaseSummary | None:
        """The release that was published last."""
        listed = (release for release in reversed(self.releases) if release.state == "published")
        return self.newest_published or next(listed, None)

    @property
    def release_count(self) -> int:
        """How many releases it has; to an analyst, how many published ones."""
        return self.earlier_releases + len(self.releases)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetList(Reply):
    """Datasets that the key may see, by name; `next` is the name to give as `after` for more."""

    datasets: tuple[Dataset, ...]
    next: str | None
