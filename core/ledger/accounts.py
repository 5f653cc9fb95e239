"""What the books hold: a dataset's account, a release and a key, each as the ledger's entries leave it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.budget import Budget, Epsilon
from core.ledger.kinds import Kind


@dataclass(slots=True)
class Account:
    """A dataset: the detail of its registration, its billionths of epsilon, and its releases, oldest order first."""

    name: str
    registration: Mapping[str, Any]
    granted: int = 0
    spent: int = 0
    spent_on_drawn: int = 0
    closed: bool = False
    releases: list[str] = field(default_factory=list)
    published: list[str] = field(default_factory=list)

    @property
    def budget(self) -> Budget:
        """Grants minus charges plus voids."""
        return Budget(granted=Epsilon(self.granted), spent=Epsilon(self.spent))


@dataclass(slots=True)
class ReleaseRecord:
    """A release: its account, its charge by number and hash, the kind of its last entry, the digest it published."""

    account: Account
    nano: int
    charge_seq: int
    charge_hash: bytes
    last: Kind
    digest: bytes | None = None


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
