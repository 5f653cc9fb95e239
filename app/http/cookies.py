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
    """The cookie's name. Over https it has the prefix __Host-, so browsers insist on Secure, this host, and path /."""
    return "__Host-rugnik" if connection.url.scheme == "https" else "rugnik"


def cookie_of(connection: HTTPConnection) -> str | None:
    """The cookie that a browser sent, if any."""
    return connection.cookies.get(cookie_name(connection)) or None


def require_own_origin(connection: HTTPConnection) -> None:
    """Raise ForgedRequest for what a page of another site sent. Clients that are no browser send neither header.

    Browsers send Sec-Fetch-Site only over https or to localhost. Otherwise Origin is compared with Host; a proxy that
    does not pass Host on would make it look foreign.
    """
    site, origin = connection.headers.get("sec-fetch-site"), connection.headers.get("origin")
    if site is not None:
        foreign = site not in {"same-origin", "none"}
    else:
        foreign = origin is not None and urlsplit(origin).netloc != connection.headers.get("host")
    if foreign:
        raise ForgedRequest


def require_own_page(connection: HTTPConnection, token: str, sent: str | None) -> None:
    """Raise ForgedRequest for a change by cookie, unless one of our own pages sent it with its token."""
    require_own_origin(connection)
    if sent is None or not hmac.compare_digest(sent.encode(), sessions.csrf_token(token).encode()):
        raise ForgedRequest
