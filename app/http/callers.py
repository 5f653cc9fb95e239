"""Who is calling, for routes: the annotated types that a route's signature names its callers by.

A caller shows a key as a bearer token or, in a browser, the cookie of a session that a key began. If both are sent, the
key counts. `app.access` decides who it is and what they may do; this module reads the request.
"""

from __future__ import annotations

import hmac
from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Request, Security
from fastapi.dependencies.models import Dependant
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.exc import SQLAlchemyError

from app.access import sessions
from app.access.keys import authenticate, believed
from app.access.permissions import Permission
from app.access.principal import Principal
from app.errors import NotAllowed, NotAuthenticated, NotReady
from app.http.cookies import CSRF_HEADER, SAFE_METHODS, cookie_of, require_own_page
from app.service import Service

_bearer = HTTPBearer(auto_error=False, description="A rugnik key.")
_cookie = APIKeyCookie(
    name="rugnik",
    auto_error=False,
    description=f"A session of the dashboard; a change needs the page's token in {CSRF_HEADER} as well.",
)


async def service_of(request: Request) -> Service:
    """The Service of the application that handles this request."""
    service: Service = request.app.state.service
    return service


CurrentService = Annotated[Service, Depends(service_of)]
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
Cookie = Annotated[str | None, Security(_cookie)]  # for the OpenAPI document; over https the cookie has another name


class Requires:
    """A dependency: the caller, if their role has a permission; NotAllowed otherwise."""

    def __init__(self, permission: Permission) -> None:
        self.permission = permission

    async def __call__(
        self, request: Request, service: CurrentService, credentials: Credentials, _session: Cookie
    ) -> Principal:
        """Authenticate, then check the permission."""
        caller = await _caller(request, service, credentials)
        request.state.principal = caller
        caller.require(self.permission)
        return caller


class RequiresMetricsKey:
    """A dependency for /metrics: the metrics key, or an unlimited key with the permission. It takes no session."""

    permission = Permission.READ_METRICS

    def __call__(self, request: Request, service: CurrentService, credentials: Credentials) -> None:
        """Raise NotAuthenticated or NotAllowed."""
        if credentials is None:
            raise NotAuthenticated
        own = service.settings.metrics_key
        if own is not None and hmac.compare_digest(own.get_secret_value().encode(), credentials.credentials.encode()):
            return
        caller = authenticate(service, credentials.credentials)
        request.state.principal = caller
        if not caller.can(self.permission):
            raise NotAllowed("This takes an admin key or the metrics key.")
        caller.require_unlimited()  # the counters cover every dataset


class RequiresTileReader:
    """A dependency for the log's tiles: anybody where RUGNIK_PUBLIC_LOG says so, else an auditor of everything."""

    permission = Permission.AUDIT

    async def __call__(
        self, request: Request, service: CurrentService, credentials: Credentials, _session: Cookie
    ) -> Principal | None:
        """The caller, if a key was needed."""
        if service.settings.public_log:
            return None
        caller = await _caller(request, service, credentials)
        request.state.principal = caller
        caller.require(self.permission)
        caller.require_unlimited()
        return caller


class RequiresDocsReader:
    """A dependency for /docs: anybody where RUGNIK_PUBLIC_DOCS says so, else whoever is signed in."""

    permission = Permission.SEE_DATASETS

    async def __call__(
        self, request: Request, service: CurrentService, credentials: Credentials, _session: Cookie
    ) -> Principal | None:
        """The caller; None for somebody who is not signed in, where that is allowed."""
        if service.settings.public_docs:
            return await visitor(request)
        caller = await _caller(request, service, credentials)
        request.state.principal = caller
        caller.require(self.permission)
        return caller


def permission_of(dependant: Dependant) -> Permission | None:
    """The permission that a route requires, read from its signature; None for a route that takes no key."""
    for dependency in dependant.dependencies:
        if isinstance(dependency.call, Requires | RequiresMetricsKey | RequiresTileReader | RequiresDocsReader):
            return dependency.call.permission
    return None


async def _caller(request: Request, service: Service, credentials: HTTPAuthorizationCredentials | None) -> Principal:
    """The caller by key, else by session. A change by session must come from a page of ours."""
    if credentials is not None:
        caller = believed(service, credentials.credentials)
        if caller is not None:
            return caller
        return await to_thread.run_sync(authenticate, service, credentials.credentials)
    token = cookie_of(request)
    if token is None:
        raise NotAuthenticated
    caller = await to_thread.run_sync(sessions.resume, service, token)
    if request.method not in SAFE_METHODS:
        require_own_page(request, token, request.headers.get(CSRF_HEADER))
    return caller


async def authenticated(request: Request) -> Principal:
    """The caller, established before the body is read. The route checks the permission later."""
    caller = await _caller(request, await service_of(request), await _bearer(request))
    request.state.principal = caller
    return caller


async def visitor(request: Request) -> Principal | None:
    """Whoever is signed in, for a page that refuses nobody; None also where the session cannot be read."""
    token = cookie_of(request)
    if token is None:
        return None
    try:
        return await to_thread.run_sync(sessions.resume, await service_of(request), token)
    except (NotAuthenticated, NotReady, SQLAlchemyError):
        return None


Anyone = Annotated[Principal, Depends(Requires(Permission.SEE_DATASETS))]
Asker = Annotated[Principal, Depends(Requires(Permission.ASK))]
Curator = Annotated[Principal, Depends(Requires(Permission.CURATE))]
LedgerReader = Annotated[Principal, Depends(Requires(Permission.READ_LEDGER))]
Auditor = Annotated[Principal, Depends(Requires(Permission.AUDIT))]
Grantor = Annotated[Principal, Depends(Requires(Permission.GRANT))]
Decider = Annotated[Principal, Depends(Requires(Permission.DECIDE))]
KeyManager = Annotated[Principal, Depends(Requires(Permission.MANAGE_KEYS))]
TileReader = Annotated[Principal | None, Depends(RequiresTileReader())]
DocsReader = Annotated[Principal | None, Depends(RequiresDocsReader())]
MetricsReader = Annotated[None, Depends(RequiresMetricsKey())]
