"""Who is calling: Principal and Role, keys as the ledger has them, and the annotated types that routes name them by.

A caller shows a key as a bearer token or, in a browser, the cookie of a session that a key began. The key counts where
both are sent.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.exc import SQLAlchemyError

from app.access import sessions
from app.access.quotas import require_room_for_key
from app.errors import NotAllowed, NotAuthenticated, NotFound, NotReady
from app.ledger.book import open_book, read_book
from app.service import Service
from core.ledger.books import SECRET_HASH, KeyRecord
from core.ledger.chain import Kind

_bearer = HTTPBearer(auto_error=False, description="A rugnik key.")
_cookie = APIKeyCookie(
    name="rugnik",
    auto_error=False,
    description=f"A session of the dashboard; a change needs the page's token in {sessions.CSRF_HEADER} as well.",
)
_ENVIRONMENT = "environment"
_KEY_ID = re.compile(r"k[0-9a-f]{8}", re.ASCII)

ITSELF = "rugnik start"  # who issues a key when nobody is there yet to ask for it
BELIEVED_SECONDS = 5.0  # for so long a key that was revoked in another process may still work


class Role(StrEnum):
    """What a key may do. No role implies another beyond what each route names."""

    ADMIN = "admin"
    CURATOR = "curator"
    ANALYST = "analyst"
    AUDITOR = "auditor"


ASKERS = (Role.ANALYST, Role.CURATOR, Role.AUDITOR)  # who may put questions to a synopsis


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller: a key's id, name and role, and the datasets it is limited to (None: not limited)."""

    id: str
    name: str
    role: Role
    datasets: frozenset[str] | None

    @property
    def actor(self) -> str:
        """How the ledger names this caller."""
        return f"{self.name} [{self.id}]"

    def may_see(self, dataset: str) -> bool:
        """Whether this key reaches a dataset of that name."""
        return self.datasets is None or dataset in self.datasets

    @property
    def sees_whole_ledger(self) -> bool:
        """Whether all entries are for this caller: those of any dataset, and those about keys, which have none."""
        return self.role in {Role.ADMIN, Role.AUDITOR} and self.datasets is None

    def require_unlimited(self) -> None:
        """Refuse a key that is limited to some datasets."""
        if self.datasets is not None:
            raise NotAllowed("This needs a key that is not limited to some datasets.")


_OWN_ADMIN = Principal(id=_ENVIRONMENT, name="RUGNIK_ADMIN_KEY", role=Role.ADMIN, datasets=None)


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key as it is kept: everything but the secret."""

    principal: Principal
    created_at: str
    revoked_at: str | None


def issue_key(
    service: Service, *, name: str, role: Role, datasets: frozenset[str] | None, actor: str = ITSELF
) -> tuple[StoredKey, str]:
    """Make a key; the second value is the secret, shown once and never again: 256 bits after a readable prefix."""
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
    """End a key. A second time changes nothing."""
    with open_book(service) as book:
        key = book.replay.books.keys.get(key_id)
        if key is None:
            raise NotFound("There is no key of this id.")
        if key.revoked is None:
            book.append(Kind.REVOKE, dataset=None, actor=actor, detail={"id": key_id})


def first_admin_key(service: Service) -> str | None:
    """On the very first start without RUGNIK_ADMIN_KEY: an admin key, to be printed once."""
    if service.settings.admin_key is not None or service.replay.books.keys:
        return None
    return issue_key(service, name="first admin", role=Role.ADMIN, datasets=None)[1]


def believed(service: Service, token: str) -> Principal | None:
    """The caller behind a key, if this process looked at the ledger within the last seconds and knows the key.

    Quick enough for an event loop: two hashes, and nothing that waits.
    """
    return _caller_of(service, token) if service.replay.age < BELIEVED_SECONDS else None


def authenticate(service: Service, token: str) -> Principal:
    """The caller behind a key. An id that nobody issued so far makes this process look at the ledger at once."""
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


def _caller_of(service: Service, token: str) -> Principal | None:
    """What is on record is a hash of the secret's hash, compared in constant time."""
    shown = _on_record(token_digest(token))
    own = _own_admin(service)
    if own is not None and hmac.compare_digest(own, shown):
        return _OWN_ADMIN
    return _holder(service, _id_in(token), shown)


def _holder(service: Service, key_id: str, shown: str) -> Principal | None:
    """The holder of a key that has not ended, if this is what the ledger holds of its secret."""
    key = service.replay.books.keys.get(key_id)
    if key is None or key.revoked is not None or key.role not in set(Role):
        return None
    return _stored(key).principal if hmac.compare_digest(key.secret_hash, shown) else None


def _may_be_new(service: Service, token: str) -> bool:
    key_id = _id_in(token)
    return _KEY_ID.fullmatch(key_id) is not None and key_id not in service.replay.books.keys


def _id_in(token: str) -> str:
    parts = token.split("_", 3)
    return parts[2] if len(parts) == 4 else ""


def sign_in(service: Service, key: str) -> str:
    """Begin a session for whoever shows a key; the value for the cookie."""
    caller = authenticate(service, key)
    return sessions.start(service, key_id=caller.id, secret_sha256=token_digest(key))


def resume(service: Service, token: str) -> Principal:
    """The caller behind a session's cookie, as long as neither the session nor its key has ended."""
    with read_book(service) as book:
        session = sessions.find(service, book.tx, token)
    if session is None:
        raise NotAuthenticated
    if session.ended:
        sessions.end(service, token)
        raise NotAuthenticated
    shown = _on_record(session.secret_sha256)
    own = _own_admin(service)
    if session.key_id == _ENVIRONMENT and own is not None and hmac.compare_digest(own, shown):
        return _OWN_ADMIN
    caller = _holder(service, session.key_id, shown)
    if caller is None:
        raise NotAuthenticated
    return caller


def _own_admin(service: Service) -> str | None:
    own = service.settings.admin_key
    return None if own is None else _on_record(token_digest(own.get_secret_value()))


def token_digest(token: str) -> str:
    """What a session holds of a key, masked. 256 random bits need no slow hash: there is nothing to guess."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _on_record(secret_sha256: str) -> str:
    """What the ledger holds of a key. It neither gives the key nor what a session needs."""
    return sha256(secret_sha256.encode()).hexdigest()


def _stored(key: KeyRecord) -> StoredKey:
    principal = Principal(id=key.id, name=key.name, role=Role(key.role), datasets=key.datasets)
    return StoredKey(principal=principal, created_at=key.issued, revoked_at=key.revoked)


async def service_of(request: Request) -> Service:
    """The Service of the application that handles this request."""
    service: Service = request.app.state.service
    return service


CurrentService = Annotated[Service, Depends(service_of)]
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
Cookie = Annotated[str | None, Security(_cookie)]  # for the OpenAPI document; its name over https is another


def _require(*roles: Role) -> Callable[..., Awaitable[Principal]]:
    """A dependency that admits some roles and refuses the others by name."""

    async def principal(
        request: Request, service: CurrentService, credentials: Credentials, _session: Cookie
    ) -> Principal:
        caller = await _caller(request, service, credentials)
        request.state.principal = caller
        if caller.role not in roles:
            allowed = " or ".join(role.value for role in roles)
            raise NotAllowed(f"This takes a key of role {allowed}; yours is {caller.role.value}.")
        return caller

    return principal


async def _caller(request: Request, service: Service, credentials: HTTPAuthorizationCredentials | None) -> Principal:
    """By key, else by session; a change by session must come from a page of ours."""
    if credentials is not None:
        caller = believed(service, credentials.credentials)
        if caller is not None:
            return caller
        return await to_thread.run_sync(authenticate, service, credentials.credentials)
    token = sessions.cookie_of(request)
    if token is None:
        raise NotAuthenticated
    caller = await to_thread.run_sync(resume, service, token)
    if request.method not in sessions.SAFE_METHODS:
        sessions.require_own_page(request, token, request.headers.get(sessions.CSRF_HEADER))
    return caller


async def authenticated(request: Request) -> Principal:
    """Whoever sends this request, before its body is read; whether the role does is the route's question."""
    caller = await _caller(request, await service_of(request), await _bearer(request))
    request.state.principal = caller
    return caller


async def visitor(request: Request) -> Principal | None:
    """Whoever is signed in, for a page that refuses nobody; None also where that cannot be found out."""
    token = sessions.cookie_of(request)
    if token is None:
        return None
    try:
        return await to_thread.run_sync(resume, await service_of(request), token)
    except (NotAuthenticated, NotReady, SQLAlchemyError):
        return None


Admin = Annotated[Principal, Depends(_require(Role.ADMIN))]
Curator = Annotated[Principal, Depends(_require(Role.CURATOR))]
Auditor = Annotated[Principal, Depends(_require(Role.AUDITOR, Role.ADMIN))]
LedgerReader = Annotated[Principal, Depends(_require(Role.AUDITOR, Role.ADMIN, Role.CURATOR))]
Asker = Annotated[Principal, Depends(_require(*ASKERS))]
Anyone = Annotated[Principal, Depends(_require(*Role))]
