"""Keys: who may call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rugnik.wire.base import Body, Reply
from rugnik.wire.limits import DatasetName, Doc, Limits, Line, one_of

Role = Annotated[
    str, one_of("admin", "curator", "analyst", "auditor"), Doc("What a key may do. No role implies another.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyBody(Body):
    """A key to issue; without datasets it is not limited to some."""

    name: Annotated[Line, Limits(min_length=1, max_length=40)]
    role: Role
    datasets: Annotated[list[DatasetName], Limits(min_length=1, max_length=1000)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Key(Reply):
    """A key without its secret; without datasets it is not limited to some."""

    id: str
    name: str
    role: Role
    datasets: tuple[str, ...] | None
    created_at: str
    revoked_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NewKey(Key):
    """A key just issued: `key` is its secret, shown this once."""

    key: str

    def __repr__(self) -> str:
        """Without the secret, which a notebook would otherwise keep."""
        return f"NewKey(id={self.id!r}, name={self.name!r}, role={self.role!r}, key=…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyList(Reply):
    """Keys that were ever issued, oldest first; `next` is the id to give as `after` for more."""

    keys: tuple[Key, ...]
    next: str | None
