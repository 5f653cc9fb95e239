"""Releases: one run of stage 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from rugnik.wire.base import Reply
from rugnik.wire.common import Grid
from rugnik.wire.datasets import State, SynopsisReference
from rugnik.wire.limits import Doc
from rugnik.wire.orders import Noise, Note, Threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge(Reply):
    """The ledger entry that paid for a release."""

    epsilon: str
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePlan(Reply):
    """The order of a release; its grid is known at once for a declared size, else when it is published."""

    order: Mapping[str, Any]
    grid: Grid | None
    threshold: Threshold
    noise: Noise
    size: Annotated[int | None, Doc("The size that the grid was planned for: declared, or noisy once published.")]
    note: Note = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Release(Reply):
    """One run of stage 1."""

    id: str
    dataset: str
    state: State
    plan: ReleasePlan
    charge: Charge
    synopsis: SynopsisReference | None

    @property
    def label(self) -> str | None:
        """What its order is called; None where nobody said."""
        return self.plan.order.get("label")

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that were ordered."""
        return tuple(self.plan.order["attributes"])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that an upload needs: the attributes and, where persons are protected, that of their ids."""
        person = self.plan.order.get("unit", {}).get("column")
        return self.attributes if person is None else (*self.attributes, person)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest(Reply):
    """What became of the rows: exact, for the curator, in this reply and nowhere else.

    `rows_over_limit` are left out because their person has more rows than the dataset counts of a person.
    """

    rows_read: int
    rows_dropped: int
    rows_clipped: int
    rows_over_limit: Annotated[int, Doc("Rows beyond the most that are counted of a person; left out if none.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Published(Release):
    """A release that has just been published.

    `ingest` is in the reply to the upload and never again. Where that reply was lost on the way, there is none.
    """

    ingest: Ingest | None = None
