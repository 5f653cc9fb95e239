"""What a service shows of its state, compared with the specification; and a reply as the specification writes it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from httpx import Response

from tests.support.states.nouns import Entry, Reply
from tests.support.states.specification import Specification
from torture.model import Model


def reply_of(response: Response) -> Reply:
    """The status, and the problem or the id or name that the reply is about."""
    if not response.content:
        return response.status_code, ""
    body = response.json()
    about = body["type"].rpartition(":")[2] if response.is_error else body.get("id", body.get("name"))
    return response.status_code, about


def require_same(specified: Specification, get: Callable[[str], Response]) -> None:
    """Everything that an admin can look at, and the ledger replayed by the independent model."""
    listed = get("/v1/datasets").json()["datasets"]
    assert {each["name"]: _shown(each) for each in listed} == _datasets(specified)
    requests = get("/v1/requests?limit=1000").json()["requests"]
    assert {each["id"]: (_key(each["requested_by"]), each["state"]) for each in requests} == {
        number: (request.asker, request.state) for number, request in specified.requests.items()
    }
    model = Model.of(get("/v1/ledger/export").text.splitlines())
    assert [_entry(each) for each in model.entries] == specified.ledger
    assert model.states == {release: each.state for release, each in specified.releases.items()}
    assert {number: each.state for number, each in model.approvals.requests.items()} == {
        number: each.state for number, each in specified.requests.items()
    }
    for name, dataset in specified.datasets.items():
        replayed = model.granted[name], model.spent[name], model.approvals.above.get(name), name in model.closed
        assert replayed == (dataset.granted, dataset.spent, dataset.above, dataset.closed)


def _datasets(specified: Specification) -> dict[str, Any]:
    return {
        name: (
            (each.granted, each.spent, each.granted - each.spent),
            each.above,
            "closed" if each.closed else "open",
            {key: (one.state, one.terms.epsilon) for key, one in specified.releases.items() if one.dataset == name},
        )
        for name, each in specified.datasets.items()
    }


def _shown(listed: dict[str, Any]) -> tuple[Any, ...]:
    above = listed.get("two_persons_above")
    return (
        tuple(Decimal(listed["budget"][part]) for part in ("granted", "spent", "remaining")),
        None if above is None else Decimal(above),
        listed["state"],
        {each["id"]: (each["state"], Decimal(each["epsilon"])) for each in listed["releases"]},
    )


def _entry(line: dict[str, Any]) -> Entry:
    return Entry(line["kind"], _key(line["actor"]), line["dataset"], line["release"], Decimal(line["epsilon"]))


def _key(actor: str) -> str:
    return actor[actor.rindex("[") + 1 : -1]
