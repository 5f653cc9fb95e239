"""Keys on the wire."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from app.access.keys import StoredKey
from app.access.permissions import Role
from app.http.schemas.base import Body, DatasetName, Line


class KeyBody(Body):
    """A key to issue; without datasets it is not limited to some."""

    name: Annotated[Line, Field(min_length=1, max_length=40)]
    role: Role
    datasets: Annotated[list[DatasetName], Field(min_length=1, max_length=1000)] | None = None


class KeyReply(BaseModel):
    """A key without its secret."""

    id: str
    name: str
    role: Role
    datasets: list[str] | None
    created_at: str
    revoked_at: str | None

    @classmethod
    def of(cls, stored: StoredKey) -> KeyReply:
        """From a stored key."""
        who = stored.principal
        return cls(
            id=who.id,
            name=who.name,
            role=who.role,
            datasets=None if who.datasets is None else sorted(who.datasets),
            created_at=stored.created_at,
            revoked_at=stored.revoked_at,
        )


class NewKeyReply(KeyReply):
    """A key just issued: its secret is shown this once."""

    key: str


class KeyList(BaseModel):
    """Keys that were ever issued, oldest first; `next` is the id to give as `after` for more."""

    keys: list[KeyReply]
    next: str | None
