"""Sessions: a cookie that scripts cannot read stands for a key, and ends with it; a change needs a page of our own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http.cookies import SimpleCookie

import pytest
from pydantic import SecretStr

from app.access.keys import issue_key
from app.access.permissions import Role
from app.main import create_app
from app.settings.settings import Settings
from tests.support.browser.visitors import Visitor, cookie_of, signed_in, try_key, visitor
from tests.support.leaks.dumps import contents
from tests.support.service.api import ATTRIBUTES, Api, frozen_clock

OWN = "an-admin-key-of-my-own-0123456789abcdef"
DATASET = {"name": "new", "attributes": ATTRIBUTES, "budget": "1"}


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        """The time it is set to."""
        return self.now


def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(sqlite_api: Api) -> None:
    """HttpOnly, SameSite=Strict, for every path, and as short-lived as the session."""
    reply = try_key(sqlite_api, sqlite_api.keys[Role.ANALYST])
    (cookie,) = SimpleCookie(reply.headers["set-cookie"]).values()
    assert cookie["httponly"]
    assert cookie["samesite"] == "strict"
    assert cookie["path"] == "/"
    assert cookie["domain"] == ""
    assert cookie["max-age"] == str(60 * sqlite_api.service.settings.session_minutes)
    assert not cookie["secure"]  # plain http, or the browser would not send it back
    assert len(cookie.value) == 43  # 256 random bits


def test_over_https_the_cookie_is_secure_and_bound_to_the_host(sqlite_api: Api) -> None:
    """Its name begins with __Host-, which browsers accept from this host, Secure and for every path only."""
    reply = try_key(sqlite_api, sqlite_api.keys[Role.ANALYST])
    plain = cookie_of(reply)
    secure = sqlite_api.call(
        None,
        "POST",
        "https://rugnik/sign-in",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
        content=f"key={sqlite_api.keys[Role.ANALYST]}",
    )
    (cookie,) = SimpleCookie(secure.headers["set-cookie"]).values()
    assert cookie.key == "__Host-rugnik"
    assert cookie["secure"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "strict"
    seen = sqlite_api.call(None, "GET", "https://rugnik/v1/datasets", headers={"Cookie": cookie_of(secure)})
    assert seen.status_code == 200
    # What was set over plain http, maybe by somebody on the way, counts for nothing over https.
    assert sqlite_api.call(None, "GET", "https://rugnik/v1/datasets", headers={"Cookie": plain}).status_code == 401


@pytest.mark.parametrize("role", Role)
def test_every_role_signs_in_and_is_who_it_was(api: Api, role: Role) -> None:
    """On each kind of database, a session is its key: same name, same role."""
    page = visitor(api, role).call("GET", "/")
    assert page.status_code == 200
    assert f'<span class="tag">{role.value}</span>' in page.text
    assert api.keys[role] not in page.text
    assert "no-store" in page.headers["cache-control"]


def test_a_change_needs_the_token_of_the_session(sqlite_api: Api) -> None:
    """Without it, with another session's, or with a wrong one: 403, and nothing happens."""
    curator, other = visitor(sqlite_api, Role.CURATOR), visitor(sqlite_api, Role.CURATOR)
    bare = sqlite_api.call(None, "POST", "/v1/datasets", json=DATASET, headers={"Cookie": curator.cookie})
    assert (bare.status_code, bare.json()["type"]) == (403, "urn:rugnik:problem:forged-request")
    for token in ("", "0" * 64, other.csrf, curator.csrf[:-1], curator.csrf.upper(), b"\xe9"):
        reply = curator.call("POST", "/v1/datasets", csrf=token, json=DATASET)
        assert reply.status_code == 403, token
        assert reply.json()["type"] == "urn:rugnik:problem:forged-request"
    assert sqlite_api.call(Role.CURATOR, "GET", "/v1/datasets").json()["datasets"] == []
    assert curator.call("POST", "/v1/datasets", json=DATASET).status_code == 201


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://elsewhere"},
        {"Origin": "null"},
        {"Origin": "http://rugnik.elsewhere"},
        {"Origin": "http://rugnik:8000"},
    ],
    ids=str,
)
def test_a_page_of_another_site_changes_nothing_even_with_the_token(sqlite_api: Api, headers: dict[str, str]) -> None:
    """A second wall behind the cookie's SameSite: where the browser says that it comes from elsewhere, 403."""
    curator = visitor(sqlite_api, Role.CURATOR)
    assert curator.call("POST", "/v1/datasets", json=DATASET, headers=headers).status_code == 403
    assert try_key(sqlite_api, sqlite_api.keys[Role.CURATOR], headers).status_code == 403
    own = {"Origin": "http://rugnik", "Sec-Fetch-Site": "same-origin"}
    assert curator.call("POST", "/v1/datasets", json=DATASET, headers=own).status_code == 201


def test_a_key_needs_no_token(sqlite_api: Api) -> None:
    """No browser sends a bearer key by itself, so nobody can make one do it; a key counts before a cookie."""
    analyst = visitor(sqlite_api, Role.ANALYST)
    headers = {"Cookie": analyst.cookie, "Origin": "http://elsewhere"}
    reply = sqlite_api.call(Role.CURATOR, "POST", "/v1/datasets", json=DATASET, headers=headers)
    assert reply.status_code == 201


def test_a_session_ends_with_its_key(api: Api) -> None:
    """Revoked: the next request is a stranger's, on each kind of database."""
    stored, key = issue_key(api.service, name="short", role=Role.AUDITOR, datasets=None)
    guest = signed_in(api, key)
    assert guest.call("GET", "/v1/ledger").status_code == 200
    assert api.admin("DELETE", f"/v1/keys/{stored.principal.id}").status_code == 204
    assert guest.call("GET", "/v1/ledger").status_code == 401
    assert guest.call("GET", "/ledger").headers["location"].startswith("/sign-in")
    assert try_key(api, key).status_code == 401


def test_a_session_ends_when_one_signs_out(api: Api) -> None:
    """Everywhere and at once; the browser is told to forget the cookie, and a copy of it opens nothing."""
    leaving, staying = visitor(api, Role.ANALYST), visitor(api, Role.ANALYST)
    assert leaving.form("/sign-out", csrf=staying.csrf).status_code == 403
    reply = leaving.form("/sign-out", csrf=leaving.csrf)
    assert (reply.status_code, reply.headers["location"]) == (303, "/sign-in")
    (cookie,) = SimpleCookie(reply.headers["set-cookie"]).values()
    assert (cookie.value, cookie["max-age"]) == ("", "0")
    assert leaving.call("GET", "/v1/datasets").status_code == 401
    assert staying.call("GET", "/v1/datasets").status_code == 200


@pytest.fixture
def timed(settings: Settings) -> Iterator[tuple[Api, Clock]]:
    """A service whose clock is moved by hand, with sessions of ten minutes."""
    clock = Clock()
    short = Settings(**(settings.model_dump(exclude_unset=True) | {"session_minutes": 10}))
    with Api(create_app(short, clock)) as api:
        yield api, clock


def test_a_session_ends_by_itself(timed: tuple[Api, Clock]) -> None:
    """To the second; what has ended is deleted when it is seen, or when somebody else signs in."""
    api, clock = timed
    guest, unseen = visitor(api, Role.ANALYST), visitor(api, Role.ANALYST)
    clock.now += timedelta(minutes=10) - timedelta(seconds=1)
    assert guest.call("GET", "/v1/datasets").status_code == 200
    clock.now += timedelta(seconds=1)
    assert guest.call("GET", "/v1/datasets").status_code == 401
    seen_row, unseen_row = (sha256(g.cookie.partition("=")[2].encode()).hexdigest().encode() for g in (guest, unseen))
    assert seen_row not in contents(api.service.database)
    assert unseen_row in contents(api.service.database)
    visitor(api, Role.CURATOR)
    assert unseen_row not in contents(api.service.database)


@pytest.mark.parametrize("back", [timedelta(minutes=5), timedelta(days=1)], ids=str)
def test_a_clock_that_runs_backwards_revives_no_session(timed: tuple[Api, Clock], back: timedelta) -> None:
    """Seen to have ended or not, and in another process too: what has ended stays so."""
    api, clock = timed
    seen, unseen, elsewhere = (visitor(api, Role.ANALYST) for _ in range(3))
    clock.now += timedelta(minutes=10)
    assert seen.call("GET", "/v1/datasets").status_code == 401
    clock.now -= back
    for guest in (seen, unseen):
        assert guest.call("GET", "/v1/datasets").status_code == 401
    fresh = visitor(api, Role.ANALYST)
    assert fresh.call("GET", "/v1/datasets").status_code == 200
    clock.now -= timedelta(days=1)
    with Api(create_app(api.service.settings, clock)) as restarted:  # it never saw the later time
        there = Visitor(restarted, elsewhere.cookie, elsewhere.csrf)
        assert there.call("GET", "/v1/datasets").status_code == 401


def test_workers_share_sessions(settings: Settings) -> None:
    """Signed in at one, known to the other; signed out at one, a stranger to both."""
    with Api(create_app(settings, frozen_clock)) as one, Api(create_app(settings, frozen_clock)) as two:
        guest = visitor(one, Role.ANALYST)
        there = Visitor(two, guest.cookie, guest.csrf)
        assert there.call("GET", "/v1/datasets").status_code == 200
        assert there.form("/sign-out", csrf=guest.csrf).status_code == 303
        assert guest.call("GET", "/v1/datasets").status_code == 401


def test_a_database_dump_opens_no_session(api: Api) -> None:
    """The cookie is not in it, nor is the token, and what is in it is neither a cookie nor a key."""
    guest = visitor(api, Role.ADMIN)
    token = guest.cookie.partition("=")[2]
    held = contents(api.service.database)
    digest = sha256(token.encode()).hexdigest()
    assert digest.encode() in held
    assert token.encode() not in held
    assert guest.csrf.encode() not in held
    assert api.call(None, "GET", "/v1/keys", headers={"Cookie": f"rugnik={digest}"}).status_code == 401
    for stolen in (token, digest, guest.csrf):  # no way in as a bearer either
        assert api.call_with(stolen, "GET", "/v1/keys").status_code == 401
    assert api.call(None, "GET", "/v1/keys", headers={"Cookie": f"rugnik={api.keys[Role.ADMIN]}"}).status_code == 401


def test_an_admin_key_set_by_hand_signs_in_until_it_is_another(sqlite_settings: Settings) -> None:
    """RUGNIK_ADMIN_KEY works; after a start with another one, or with none, its sessions are over."""
    with_own = sqlite_settings.model_copy(update={"admin_key": SecretStr(OWN)})
    with Api(create_app(with_own, frozen_clock)) as api:
        owner = signed_in(api, OWN)
        assert owner.call("GET", "/v1/keys").status_code == 200
        assert sha256(OWN.encode()).hexdigest().encode() not in contents(api.service.database)
    changed = sqlite_settings.model_copy(update={"admin_key": SecretStr(OWN[::-1])})
    for settings in (changed, sqlite_settings):
        with Api(create_app(settings, frozen_clock)) as api:
            assert Visitor(api, owner.cookie, owner.csrf).call("GET", "/v1/keys").status_code == 401
    with Api(create_app(with_own, frozen_clock)) as api:
        assert Visitor(api, owner.cookie, owner.csrf).call("GET", "/v1/keys").status_code == 200


def test_a_wrong_key_is_told_so_and_shown_to_nobody(sqlite_api: Api) -> None:
    """401, a page in words, no cookie, and no echo of what was typed."""
    for key in ("CANARY7f3a", "", "rugnik_admin_k1_CANARY7f3a", "CANARY\x00é☃"):
        reply = try_key(sqlite_api, key)
        assert reply.status_code == 401
        assert "This key is not known here" in reply.text
        assert "CANARY" not in reply.text
        assert "set-cookie" not in reply.headers


@pytest.mark.parametrize(
    ("wanted", "goes_to"),
    [
        ("/ledger?dataset=city&kind=grant", "/ledger?dataset=city&kind=grant"),
        ("/datasets/city", "/datasets/city"),
        ("/", "/"),
        ("", "/"),
        ("//elsewhere/x", "/"),
        ("/\\elsewhere", "/"),
        ("https://elsewhere/", "/"),
        ("/x\r\nSet-Cookie: a=b", "/"),
        ("/" + "x" * 1999, "/" + "x" * 1999),
        ("/" + "x" * 2000, "/"),
        ('/"><script>', "/"),
    ],
)
def test_after_signing_in_one_goes_on_to_a_page_of_ours_only(sqlite_api: Api, wanted: str, goes_to: str) -> None:
    """Whoever sends a link to the sign-in page cannot send the reader elsewhere with it."""
    reply = try_key(sqlite_api, sqlite_api.keys[Role.AUDITOR], next=wanted)
    assert (reply.status_code, reply.headers["location"]) == (303, goes_to)
    page = sqlite_api.call(None, "GET", "/sign-in", params={"next": wanted})
    assert "elsewhere" not in page.text
    assert "<script>" not in page.text


@pytest.mark.parametrize("body", [b"\xff\xfe", b"&".join([b"a=1"] * 50)])
def test_a_form_that_is_none_is_refused_in_words(sqlite_api: Api, body: bytes) -> None:
    """400 as a page, without what was sent."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    reply = sqlite_api.call(None, "POST", "/sign-in", headers=headers, content=body)
    assert reply.status_code == 400
    assert reply.headers["content-type"].startswith("text/html")


def test_an_answer_kept_for_a_key_is_not_given_to_a_cookie_that_may_not_have_it(sqlite_api: Api) -> None:
    """The memory in front of the routes knows keys only; caches outside are told that the cookie matters."""
    sqlite_api.register()
    path = f"/v1/releases/{sqlite_api.published()}/moments"
    first = sqlite_api.analyst("GET", path)
    assert first.headers["vary"] == "Accept, Authorization, Cookie"
    assert visitor(sqlite_api, Role.ANALYST).call("GET", path).text == first.text
    assert visitor(sqlite_api, Role.ADMIN).call("GET", path).status_code == 403
    key = issue_key(sqlite_api.service, name="o", role=Role.ANALYST, datasets=frozenset({"other"}))[1]
    assert signed_in(sqlite_api, key).call("GET", path).status_code == 404
    assert sqlite_api.call(None, "GET", path, headers={"Cookie": "rugnik=nobody"}).status_code == 401


def test_every_reply_tells_browsers_to_be_careful(sqlite_api: Api) -> None:
    """No guessing of types, no framing, nothing that runs outside of a page of ours: pages, API, errors, files."""
    for path in ("/sign-in", "/", "/v1/datasets", "/v1/nothing", "/nothing", "/healthz", "/openapi.json"):
        reply = sqlite_api.call(Role.ADMIN, "GET", path)
        assert reply.headers["x-content-type-options"] == "nosniff", path
        assert reply.headers["referrer-policy"] == "same-origin"
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-inline" not in policy
        assert "unsafe-eval" not in policy
