"""Datasets, plans, releases, keys and ledger entries. Epsilons stay decimal strings, which are exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rugnik.decoding import Reply, frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute(Reply):
    """A column and its public bounds."""

    name: str
    lower: float
    upper: float


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
    """A release in the listing of its dataset: ordered, burnt, published or void."""

    id: str
    state: str
    epsilon: str
    synopsis: SynopsisReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset(Reply):
    """A population: its public schema, its budget, its releases (to an analyst, published ones only)."""

    name: str
    description: str
    state: str
    attributes: tuple[Attribute, ...]
    budget: Budget
    releases: tuple[ReleaseSummary, ...]

    @property
    def newest(self) -> ReleaseSummary | None:
        """The newest published release."""
        return next((found for found in reversed(self.releases) if found.state == "published"), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid(Reply):
    """m cells on each of d axes."""

    cells_per_axis: int
    dimensions: int
    cells: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise(Reply):
    """How the noise is drawn and what it does to one cell."""

    mechanism: str
    epsilon_histogram: str
    epsilon_size: str
    cell_sd: float
    size_sd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted(Reply):
    """What to expect of a release at 95 %, from noise alone."""

    size: int
    cell_error: int
    count_error: float | None
    typical_range: float
    expected_deviation: float
    inside_theorem: bool
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Reply):
    """A dry run of an order; grid and prediction are None where the size is estimated and no guess was given.

    With a `threshold`, only cells whose noisy count reaches it are released.
    """

    order: Mapping[str, Any]
    grid: Grid | None
    noise: Noise
    predicted: Predicted | None
    warnings: tuple[str, ...]
    threshold: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge(Reply):
    """The ledger entry that paid for a release."""

    epsilon: str
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePlan(Reply):
    """The order of a release, and its grid once that is known."""

    order: Mapping[str, Any]
    grid: Grid | None
    noise: Noise
    size: int | None
    threshold: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest(Reply):
    """What became of the rows: exact, for the curator alone."""

    rows_read: int
    rows_dropped: int
    rows_clipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Reply):
    """One run of stage 1. `ingest` is there in the reply to an upload and never again."""

    id: str
    dataset: str
    state: str
    plan: ReleasePlan
    charge: Charge
    synopsis: SynopsisReference | None
    ingest: Ingest | None = None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that were ordered."""
        return tuple(self.plan.order["attributes"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Reply):
    """A key without its secret; without datasets it is not limited to some."""

    id: str
    name: str
    role: str
    datasets: tuple[str, ...] | None
    created_at: str
    revoked_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey(Key):
    """A key just issued: `key` is its secret, shown this once, and not by repr()."""

    key: str

    def __repr__(self) -> str:
        return f"NewKey(id={self.id!r}, name={self.name!r}, role={self.role!r}, key=…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry(Reply):
    """One line of the ledger; its JSON in `raw` is what was hashed. Entries about keys have no dataset."""

    seq: int
    kind: str
    dataset: str | None
    release: str | None
    epsilon: str
    actor: str
    at: str
    detail: Mapping[str, Any]
    previous: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPage(Reply):
    """Entries, newest last; `next` is the number to give as `after` for more."""

    entries: tuple[LedgerEntry, ...]
    next: int | None

    def to_pandas(self) -> Any:
        """One row per entry."""
        names = ("seq", "at", "kind", "dataset", "release", "epsilon", "actor", "hash")
        return frame({name: [getattr(entry, name) for entry in self.entries] for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class Head(Reply):
    """The last entry's number and hash: keep it, and nobody can change an entry before it unseen."""

    seq: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Reply):
    """The outcome of walking the whole ledger."""

    valid: bool
    entries: int
    head: Head
    first_bad: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health(Reply):
    """The service lives, or is ready."""

    status: str
