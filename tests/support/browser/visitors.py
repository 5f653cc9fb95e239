"""Visitor: somebody who signed in to the dashboard, as a browser speaks for them but without one."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

from httpx import Response

from app.access.permissions import Role
from app.http.cookies import CSRF_HEADER
from tests.support.service.api import Api

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_TOKEN = re.compile(r'<meta name="csrf-token" content="([0-9a-f]+)">')


@dataclass(frozen=True)
class Visitor:
    """A cookie, and the token that the pages of its session carry."""

    api: Api
    cookie: str
    csrf: str

    def call(self, method: str, path: str, *, csrf: str | bytes | None = None, **options: Any) -> Response:
        """One request with the cookie; a change takes the token unless another is given."""
        headers: dict[str, str | bytes] = {"Cookie": self.cookie} | dict(options.pop("headers", {}))
        if method != "GET":
            headers[CSRF_HEADER] = self.csrf if csrf is None else csrf
        return self.api.call(None, method, path, headers=headers, **options)

    def form(self, path: str, **fields: str) -> Response:
        """A form of a page, sent as a browser would."""
        headers = FORM | {"Cookie": self.cookie, "Origin": "http://rugnik", "Sec-Fetch-Site": "same-origin"}
        return self.api.call(None, "POST", path, headers=headers, content=urlencode(fields))


def try_key(api: Api, key: str, headers: dict[str, str] | None = None, **fields: str) -> Response:
    """The reply to a key in the sign-in form."""
    return api.call(None, "POST", "/sign-in", headers=FORM | (headers or {}), content=urlencode({"key": key} | fields))


def cookie_of(reply: Response) -> str:
    """The cookie that a reply sets, as a browser sends it back."""
    (morsel,) = SimpleCookie(reply.headers["set-cookie"]).values()
    return f"{morsel.key}={morsel.value}"


def signed_in(api: Api, key: str) -> Visitor:
    """A visitor with this key."""
    reply = try_key(api, key)
    assert reply.status_code == 303, reply.text
    cookie = cookie_of(reply)
    page = api.call(None, "GET", "/", headers={"Cookie": cookie})
    token = _TOKEN.search(page.text)
    assert token is not None, page.text
    return Visitor(api, cookie, html.unescape(token[1]))


def visitor(api: Api, role: Role) -> Visitor:
    """A visitor of a role."""
    return signed_in(api, api.keys[role])
