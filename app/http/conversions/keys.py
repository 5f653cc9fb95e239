"""Keys: the reply about one."""

from __future__ import annotations

from typing import Any

from app.access.keys import StoredKey
from rugnik import wire


def key_reply(stored: StoredKey) -> wire.Key:
    """A stored key, without its secret."""
    return wire.Key(**_fields(stored))


def new_key_reply(stored: StoredKey, secret: str) -> wire.NewKey:
    """A key just issued, with its secret."""
    return wire.NewKey(**_fields(stored), key=secret)


def _fields(stored: StoredKey) -> dict[str, Any]:
    who = stored.principal
    return {
        "id": who.id,
        "name": who.name,
        "role": who.role.value,
        "datasets": None if who.datasets is None else tuple(sorted(who.datasets)),
        "created_at": stored.created_at,
        "revoked_at": stored.revoked_at,
    }
