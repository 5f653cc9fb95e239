"""The session cookie of a browser, and the checks that a change by cookie comes from a page of ours."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from app.access import sessions
from app.errors import ForgedRequest

CSRF_HEADER = "X-Rugnik-CSRF"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


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
    if sent is None or not hmac.compare_digest(sent.encode(), sessions.csrf_token(token).encode()):
        raise ForgedRequest
