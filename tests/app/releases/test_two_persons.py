"""The two-person rule over HTTP: 202 in place of an effect, approvals and refusals, on each kind of database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from httpx import Response
from sqlalchemy import insert

from app.access.keys import issue_key, revoke_key
from app.access.permissions import Role
from app.errors import NotAuthenticated
from app.ledger.entries import head
from app.main import create_app
from app.releases import deciding
from app.service import Service
from app.settings.settings import Settings
from app.storage.tables import ledger
from core.budget import Epsilon
from core.canonical import canonical_json
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind
from tests.support.service.api import ATTRIBUTES, Api

ROUNDS = 5  # of a race


class TwoPersons:
    """`city` with a rule at 0.3, and a second curator and a second admin, who have the names of the first ones."""

    def __init__(self, api: Api, above: str = "0.3") -> None:
        self.api = api
        self.second = {
            role: issue_key(api.service, name=role.value, role=role, datasets=None)[1]
            for role in (Role.CURATOR, Role.ADMIN)
        }
        body = {"name": "city", "attributes": ATTRIBUTES, "budget": "3", "two_persons_above": above}
        reply = api.curator("POST", "/v1/datasets", json=body)
        assert (reply.status_code, reply.json()["two_persons_above"]) == (201, above)

    def decide(self, word: str, request: str, role: Role = Role.CURATOR, **options: Any) -> Response:
        """The second person's decision."""
        return self.api.call_with(self.second[role], "POST", f"/v1/requests/{request}/{word}", **options)

    def asked(self, **changes: Any) -> dict[str, Any]:
        """An order that waits."""
        reply = self.api.order(**changes)
        assert reply.status_code == 202, reply.text
        request: dict[str, Any] = reply.json()
        return request

    def rule(self, above: str | None, role: Role = Role.CURATOR) -> Response:
        """The first curator's, or admin's, new rule."""
        return self.api.call(role, "POST", "/v1/datasets/city/rule", json={} if above is None else {"above": above})

    def kinds(self) -> list[str]:
        """The entries of the dataset."""
        entries = self.api.auditor("GET", "/v1/ledger?dataset=city&limit=1000").json()["entries"]
        return [entry["kind"] for entry in entries]

    def last(self) -> dict[str, Any]:
        """The newest entry of the dataset."""
        entry: dict[str, Any] = self.api.auditor("GET", "/v1/ledger?dataset=city&limit=1000").json()["entries"][-1]
        return entry

    def is_valid(self) -> bool:
        """Whether the whole ledger verifies."""
        return bool(self.api.auditor("GET", "/v1/ledger/verify").json()["valid"])


@pytest.fixture
def two(api: Api) -> TwoPersons:
    """On SQLite and on PostgreSQL."""
    return TwoPersons(api)


@pytest.fixture
def sqlite_two(sqlite_api: Api) -> TwoPersons:
    """On SQLite, for promises that have nothing to do with the database."""
    return TwoPersons(sqlite_api)


def problem(reply: Response) -> tuple[int, str]:
    return reply.status_code, reply.json()["type"].rpartition(":")[2]


def test_an_order_above_the_rule_waits_for_another_key(two: TwoPersons) -> None:
    """Nothing is spent by asking; the charge has the approver, the requester and the request's hash."""
    request = two.asked()
    assert (request["kind"], request["epsilon"], request["state"]) == ("charge", "0.5", "waiting")
    assert request["content"]["order"]["clusters"] == 4
    assert two.api.budget()["spent"] == "0"
    assert two.api.curator("GET", f"/v1/releases/{request['release']}").status_code == 404
    assert two.api.upload(request["release"]).status_code == 404
    approved = two.decide("approve", request["id"]).json()
    assert (approved["state"], approved["content"]) == ("approved", request["content"])
    assert approved["decided_by"] != approved["requested_by"]
    charge = two.last()
    assert (charge["kind"], charge["release"], charge["actor"]) == (
        "charge",
        request["release"],
        approved["decided_by"],
    )
    assert (charge["detail"]["request"], charge["detail"]["requested_by"]) == (request["hash"], request["requested_by"])
    assert charge["detail"]["order"] == request["content"]["order"]
    assert two.api.budget()["spent"] == "0.5"
    assert two.api.upload(request["release"]).status_code == 200
    assert two.is_valid()


def test_an_order_at_the_rule_takes_one_key(two: TwoPersons) -> None:
    """Above means above."""
    assert two.api.order(epsilon="0.3").status_code == 201


def test_a_grant_and_a_void_above_the_rule_wait_as_well(two: TwoPersons) -> None:
    """Each by those who could have done it: a grant by admins, a void by curators."""
    reply = two.api.admin("POST", "/v1/datasets/city/grants", json={"epsilon": "1", "reason": "board"})
    assert (reply.status_code, reply.json()["content"]) == (202, {"reason": "board"})
    assert two.api.budget()["granted"] == "3"
    assert problem(two.decide("approve", reply.json()["id"], Role.CURATOR)) == (403, "not-allowed")
    assert two.decide("approve", reply.json()["id"], Role.ADMIN).json()["state"] == "approved"
    assert two.api.budget()["granted"] == "4"
    order = two.asked()
    assert problem(two.decide("approve", order["id"], Role.ADMIN)) == (403, "not-allowed")
    two.decide("approve", order["id"])
    void = two.api.curator("DELETE", f"/v1/releases/{order['release']}")
    assert (void.status_code, void.json()["kind"], void.json()["release"]) == (202, "void", order["release"])
    assert two.api.curator("DELETE", f"/v1/releases/{order['release']}").json() == void.json()
    assert two.api.budget()["spent"] == "0.5"
    assert two.decide("approve", void.json()["id"]).status_code == 200
    assert two.api.budget()["spent"] == "0"
    assert two.kinds() == ["grant", "rule", "request", "grant", "request", "charge", "request", "void"]
    assert two.is_valid()


def test_the_same_idempotency_key_gives_the_same_request_and_then_the_release(two: TwoPersons) -> None:
    """Nothing is appended twice; another order under the same key is refused."""
    headers = {"Idempotency-Key": "monday"}
    request = two.asked(headers=headers)
    assert two.asked(headers=headers) == request
    assert problem(two.api.order(headers=headers, clusters=5)) == (422, "idempotency-conflict")
    two.decide("approve", request["id"])
    release = two.api.order(headers=headers)
    assert (release.status_code, release.json()["id"]) == (201, request["release"])
    other = two.asked(headers={"Idempotency-Key": "tuesday"})
    two.decide("refuse", other["id"])
    again = two.api.order(headers={"Idempotency-Key": "tuesday"})
    assert (problem(again), again.json()["state"]) == ((409, "request-decided"), "refused")
    assert two.kinds() == ["grant", "rule", "request", "charge", "request", "refuse"]


def test_nobody_approves_their_own_request(sqlite_two: TwoPersons) -> None:
    """Not under the same name, and not by a session of the same key; to withdraw it is theirs."""
    two = sqlite_two
    request = two.asked()
    own = two.api.curator("POST", f"/v1/requests/{request['id']}/approve")
    assert problem(own) == (403, "own-request")
    assert "another key" in own.json()["detail"]
    withdrawn = two.api.curator("POST", f"/v1/requests/{request['id']}/refuse", json={"reason": "a mistake"}).json()
    assert (withdrawn["state"], withdrawn["reason"]) == ("refused", "a mistake")
    assert problem(two.decide("approve", request["id"])) == (409, "request-decided")
    assert two.api.budget()["spent"] == "0"


def test_a_decision_is_final(sqlite_two: TwoPersons) -> None:
    """Approved once, or refused once."""
    two = sqlite_two
    first, second = two.asked(), two.asked()
    two.decide("approve", first["id"])
    two.decide("refuse", second["id"])
    for request in (first, second):
        for word in ("approve", "refuse"):
            assert problem(two.decide(word, request["id"])) == (409, "request-decided")
    assert two.kinds() == ["grant", "rule", "request", "request", "charge", "refuse"]


def test_an_approval_meets_what_an_order_meets(sqlite_two: TwoPersons) -> None:
    """The budget may be gone, the dataset closed, the release uploaded to: nothing is appended then."""
    two = sqlite_two
    first, second = two.asked(epsilon="2"), two.asked(epsilon="2")
    two.decide("approve", first["id"])
    short = two.decide("approve", second["id"])
    assert (problem(short), short.json()["remaining"]) == ((409, "insufficient-budget"), "1")
    void = two.api.curator("DELETE", f"/v1/releases/{first['release']}").json()
    assert two.api.upload(first["release"]).status_code == 200
    assert problem(two.decide("approve", void["id"])) == (409, "release-ended")
    grant = two.api.admin("POST", "/v1/datasets/city/grants", json={"epsilon": "1", "reason": "board"}).json()
    assert two.api.curator("POST", "/v1/datasets/city/close").status_code == 200
    assert problem(two.decide("approve", grant["id"], Role.ADMIN)) == (409, "dataset-closed")
    assert problem(two.decide("approve", second["id"])) == (409, "dataset-closed")
    assert two.decide("refuse", second["id"]).json()["state"] == "refused"
    assert problem(two.rule("0.1")) == (409, "dataset-closed")
    assert two.is_valid()


def test_an_order_of_a_closed_dataset_can_still_be_voided(sqlite_two: TwoPersons) -> None:
    """By two persons."""
    two = sqlite_two
    order = two.asked()
    two.decide("approve", order["id"])
    two.api.curator("POST", "/v1/datasets/city/close")
    void = two.api.curator("DELETE", f"/v1/releases/{order['release']}").json()
    assert two.decide("approve", void["id"]).json()["state"] == "approved"
    assert two.api.budget()["spent"] == "0"
    assert two.is_valid()


def test_one_lowers_the_rule_and_two_raise_or_remove_it(two: TwoPersons) -> None:
    """A curator and an admin may both; what is set already changes nothing."""
    assert two.rule("0.3").json()["two_persons_above"] == "0.3"
    assert two.kinds() == ["grant", "rule"]
    assert two.rule("0.1", Role.ADMIN).json()["two_persons_above"] == "0.1"
    raised = two.rule("0.2")
    assert (raised.status_code, raised.json()["content"]) == (202, {"above": "0.2"})
    assert two.api.curator("GET", "/v1/datasets/city").json()["two_persons_above"] == "0.1"
    assert problem(two.api.curator("POST", f"/v1/requests/{raised.json()['id']}/approve")) == (403, "own-request")
    two.decide("approve", raised.json()["id"], Role.ADMIN)
    assert two.api.curator("GET", "/v1/datasets/city").json()["two_persons_above"] == "0.2"
    removed = two.rule(None, Role.ADMIN)
    assert (removed.status_code, removed.json()["content"]) == (202, {"above": None})
    two.decide("approve", removed.json()["id"])
    assert "two_persons_above" not in two.api.curator("GET", "/v1/datasets/city").json()
    assert two.api.order().status_code == 201
    assert two.rule(None).status_code == 200
    assert two.rule("0").json()["two_persons_above"] == "0"
    assert two.api.order(epsilon="0.000000001").status_code == 202
    assert two.is_valid()


def test_requests_are_listed_by_dataset_and_state(sqlite_two: TwoPersons) -> None:
    """In pages, to those who read the ledger, of the datasets that their keys reach."""
    two = sqlite_two
    ids = [two.asked()["id"] for _ in range(5)]
    two.decide("approve", ids[1])
    two.decide("refuse", ids[2], json={"reason": "too much"})

    def listed(query: str = "") -> list[str]:
        return [each["id"] for each in two.api.auditor("GET", f"/v1/requests{query}").json()["requests"]]

    assert listed() == listed("?dataset=city") == ids
    assert listed("?state=waiting") == [ids[0], ids[3], ids[4]]
    assert listed("?state=refused&dataset=city") == [ids[2]]
    page = two.api.auditor("GET", "/v1/requests?limit=2").json()
    assert ([each["id"] for each in page["requests"]], page["next"]) == (ids[:2], int(ids[1][1:]))
    assert listed(f"?after={page['next']}") == ids[2:]
    assert two.api.auditor("GET", f"/v1/requests/{ids[2]}").json()["reason"] == "too much"
    elsewhere = issue_key(two.api.service, name="e", role=Role.CURATOR, datasets=frozenset({"other"}))[1]
    assert two.api.call_with(elsewhere, "GET", "/v1/requests").json()["requests"] == []
    for path in (f"/v1/requests/{ids[0]}", "/v1/requests/q1", "/v1/requests?dataset=city"):
        assert two.api.call_with(elsewhere, "GET", path).status_code == 404
    for word in ("approve", "refuse"):
        assert two.api.call_with(elsewhere, "POST", f"/v1/requests/{ids[0]}/{word}").status_code == 404


def test_as_many_requests_wait_as_orders_may(sqlite_settings: Settings) -> None:
    """What waits without end would be in everybody's way."""
    with Api(create_app(sqlite_settings.model_copy(update={"max_open_orders": 2}))) as api:
        two = TwoPersons(api)
        ids = [two.asked()["id"] for _ in range(2)]
        assert problem(two.api.order()) == (409, "quota-reached")
        two.decide("refuse", ids[0])
        assert two.api.order().status_code == 202


def test_a_key_that_was_revoked_a_moment_ago_decides_nothing(sqlite_two: TwoPersons) -> None:
    """A process believes a key for some seconds; the ledger's lock does not."""
    two, service = sqlite_two, sqlite_two.api.service
    request = two.asked()
    stored, _ = issue_key(service, name="gone", role=Role.CURATOR, datasets=None)
    revoke_key(service, stored.principal.id, actor="a")
    before = two.kinds()
    for decide in (deciding.approve, lambda *call: deciding.refuse(*call, reason="")):
        with pytest.raises(NotAuthenticated):
            decide(service, stored.principal, request["id"])
    assert two.kinds() == before


def test_a_request_ends_with_the_key_that_made_it(sqlite_two: TwoPersons) -> None:
    """The second person is told why, and can refuse it; nothing is spent."""
    two, service = sqlite_two, sqlite_two.api.service
    stored, secret = issue_key(service, name="gone", role=Role.CURATOR, datasets=None)
    other = two.asked()["id"]
    request = two.api.call_with(secret, "POST", "/v1/datasets/city/rule", json={"above": "2"}).json()["id"]
    revoke_key(service, stored.principal.id, actor="a")
    before = two.kinds()
    refused = two.decide("approve", request)
    assert problem(refused) == (403, "not-allowed")
    assert "revoked" in refused.json()["detail"]
    assert two.kinds() == before
    assert two.decide("refuse", request, json={"reason": ""}).status_code == 200
    assert two.decide("approve", other).status_code == 200
    assert two.is_valid()


def outcomes(calls: list[Any]) -> list[int]:
    """The statuses of requests that begin at once."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return sorted(reply.status_code for reply in pool.map(lambda call: call(), calls))


def test_of_two_approvals_at_once_one_has_an_effect(two: TwoPersons) -> None:
    """The others are told that it was decided."""
    third = issue_key(two.api.service, name="third", role=Role.CURATOR, datasets=None)[1]
    keys = [two.second[Role.CURATOR], third] * 3
    for _ in range(ROUNDS):
        path = f"/v1/requests/{two.asked(epsilon='0.4')['id']}/approve"
        calls = [partial(two.api.call_with, key, "POST", path) for key in keys]
        assert outcomes(calls) == [200] + [409] * (len(keys) - 1)
    assert two.kinds() == ["grant", "rule", *["request", "charge"] * ROUNDS]
    assert two.is_valid()


def test_of_an_approval_and_a_refusal_at_once_one_holds(two: TwoPersons) -> None:
    """Budget and state agree with the one that came first."""
    for _ in range(ROUNDS):
        request, before = two.asked(epsilon="0.4"), Epsilon.parse(two.api.budget()["spent"])
        refusing = partial(two.api.curator, "POST", f"/v1/requests/{request['id']}/refuse")
        assert outcomes([partial(two.decide, "approve", request["id"]), refusing]) == [200, 409]
        state = two.api.auditor("GET", f"/v1/requests/{request['id']}").json()["state"]
        spent = Epsilon.parse(two.api.budget()["spent"]) - before
        assert (two.kinds()[-1], str(spent)) == {"approved": ("charge", "0.4"), "refused": ("refuse", "0")}[state]
    assert two.is_valid()


def test_a_service_never_writes_around_the_rule(sqlite_two: TwoPersons, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the use case forgets to ask, the books refuse the entry before it is written."""
    two = sqlite_two
    monkeypatch.setattr("app.releases.requests.needs_second_person", lambda *_: False)
    assert problem(two.api.order()) == (503, "not-ready")
    assert two.kinds() == ["grant", "rule"]


def forge(service: Service, **changes: Any) -> None:
    """Append an entry with a right hash to the table itself, as somebody who can write to the database would."""

    with service.database.transaction() as tx:
        last = head(tx)
        fields: dict[str, Any] = {
            "kind": Kind.CHARGE,
            "dataset": "city",
            "release": "rforged",
            "epsilon": Epsilon.parse("0.5"),
            "actor": "curator [k0]",
            "at": "2026-01-02",
            "detail": {"order": {"epsilon": "0.5"}, "max_cells": 100},
        }
        entry = LedgerEntry(seq=last.seq + 1, previous=last.hash, **(fields | changes)).sealed()
        row = entry.to_json() | {"epsilon_nano": entry.epsilon.nano, "detail": canonical_json(entry.detail).decode()}
        del row["epsilon"]
        tx.execute(insert(ledger).values(row))


def test_a_charge_that_goes_around_the_rule_is_found_by_a_verification(two: TwoPersons) -> None:
    """Its hash is right and it follows the last entry; no second key agreed to it."""
    forge(two.api.service)
    outcome = two.api.auditor("GET", "/v1/ledger/verify").json()
    assert (outcome["valid"], outcome["first_bad"]) == (False, outcome["entries"] + 1)
    assert "two persons" in outcome["reason"]
    assert two.api.order(epsilon="0.1").status_code == 503


def test_an_approval_that_was_forged_by_the_requester_is_found(two: TwoPersons) -> None:
    """Whoever asked signs as approver, under another name."""
    request = two.asked()
    key_id = request["requested_by"].rpartition(" ")[2]
    detail = request["content"] | {"request": request["hash"], "requested_by": request["requested_by"]}
    forge(two.api.service, release=request["release"], actor=f"somebody else {key_id}", detail=detail)
    outcome = two.api.auditor("GET", "/v1/ledger/verify").json()
    assert outcome["reason"] == "The key that asked for it approved it as well."
