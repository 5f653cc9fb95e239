"""Sessions of the dashboard: a random cookie stands for a key, so that no browser holds the key itself.

The database keeps the cookie's hash, the key's id, and a binding: HMAC(cookie, hash of the key's secret). It opens
nothing to whoever reads it, works with any number of workers, and a session ends with its key, also with one that was
set by hand and is another one today. Nothing is remembered in a process, so every end is at once and everywhere.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from urllib.parse import urlsplit

from sqlalchemy import delete, insert, select
from starlette.requests import HTTPConnection

from app.errors import ForgedRequest
from app.service import Service
from app.tables import sessions

CSRF_HEADER = "X-Rugnik-CSRF"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Session:
    """A session that is known and has not expired: whose key, and the binding to that key's secret."""

    key_id: str
    binding: str


def start(service: Service, *, key_id: str, secret_sha256: str) -> str:
    """A session for a key that was just proved; the value for the cookie. Expired ones are swept out on the way."""
    token = secrets.token_urlsafe(32)
    expires = service.clock() + timedelta(minutes=service.settings.session_minutes)
    row = {
        "id_sha256": _digest(token),
        "key_id": key_id,
        "binding": binding(token, secret_sha256),
        "expires_at": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    with service.database.transaction() as tx:
        tx.execute(delete(sessions).where(sessions.c.expires_at <= service.timestamp()))
        tx.execute(insert(sessions).values(row))
    return token


def find(service: Service, token: str) -> Session | None:
    """The session behind a cookie, unless it has ended."""
    known = select(sessions).where(sessions.c.id_sha256 == _digest(token), sessions.c.expires_at > service.timestamp())
    with service.database.read_only() as tx:
        row = tx.execute(known).mappings().first()
    return Session(key_id=row["key_id"], binding=row["binding"]) if row is not None else None


def end(service: Service, token: str) -> None:
    """Sign out, in every worker at once."""
    with service.database.transaction() as tx:
        tx.execute(delete(sessions).where(sessions.c.id_sha256 == _digest(token)))


def binding(token: str, secret_sha256: str) -> str:
    """What only the cookie and the key's secret give together."""
    return hmac.new(token.encode(), secret_sha256.encode(), sha256).hexdigest()


def csrf_token(token: str) -> str:
    """What a page of ours knows of its session and a page of another site cannot: derived, so never stored."""
    return hmac.new(token.encode(), b"csrf", sha256).hexdigest()


def cookie_name(connection: HTTPConnection) -> str:
    """Over https the name carries a promise that browsers keep: Secure, this host only, every path."""
    return "__Host-rugnik" if connection.url.scheme == "https" else "rugnik"


def cookie_of(connection: HTTPConnection) -> str | None:
    """The cookie that a browser sent, if any."""
    return connection.cookies.get(cookie_name(connection)) or None


def require_own_origin(connection: HTTPConnection) -> None:
    """Refuse what a page of another site sent; clients that are no browser send neither header.

    Sec-Fetch-Site is the browser's own word, but only over https or on this machine. Elsewhere Origin has to do, which
    a proxy that does not pass Host on would make look foreign.
    """
    site, origin = connection.headers.get("sec-fetch-site"), connection.headers.get("origin")
    if site is not None:
        foreign = site not in {"same-origin", "none"}
    else:
        foreign = origin is not None and urlsplit(origin).netloc != connection.headers.get("host")
    if foreign:
        raise ForgedRequest


def require_own_page(connection: HTTPConnection, token: str, sent: str | None) -> None:
    """Refuse a change that a cookie vouches for, unless one of our own pages asked for it."""
    require_own_origin(connection)
    if sent is None or not hmac.compare_digest(sent.encode(), csrf_token(token).encode()):
        raise ForgedRequest


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
