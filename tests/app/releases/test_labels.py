"""A label is a public name of an order: on record with it, shown with its release, and absent where nobody gave one."""

from __future__ import annotations

import pytest

from app.access.permissions import Role
from tests.support.service.api import Api

LABEL = "2026-Q3, second draft"


def test_a_label_is_on_record_and_shown_wherever_its_release_is(api: Api) -> None:
    """In the charge, in the release, in the lists and on the pages; whoever sees the release sees its label."""
    api.register()
    release = api.published(label=LABEL)
    (charge,) = api.auditor("GET", "/v1/ledger?kind=charge").json()["entries"]
    assert charge["detail"]["order"]["label"] == LABEL
    shown = api.analyst("GET", f"/v1/releases/{release}").json()
    assert shown["plan"]["order"]["label"] == LABEL
    (summary,) = api.analyst("GET", "/v1/datasets/city").json()["releases"]
    assert summary["label"] == LABEL
    assert api.analyst("GET", "/v1/datasets/city/releases").json()["releases"] == [summary]
    for page in ("/datasets/city", f"/releases/{release}"):
        for role in (Role.ANALYST, Role.ADMIN):
            assert LABEL in api.call(role, "GET", page).text
    assert LABEL in api.auditor("GET", "/ledger").text


def test_an_order_without_a_label_leaves_the_bytes_of_the_ledger_as_they_were(sqlite_api: Api) -> None:
    """No key at all, so that a ledger written before there were labels is written the same today."""
    sqlite_api.register()
    assert "label" not in sqlite_api.order().text
    (charge,) = sqlite_api.auditor("GET", "/v1/ledger?kind=charge").json()["entries"]
    names = {"attributes", "epsilon", "clusters", "size", "rule", "out_of_range", "unit"}
    assert set(charge["detail"]["order"]) - {"offsets"} == names
    assert "label" not in sqlite_api.curator("GET", "/v1/datasets/city").json()["releases"][0]


def test_a_repeated_order_has_the_same_label(sqlite_api: Api) -> None:
    """With another label it is another order: 422, and nothing more is charged."""
    sqlite_api.register()
    key = {"Idempotency-Key": "a"}
    first = sqlite_api.order(headers=key, label=LABEL)
    assert sqlite_api.order(headers=key, label=f"  {LABEL} ").json() == first.json()
    for other in ({"label": "x"}, {}):
        refused = sqlite_api.order(headers=key, **other)
        assert (refused.status_code, refused.json()["type"].endswith("idempotency-conflict")) == (422, True)
    assert sqlite_api.budget()["spent"] == "0.5"


def test_a_request_for_a_second_person_carries_the_label(sqlite_api: Api) -> None:
    """Who approves sees it, and the release has it."""
    sqlite_api.register()
    sqlite_api.curator("POST", "/v1/datasets/city/rule", json={"above": "0"})
    waiting = sqlite_api.order(label=LABEL).json()
    assert waiting["content"]["order"]["label"] == LABEL
    assert LABEL in sqlite_api.auditor("GET", "/datasets/city").text
    other = sqlite_api.admin("POST", "/v1/keys", json={"name": "second", "role": "curator"}).json()["key"]
    approved = sqlite_api.call_with(other, "POST", f"/v1/requests/{waiting['id']}/approve")
    assert approved.status_code == 200, approved.text
    released = sqlite_api.curator("GET", f"/v1/releases/{waiting['release']}").json()
    assert released["plan"]["order"]["label"] == LABEL


CONTROLS = ["a\nb", "a\x1b[31m", "\x7f", "a\x85b", "\x9b31m", "a\u2028b", "\u202e4202 3Q", "\u2067a"]
UNSEEN = ["a\u200b", "\u200fa", "\ufeff"]


@pytest.mark.parametrize("label", ["", "  ", "x" * 81, *CONTROLS, *UNSEEN, 5, ["x"]], ids=repr)
def test_a_label_is_a_line_of_at_most_80_characters(sqlite_api: Api, label: object) -> None:
    """Anything else is refused, and nothing is charged."""
    sqlite_api.register()
    refused = sqlite_api.order(label=label)
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:rugnik:problem:invalid-request")
    assert "label" in refused.json()["detail"]
    assert sqlite_api.budget()["spent"] == "0"


def test_lists_of_releases_have_the_days_and_no_time(sqlite_api: Api) -> None:
    """The days of the order and of the publication, as the ledger has them."""
    sqlite_api.register()
    sqlite_api.published()
    sqlite_api.order()
    published, ordered = sqlite_api.curator("GET", "/v1/datasets/city").json()["releases"]
    charge, *_ = sqlite_api.auditor("GET", "/v1/ledger?kind=charge").json()["entries"]
    assert published["ordered"] == published["published"] == charge["at"]
    assert ordered["ordered"] == charge["at"]
    assert "published" not in ordered
