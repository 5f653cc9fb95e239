"""Sessions of the dashboard: a random cookie stands for a key, so that no browser holds the key itself.

A session row holds the hash of its key's secret, masked by a pad that only the cookie gives. The ledger has that hash
hashed again, so a session counts only if whoever began it had the key. A row that somebody else writes, or that was
given another key or another end, unmasks to another value and is refused. So reading the rows gives no access. Sessions
work with any number of workers. A session ends with its key; one of RUGNIK_ADMIN_KEY ends when that setting changes.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from sqlalchemy import Connection, delete, insert, select

from app.access.keys import authenticate, holder_of, token_digest
from app.access.principal import Principal
from app.errors import NotAuthenticated
from app.ledger.book import read_book
from app.service import Service, timestamp
from app.storage.tables import sessions

_SKEW = timedelta(minutes=5)  # the most by which the clocks of two machines may differ


@dataclass(frozen=True, slots=True)
class Session:
    """A session: the id of its key, the hash of that key's secret, and whether it has expired."""

    key_id: str
    secret_sha256: str
    ended: bool


def sign_in(service: Service, key: str) -> str:
    """Begin a session for whoever shows a key; returns the value for the cookie. NotAuthenticated for a wrong key."""
    caller = authenticate(service, key)
    return start(service, key_id=caller.id, secret_sha256=token_digest(key))


def resume(service: Service, token: str) -> Principal:
    """The caller behind a session's cookie; NotAuthenticated once the session or its key has ended."""
    with read_book(service) as book:
        session = find(service, book.tx, token)
    if session is None:
        raise NotAuthenticated
    if session.ended:
        end(service, token)
        raise NotAuthenticated
    caller = holder_of(service, session.key_id, session.secret_sha256)
    if caller is None:
        raise NotAuthenticated
    return caller


def start(service: Service, *, key_id: str, secret_sha256: str) -> str:
    """A new session for a key that was just shown; returns the value for the cookie. Deletes expired sessions."""
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

    A clock that is set back revives no session. The time of this process never goes backwards; `resume` deletes a
    session that has ended; and a session that would last longer than a new one counts as ended.
    """
    row = tx.execute(select(sessions).where(sessions.c.id_sha256 == _digest(token))).first()
    if row is None or not isinstance(row.expires_at, str):  # SQLite keeps any type in any column
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

    The pad is used once: a cookie belongs to one session. Returns "" for a text that is not hexadecimal.
    """
    pad = hmac.digest(token.encode("utf-8", "surrogatepass"), f"{key_id} {expires_at}".encode(), "sha256")
    try:
        value = bytes.fromhex(text)
    except (TypeError, ValueError):
        return ""
    return bytes(left ^ right for left, right in zip(value, pad, strict=False)).hex()


def csrf_token(token: str) -> str:
    """The token that our own pages send with a change, and that no other site can know. Derived, so never stored."""
    return hmac.new(token.encode(), b"csrf", sha256).hexdigest()


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
