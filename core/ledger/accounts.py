"""What the books hold: a dataset's account, a release and a key, each as the ledger's entries leave it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from core.budget import Budget, Epsilon
from core.ledger.kinds import Kind


@dataclass(slots=True)
class Trail:
    """The entries about one dataset, or about keys: how many, the number of the newest, and the actors of all."""

    entries: int = 0
    newest: int = 0
    actors: set[str] = field(default_factory=set)

    def add(self, seq: int, actor: str) -> None:
        """Count one entry more."""
        self.entries += 1
        self.newest = seq
        self.actors.add(actor)


@dataclass(slots=True)
class Account:
    """A dataset: the detail of its registration, its billionths of epsilon, and its releases.

    `releases` has them in the order of their charges and `published` in the order of their publication. Both lists
    only ever grow at the end, so a place in them never means another release. `open_orders` counts those that wait for
    their rows.

    `above` is the two-person rule in billionths, None where there is none. `requests` has all requests in their order,
    and `waiting` those that nobody decided, by their hash.
    """

    name: str
    registration: Mapping[str, Any]
    granted: int = 0
    spent: int = 0
    spent_on_drawn: int = 0
    closed: bool = False
    open_orders: int = 0
    trail: Trail = field(default_factory=Trail)
    releases: list[str] = field(default_factory=list)
    published: list[str] = field(default_factory=list)
    above: int | None = None
    requests: list[RequestRecord] = field(default_factory=list)
    waiting: dict[str, RequestRecord] = field(default_factory=dict)

    @property
    def budget(self) -> Budget:
        """Grants minus charges plus voids."""
        return Budget(granted=Epsilon(self.granted), spent=Epsilon(self.spent))


@dataclass(slots=True)
class ReleaseRecord:
    """A release: its account, its charge by number and hash, the kind of its last entry, the digest it published.

    `step` is the place of its last `draw` in the course of a release (`core.ledger.kinds.STEPS`), 0 before the first.
    Where rows are counted elsewhere, `size` is the bought size and `layers` are the digests of the layers drawn so far.
    `card` is the digest of its card; a release that was published before there were cards has none.
    `label` is what its order is called, None where nobody said. `ordered` and `published` are the UTC days of its
    charge and of its publication.
    """

    account: Account
    nano: int
    charge_seq: int
    charge_hash: bytes
    last: Kind
    ordered: str
    label: str | None = None
    published: str | None = None
    digest: bytes | None = None
    step: int = 0
    size: int | None = None
    layers: tuple[bytes, ...] = ()
    card: bytes | None = None


class RequestState(StrEnum):
    """Where a request stands."""

    WAITING = "waiting"
    APPROVED = "approved"
    REFUSED = "refused"


@dataclass(slots=True)
class RequestRecord:
    """A request: its account, its number and hash, who asked for what, and the entry that decided it.

    `content` is the SHA-256 of what was asked for (`core.ledger.two_persons`); the ledger has the terms themselves.
    """

    account: Account
    seq: int
    hash: str
    kind: Kind
    release: str | None
    content: bytes
    actor: str
    state: RequestState = RequestState.WAITING
    decided_seq: int | None = None
    decided_hash: str | None = None

    @property
    def id(self) -> str:
        """How people name it: q and the number of its entry."""
        return f"q{self.seq}"


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key: id, name, role and datasets, a hash of its secret, and the days on which it was issued and revoked."""

    id: str
    name: str
    role: str
    datasets: frozenset[str] | None
    secret_hash: str
    issued: str
    revoked: str | None = None


SECRET_HASH = "sha256_of_secret_sha256"  # noqa: S105 - a field's name: SHA-256 of the hex SHA-256 of the secret
