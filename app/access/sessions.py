"""Sessions of the dashboard: a random cookie stands for a key, so that no browser holds the key itself.

A session holds the hash of its key's secret, masked by a pad that only the cookie gives. The ledger has that hash
hashed again, so a session counts only if whoever began it had the key: a row that somebody else writes, or that was
given another key or another end, unmasks to something else. The rows open nothing to whoever reads them, work with any
number of workers, and a session ends with its key, also with one that was set by hand and is another one today.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from urllib.parse import urlsplit

from sqlalchemy import Connection, delete, insert, select
from starlette.requests import HTTPConnection

from app.errors import ForgedRequest
from app.service import Service, timestamp
from app.storage.tables import sessions

CSRF_HEADER = "X-Rugnik-CSRF"
_SKEW = timedelta(minutes=5)  # clocks of two machines may differ by so much
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Session:
    """A session: whose key it claims, what it knows of that key's secret, and whether it has expired."""

    key_id: str
    secret_sha256: str
    ended: bool


def start(service: Service, *, key_id: str, secret_sha256: str) -> str:
    """A session for a key that was just proved; the value for the cookie. Expired ones are swept out on the way."""
    token = secrets.token_urlsafe(32)
    now = service.newest_time()
    expires_at = timestamp(now + timedelta(minutes=service.settings.session_minutes))
    row = {
        "id_sha256": _digest(token),
        "key_id": key_id,
        "binding": _masked(secret_sha256, token, key_id, expires_at),
        "expires_at": expires_at,
    }
    with service.database.transaction() as tx:
        tx.execute(delete(sessions).where(sessions.c.expires_at <= timestamp(now)))
        tx.execute(insert(sessions).values(row))
    return token


def find(service: Service, tx: Connection, token: str) -> Session | None:
    """The session behind a cookie, if there is one; it may have ended.

    A clock that was set back revives nothing: the time of this process never goes backwards, a session that was seen
    ended is deleted by who resumes it, and one that would last longer than a new one began after now, so it has ended.
    """
    row = tx.execute(select(sessions).where(sessions.c.id_sha256 == _digest(token))).first()
    if row is None:
        return None
    now = service.newest_time()
    longest = now + timedelta(minutes=service.settings.session_minutes) + _SKEW
    ended = not timestamp(now) < row.expires_at <= timestamp(longest)
    return Session(row.key_id, _masked(row.binding, token, row.key_id, row.expires_at), ended=ended)


def end(service: Service, token: str) -> None:
    """Sign out, in every worker at once."""
    with service.database.transaction() as tx:
        tx.execute(delete(sessions).where(sessions.c.id_sha256 == _digest(token)))


def _masked(text: str, token: str, key_id: str, expires_at: str) -> str:
    """32 bytes in hexadecimal, XORed with a pad from the cookie, the key and the end; the same again unmasks.

    The pad is used once: a cookie belongs to one session. What is no such text unmasks to nothing.
    """
    pad = hmac.digest(token.encode("utf-8", "surrogatepass"), f"{key_id} {expires_at}".encode(), "sha256")
    try:
        value = bytes.fromhex(text)
    except (TypeError, ValueError):
        return ""
    return bytes(one ^ other for one, other in zip(value, pad, strict=False)).hex()


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
