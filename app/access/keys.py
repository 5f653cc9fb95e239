"""Keys: issue, list, revoke, and find the caller behind one.

Keys live in the ledger, which holds a hash of each secret's hash. A process believes its replay of the ledger for a few
seconds, so that a request with a known key needs no database.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from dataclasses import dataclass
from hashlib import sha256

from app.access.permissions import Role
from app.access.principal import Principal
from app.access.quotas import require_room_for_key
from app.errors import NotAuthenticated, NotFound
from app.ledger.appending import open_book
from app.ledger.book import read_book
from app.service import Service
from core.ledger.accounts import SECRET_HASH, KeyRecord
from core.ledger.kinds import Kind
from core.ledger.two_persons import ENVIRONMENT_KEY

_KEY_ID = re.compile(r"k[0-9a-f]{8}", re.ASCII)

ITSELF = "rugnik start"  # the actor of a key that the service issues when nobody has one yet
BELIEVED_SECONDS = 5.0  # a key that another process revoked may still work for this long

_OWN_ADMIN = Principal(id=ENVIRONMENT_KEY, name="RUGNIK_ADMIN_KEY", role=Role.ADMIN, datasets=None)


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key as it is on record: everything but the secret."""

    principal: Principal
    created_at: str
    revoked_at: str | None


def issue_key(
    service: Service, *, name: str, role: Role, datasets: frozenset[str] | None, actor: str = ITSELF
) -> tuple[StoredKey, str]:
    """Make a key. The second value is the secret, 256 bits after a readable prefix: it is shown once and not stored."""
    key_id = f"k{secrets.token_hex(4)}"
    token = f"rugnik_{role.value}_{key_id}_{secrets.token_urlsafe(32)}"
    detail = {
        "id": key_id,
        "name": name,
        "role": role.value,
        "datasets": None if datasets is None else sorted(datasets),
        SECRET_HASH: _on_record(token_digest(token)),
    }
    with open_book(service) as book:
        require_room_for_key(book)
        book.append(Kind.ISSUE, dataset=None, actor=actor, detail=detail)
    return _stored(service.replay.books.keys[key_id]), token


def list_keys(service: Service) -> list[StoredKey]:
    """Every key that was ever issued, oldest first."""
    with read_book(service) as book, book.replay.reading() as books:
        return [_stored(key) for key in books.keys.values() if key.role in set(Role)]


def revoke_key(service: Service, key_id: str, *, actor: str) -> None:
    """End a key. A second time changes nothing. NotFound for an id that was never issued."""
    with open_book(service) as book:
        key = book.replay.books.keys.get(key_id)
        if key is None:
            raise NotFound("There is no key of this id.")
        if key.revoked is None:
            book.append(Kind.REVOKE, dataset=None, actor=actor, detail={"id": key_id})


def first_admin_key(service: Service) -> str | None:
    """On the first start without RUGNIK_ADMIN_KEY: the secret of a new admin key, to be printed once."""
    if service.settings.admin_key is not None or service.replay.books.keys:
        return None
    return issue_key(service, name="first admin", role=Role.ADMIN, datasets=None)[1]


def believed(service: Service, token: str) -> Principal | None:
    """The caller behind a key, if this process read the ledger within BELIEVED_SECONDS and the key is in it.

    Safe on an event loop: it computes two hashes and never waits.
    """
    return _caller_of(service, token) if service.replay.age < BELIEVED_SECONDS else None


def authenticate(service: Service, token: str) -> Principal:
    """The caller behind a key, or NotAuthenticated. A key id that is not in the replay makes it read the ledger."""
    asked = time.monotonic()
    if service.replay.age >= BELIEVED_SECONDS:
        service.replay.refresh_since(asked)
    caller = _caller_of(service, token)
    if caller is None and _may_be_new(service, token):
        service.replay.refresh_since(asked)
        caller = _caller_of(service, token)
    if caller is None:
        raise NotAuthenticated
    return caller


def holder_of(service: Service, key_id: str, secret_sha256: str) -> Principal | None:
    """The holder of a key that is not revoked, where `secret_sha256` is the hash of its secret.

    Both sides are hashed once more and compared in constant time.
    """
    shown = _on_record(secret_sha256)
    if key_id == ENVIRONMENT_KEY:
        return _OWN_ADMIN if _is_own_admin(service, shown) else None
    key = service.replay.books.keys.get(key_id)
    if key is None or key.revoked is not None or key.role not in set(Role):
        return None
    return _stored(key).principal if hmac.compare_digest(key.secret_hash, shown) else None


def token_digest(token: str) -> str:
    """SHA-256 of a secret. A secret has 256 random bits, so a slow password hash would add nothing."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _caller_of(service: Service, token: str) -> Principal | None:
    digest = token_digest(token)
    if _is_own_admin(service, _on_record(digest)):
        return _OWN_ADMIN
    return holder_of(service, _id_in(token), digest)


def _is_own_admin(service: Service, shown: str) -> bool:
    """Whether this is the hash of RUGNIK_ADMIN_KEY."""
    own = service.settings.admin_key
    return own is not None and hmac.compare_digest(_on_record(token_digest(own.get_secret_value())), shown)


def _may_be_new(service: Service, token: str) -> bool:
    key_id = _id_in(token)
    return _KEY_ID.fullmatch(key_id) is not None and key_id not in service.replay.books.keys


def _id_in(token: str) -> str:
    parts = token.split("_", 3)
    return parts[2] if len(parts) == 4 else ""


def _on_record(secret_sha256: str) -> str:
    """What the ledger holds of a key: a hash of the hash. It serves neither as the key nor for a session."""
    return sha256(secret_sha256.encode()).hexdigest()


def _stored(key: KeyRecord) -> StoredKey:
    principal = Principal(id=key.id, name=key.name, role=Role(key.role), datasets=key.datasets)
    return StoredKey(principal=principal, created_at=key.issued, revoked_at=key.revoked)
