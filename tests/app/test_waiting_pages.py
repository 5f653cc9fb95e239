"""Pages show what waits for a second person, and offer a decision to those who may take it."""

from __future__ import annotations

import pytest

from app.access.keys import issue_key
from app.access.permissions import Role
from app.releases.requests import SHOWN
from tests.support.browser.visitors import signed_in, visitor
from tests.support.service.api import Api


@pytest.fixture
def request_id(sqlite_api: Api) -> str:
    """An order of `city` that waits."""
    sqlite_api.register()
    assert sqlite_api.curator("POST", "/v1/datasets/city/rule", json={"above": "0.1"}).status_code == 200
    return str(sqlite_api.order().json()["id"])


@pytest.mark.parametrize("path", ["/", "/datasets/city"])
def test_what_waits_is_shown_to_those_who_read_the_ledger(sqlite_api: Api, request_id: str, path: str) -> None:
    """An auditor and an admin look on, its curator may withdraw it, another may decide; an analyst sees nothing."""
    for role, words in (
        (Role.AUDITOR, ()),
        (Role.ADMIN, ()),
        (Role.CURATOR, ("Withdraw",)),
        (Role.ANALYST, None),
    ):
        page = visitor(sqlite_api, role).call("GET", path).text
        assert ("Waiting for a second person" in page) == (words is not None), role
        assert [word for word in ("Approve", "Refuse", "Withdraw") if f">{word}<" in page] == list(words or ())
    other = signed_in(sqlite_api, issue_key(sqlite_api.service, name="b", role=Role.CURATOR, datasets=None)[1])
    page = other.call("GET", path).text
    assert [word for word in ("Approve", "Refuse", "Withdraw") if f">{word}<" in page] == ["Approve", "Refuse"]
    assert "charge of 0.5" in page
    assert f'data-request="{request_id}"' in page
    assert "requests.js" in page


def test_a_decision_from_a_page_needs_the_pages_token(sqlite_api: Api, request_id: str) -> None:
    """As every change by cookie does; then nothing waits any longer, and the ledger page tells of it."""
    other = signed_in(sqlite_api, issue_key(sqlite_api.service, name="b", role=Role.CURATOR, datasets=None)[1])
    path = f"/v1/requests/{request_id}/approve"
    assert other.call("POST", path, csrf="wrong").status_code == 403
    assert other.call("POST", path).status_code == 200
    assert "Waiting for a second person" not in other.call("GET", "/").text
    page = other.call("GET", "/ledger").text
    assert "kind-rule" in page
    assert "kind-request" in page
    assert "two persons above 0.1" in page
    assert "asked for by curator [" in page
    assert "takes two keys" in other.call("GET", "/datasets/city").text


def test_a_limited_key_sees_no_request_of_another_dataset(sqlite_api: Api, request_id: str) -> None:
    """Neither on the overview nor by its id."""
    limited = issue_key(sqlite_api.service, name="l", role=Role.CURATOR, datasets=frozenset({"other"}))[1]
    assert request_id not in sqlite_api.call_with(limited, "GET", "/").text


def test_a_page_shows_the_oldest_requests_and_the_number_of_the_others(sqlite_api: Api, request_id: str) -> None:
    """However many wait, a page reads so many from the ledger."""
    for _ in range(SHOWN + 1):
        assert sqlite_api.order(epsilon="0.2").status_code == 202
    for path in ("/", "/datasets/city"):
        page = sqlite_api.auditor("GET", path).text
        assert page.count('<tr id="request-q') == SHOWN
        assert f'id="request-{request_id}"' in page
        assert "2 more wait" in page
