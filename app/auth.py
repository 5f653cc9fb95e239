"""Who is calling: Principal and Role, keys that are stored hashed, and the annotated types that routes name them by.

A caller shows a key as a bearer token or, in a browser, the cookie of a session that a key began. The key counts where
both are sent.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy import RowMapping, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from app import sessions
from app.errors import NotAllowed, NotAuthenticated, NotFound
from app.service import Service
from app.tables import keys

_bearer = HTTPBearer(auto_error=False, description="A rugnik key.")
_cookie = APIKeyCookie(
    name="rugnik",
    auto_error=False,
    description=f"A session of the dashboard; a change needs the page's token in {sessions.CSRF_HEADER} as well.",
)
_ENVIRONMENT = "environment"


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


def issue_key(service: Service, *, name: str, role: Role, datasets: frozenset[str] | None) -> tuple[StoredKey, str]:
    """Make a key; the second value is the secret, shown once and never again: 256 bits after a readable prefix."""
    key_id = f"k{secrets.token_hex(4)}"
    token = f"rugnik_{role.value}_{key_id}_{secrets.token_urlsafe(32)}"
    created_at = service.timestamp()
    row = {
        "id": key_id,
        "name": name,
        "role": role.value,
        "datasets": None if datasets is None else json.dumps(sorted(datasets)),
        "secret_sha256": token_digest(token),
        "created_at": created_at,
        "revoked_at": None,
    }
    with service.database.transaction() as tx:
        tx.execute(insert(keys).values(row))
    principal = Principal(id=key_id, name=name, role=role, datasets=datasets)
    return StoredKey(principal=principal, created_at=created_at, revoked_at=None), token


def list_keys(service: Service) -> list[StoredKey]:
    """Every key that was ever issued, oldest first."""
    with service.database.read_only() as tx:
        rows = tx.execute(select(keys).order_by(keys.c.created_at, keys.c.id)).mappings()
        return [_stored(row) for row in rows]


def revoke_key(service: Service, key_id: str) -> None:
    """End a key. A second time changes nothing; the row stays, because the ledger names it."""
    with service.database.transaction() as tx:
        known = tx.execute(select(keys.c.id).where(keys.c.id == key_id)).first()
        if known is None:
            raise NotFound("There is no key of this id.")
        ended = update(keys).where(keys.c.id == key_id, keys.c.revoked_at.is_(None))
        tx.execute(ended.values(revoked_at=service.timestamp()))
    service.principals.clear()  # here at once; in other workers once they forget


def first_admin_key(service: Service) -> str | None:
    """On the very first start without RUGNIK_ADMIN_KEY: an admin key, to be printed once."""
    if service.settings.admin_key is not None:
        return None
    with service.database.read_only() as tx:
        if tx.execute(select(keys.c.id).limit(1)).first() is not None:
            return None
    return issue_key(service, name="first admin", role=Role.ADMIN, datasets=None)[1]


def authenticate(service: Service, token: str) -> Principal:
    """The caller behind a key. The stored side is a hash, compared in constant time."""
    own = service.settings.admin_key
    if own is not None and hmac.compare_digest(token_digest(own.get_secret_value()), token_digest(token)):
        return _OWN_ADMIN
    parts = token.split("_", 3)
    if len(parts) != 4:
        raise NotAuthenticated
    with service.database.read_only() as tx:
        row = tx.execute(select(keys).where(keys.c.id == parts[2], keys.c.revoked_at.is_(None))).mappings().first()
    if row is None or not hmac.compare_digest(row["secret_sha256"], token_digest(token)):
        raise NotAuthenticated
    caller = _stored(row).principal
    service.principals.put(row["secret_sha256"], caller)
    return caller


def sign_in(service: Service, key: str) -> str:
    """Begin a session for whoever shows a key; the value for the cookie."""
    caller = authenticate(service, key)
    return sessions.start(service, key_id=caller.id, secret_sha256=token_digest(key))


def resume(service: Service, token: str) -> Principal:
    """The caller behind a session's cookie, as long as neither the session nor its key has ended."""
    session = sessions.find(service, token)
    if session is None:
        raise NotAuthenticated
    caller, secret_sha256 = _holder(service, session.key_id)
    if not hmac.compare_digest(session.binding, sessions.binding(token, secret_sha256)):
        raise NotAuthenticated
    return caller


def _holder(service: Service, key_id: str) -> tuple[Principal, str]:
    """A key that is still good, by its id, with the hash of its secret."""
    own = service.settings.admin_key
    if key_id == _ENVIRONMENT and own is not None:
        return _OWN_ADMIN, token_digest(own.get_secret_value())
    with service.database.read_only() as tx:
        row = tx.execute(select(keys).where(keys.c.id == key_id, keys.c.revoked_at.is_(None))).mappings().first()
    if row is None:
        raise NotAuthenticated
    return _stored(row).principal, row["secret_sha256"]


def token_digest(token: str) -> str:
    """What is stored of a key, and what a caller is remembered by."""
    # 256 random bits need no slow hash: there is nothing to guess.
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _stored(row: RowMapping) -> StoredKey:
    names = None if row["datasets"] is None else frozenset(json.loads(row["datasets"]))
    principal = Principal(id=row["id"], name=row["name"], role=Role(row["role"]), datasets=names)
    return StoredKey(principal=principal, created_at=row["created_at"], revoked_at=row["revoked_at"])


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
        request.state.principal = caller.id
        request.state.role = caller.role
        if caller.role not in roles:
            allowed = " or ".join(role.value for role in roles)
            raise NotAllowed(f"This takes a key of role {allowed}; yours is {caller.role.value}.")
        return caller

    return principal


async def _caller(request: Request, service: Service, credentials: HTTPAuthorizationCredentials | None) -> Principal:
    """By key, else by session; a change by session must come from a page of ours."""
    if credentials is not None:
        known = service.principals.get(token_digest(credentials.credentials))
        if known is not None:
            return known
        return await to_thread.run_sync(authenticate, service, credentials.credentials)
    token = sessions.cookie_of(request)
    if token is None:
        raise NotAuthenticated
    caller = await to_thread.run_sync(resume, service, token)
    if request.method not in sessions.SAFE_METHODS:
        sessions.require_own_page(request, token, request.headers.get(sessions.CSRF_HEADER))
    return caller


async def visitor(request: Request) -> Principal | None:
    """Whoever is signed in, for a page that refuses nobody; None also where that cannot be found out."""
    token = sessions.cookie_of(request)
    if token is None:
        return None
    try:
        return await to_thread.run_sync(resume, await service_of(request), token)
    except (NotAuthenticated, SQLAlchemyError):
        return None


Admin = Annotated[Principal, Depends(_require(Role.ADMIN))]
Curator = Annotated[Principal, Depends(_require(Role.CURATOR))]
Auditor = Annotated[Principal, Depends(_require(Role.AUDITOR, Role.ADMIN))]
LedgerReader = Annotated[Principal, Depends(_require(Role.AUDITOR, Role.ADMIN, Role.CURATOR))]
Asker = Annotated[Principal, Depends(_require(*ASKERS))]
Anyone = Annotated[Principal, Depends(_require(*Role))]
