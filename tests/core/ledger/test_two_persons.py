"""The two-person rule as values: which lives of a request are valid, and what each rule refuses."""

from __future__ import annotations

from typing import Any

import pytest

from core.budget import NOTHING, Epsilon
from core.ledger.accounts import RequestState
from core.ledger.books import Books
from core.ledger.chain import verify
from core.ledger.entry import GENESIS, LedgerEntry
from core.ledger.kinds import Kind
from core.ledger.two_persons import key_id_of
from tests.core.ledger.test_chain import GRANT, ISSUE, KEY, REVOKE, chained

ANN, BEN = "ann [k1]", "ben [k2]"
TWO_KEYS = (ISSUE, ISSUE | {"detail": KEY | {"id": "k2"}})
ONE, HALF, QUARTER = (Epsilon.parse(text) for text in ("1", "0.5", "0.25"))
ORDER = {"order": {"epsilon": "0.5"}, "max_cells": 10}
RULE: dict[str, Any] = {"kind": Kind.RULE, "actor": ANN, "detail": {"above": "0.25"}}
START = (*TWO_KEYS, GRANT, RULE)


def request(kind: Kind, epsilon: str, terms: Any, release: str | None = None, **changes: Any) -> dict[str, Any]:
    """A request of Ann's."""
    detail = {"kind": kind.value, "release": release, "epsilon": epsilon, "terms": terms}
    return {"kind": Kind.REQUEST, "actor": ANN, "detail": detail} | changes


def effect(kind: Kind, of: int, epsilon: Epsilon, terms: Any, release: str | None = None, **changes: Any) -> Any:
    """Ben's approval of the request that is entry `of`; its hash is put in once the entries before it have theirs."""
    detail = {**terms, "request": of, "requested_by": ANN}
    return {"kind": kind, "actor": BEN, "release": release, "epsilon": epsilon, "detail": detail} | changes


def refusal(of: int, actor: str = BEN) -> dict[str, Any]:
    return {"kind": Kind.REFUSE, "actor": actor, "detail": {"request": of, "reason": ""}}


def entries_of(*steps: dict[str, Any]) -> list[LedgerEntry]:
    """A chain, in which a `request` that is a number is replaced by the hash of that entry."""
    entries: list[LedgerEntry] = []
    for seq, step in enumerate(steps, start=1):
        fields = {"dataset": "d", "release": None, "epsilon": NOTHING, "actor": "a", "at": "2026-01-02", "detail": {}}
        whole = fields | step
        of = whole["detail"].get("request")
        if isinstance(of, int):
            whole["detail"] = whole["detail"] | {"request": entries[of - 1].hash}
        previous = entries[-1].hash if entries else GENESIS
        entries.append(LedgerEntry(**whole, seq=seq, previous=previous).sealed())
    return entries


ASK = request(Kind.CHARGE, "0.5", ORDER, "r")
CHARGE = effect(Kind.CHARGE, 5, HALF, ORDER, "r")
ASK_VOID = request(Kind.VOID, "0.5", {}, "r")
VOID = effect(Kind.VOID, 7, HALF, {}, "r")
ASK_GRANT = request(Kind.GRANT, "1", {"reason": "more"})
MORE = effect(Kind.GRANT, 5, ONE, {"reason": "more"})
ASK_RULE = request(Kind.RULE, "0", {"above": "0.5"})
RAISE = effect(Kind.RULE, 5, NOTHING, {"above": "0.5"})
SMALL = {"kind": Kind.CHARGE, "release": "s", "epsilon": QUARTER, "actor": ANN}
CLOSE = {"kind": Kind.CLOSE}
LOWER = RULE | {"detail": {"above": "0"}}
REMOVE = RULE | {"detail": {"above": None}}


def but(step: dict[str, Any], **detail: Any) -> dict[str, Any]:
    """A step with another detail."""
    return step | {"detail": step["detail"] | detail}


VALID = {
    "an order": (*START, ASK, CHARGE),
    "a void": (*START, ASK, CHARGE, ASK_VOID, VOID),
    "a void after a close": (*START, ASK, CHARGE, CLOSE, ASK_VOID, effect(Kind.VOID, 8, HALF, {}, "r")),
    "a grant": (*START, ASK_GRANT, MORE),
    "a raised threshold": (*START, ASK_RULE, RAISE),
    "a removed threshold": (
        *START,
        request(Kind.RULE, "0", {"above": None}),
        effect(Kind.RULE, 5, NOTHING, {"above": None}),
        GRANT,
    ),
    "a lowered threshold, by one": (*START, LOWER),
    "the same threshold, by one": (*START, RULE),
    "an order at the threshold, by one": (*START, SMALL),
    "a grant at the threshold, by one": (*START, GRANT | {"epsilon": QUARTER}),
    "a refusal": (*START, ASK, refusal(5)),
    "a withdrawal": (*START, ASK, refusal(5, ANN)),
    "a refusal of a request whose key was revoked": (*START, ASK, REVOKE | {"detail": {"id": "k1"}}, refusal(5)),
    "a refusal after a close": (*START, ASK, CLOSE, refusal(5)),
    "two requests, the second approved first": (
        *START,
        ASK,
        ASK_GRANT,
        effect(Kind.GRANT, 6, ONE, {"reason": "more"}),
        CHARGE,
    ),
    "an approval although the rule was lowered meanwhile": (*START, ASK, LOWER, CHARGE),
    "an approval by the key of the environment": (*START, ASK, CHARGE | {"actor": "RUGNIK_ADMIN_KEY [environment]"}),
    "an approval by another key of the same name": (*START, ASK, CHARGE | {"actor": "ann [k2]"}),
    "fields that every entry of its kind has": (
        *START,
        but(ASK, salt="00"),
        but(CHARGE, salt="11", granted="1", spent="0.5"),
    ),
    "another dataset, which has no rule": (*START, GRANT | {"dataset": "e"}, GRANT | {"dataset": "e"}),
}

REFUSED = {
    "an order above the rule without a request": (*START, CHARGE | {"detail": ORDER}),
    "a grant above the rule without a request": (*START, GRANT),
    "a void above the rule without a request": (*START, ASK, CHARGE, VOID | {"detail": {}}),
    "a void above a rule that came after the order": (
        *TWO_KEYS,
        GRANT,
        SMALL,
        RULE | {"detail": {"above": "0.2"}},
        {"kind": Kind.VOID, "release": "s", "epsilon": QUARTER, "actor": BEN},
    ),
    "a raised threshold without a request": (*START, RULE | {"detail": {"above": "0.3"}}),
    "a removed threshold without a request": (*START, REMOVE),
    "an approval by the same key": (*START, ASK, CHARGE | {"actor": ANN}),
    "an approval by the same key under another name": (*START, ASK, CHARGE | {"actor": "ben [k2] [k1]"}),
    "an approval by a key that was never issued": (*START, ASK, CHARGE | {"actor": "eve [k9]"}),
    "an approval by a revoked key": (*START, ASK, REVOKE | {"detail": {"id": "k2"}}, CHARGE),
    "an approval of a request whose key was revoked": (*START, ASK, REVOKE | {"detail": {"id": "k1"}}, CHARGE),
    "an approval by nobody's key": (*START, ASK, CHARGE | {"actor": "ben"}),
    "an order of another epsilon": (
        *START,
        ASK,
        CHARGE | {"epsilon": ONE, "detail": CHARGE["detail"] | {"order": {"epsilon": "1"}}},
    ),
    "an order on other terms": (*START, ASK, but(CHARGE, max_cells=11)),
    "an order with terms that nobody asked for": (*START, ASK, but(CHARGE, more=1)),
    "an order of another release": (*START, ASK, CHARGE | {"release": "s"}),
    "a grant of another epsilon": (*START, ASK_GRANT, MORE | {"epsilon": HALF}),
    "a rule in place of a grant": (
        *START,
        request(Kind.GRANT, "0", {"above": None}),
        effect(Kind.RULE, 5, NOTHING, {"above": None}),
    ),
    "a request for a release that one person ordered": (*START, SMALL, but(ASK, release="s")),
    "a grant for another reason": (*START, ASK_GRANT, but(MORE, reason="other")),
    "a grant in place of an order": (*START, ASK, MORE | {"epsilon": HALF}),
    "another threshold than asked for": (*START, ASK_RULE, but(RAISE, above="1")),
    "another requester": (*START, ASK, but(CHARGE, requested_by=BEN)),
    "a request that is approved twice": (*START, ASK_GRANT, MORE, MORE),
    "a refused request": (*START, ASK, refusal(5), CHARGE),
    "a withdrawn request": (*START, ASK, refusal(5, ANN), CHARGE),
    "a refusal after an approval": (*START, ASK, CHARGE, refusal(5)),
    "two refusals": (*START, ASK, refusal(5), refusal(5)),
    "a request of another dataset": (
        *TWO_KEYS,
        GRANT,
        RULE,
        GRANT | {"dataset": "e"},
        ASK_GRANT,
        effect(Kind.GRANT, 6, ONE, {"reason": "more"}, dataset="e"),
    ),
    "a refusal in another dataset": (*START, GRANT | {"dataset": "e"}, ASK, refusal(6) | {"dataset": "e"}),
    "a hash that is no request": (*START, ASK, effect(Kind.CHARGE, 3, HALF, ORDER, "r")),
    "a request on a first grant": (*START, ASK_GRANT, MORE | {"dataset": "new"}),
    "a request that spends": (*START, ASK | {"epsilon": HALF}),
    "a request with a release of its own": (*START, ASK | {"release": "r"}),
    "a rule that spends": (*START, LOWER | {"epsilon": HALF}),
    "a refusal that spends": (*START, ASK, refusal(5) | {"epsilon": HALF}),
    "a request for a draw": (*START, but(ASK, kind="draw")),
    "a request without terms": (*START, but(ASK, terms=None)),
    "a request whose terms name an approval": (*START, but(ASK, terms={"request": "x"})),
    "a request for an order without a release": (*START, but(ASK, release=None)),
    "a request for a grant with a release": (*START, but(ASK_GRANT, release="r")),
    "a request for no epsilon": (*START, but(ASK, epsilon="a half")),
    "a request for an epsilon that is spelt otherwise": (*START, but(ASK, epsilon="0.50")),
    "a request by nobody's key": (*START, ASK | {"actor": "ann"}),
    "two requests for one release": (*START, ASK, ASK),
    "a request for an ordered release": (*START, ASK, CHARGE, ASK),
    "a rule without a threshold": (*START, RULE | {"detail": {}}),
    "a rule with a number": (*START, RULE | {"detail": {"above": 0}}),
    "a rule with a word": (*START, RULE | {"detail": {"above": "none"}}),
    "a rule before the first grant": (*TWO_KEYS, RULE),
    "a rule after the close": (*START, CLOSE, LOWER),
    "a request for an order after the close": (*START, CLOSE, ASK),
    "an approval after the close": (*START, ASK, CLOSE, CHARGE),
    "an approval once the budget is gone": (
        *START,
        ASK,
        SMALL,
        SMALL | {"release": "t"},
        SMALL | {"release": "u"},
        CHARGE,
    ),
}


@pytest.mark.parametrize("name", VALID)
def test_an_honest_life_verifies(name: str) -> None:
    """Every entry holds."""
    outcome = verify(entries_of(*VALID[name]))
    assert outcome.valid, outcome.reason


@pytest.mark.parametrize("name", REFUSED)
def test_what_goes_around_the_rule_is_found_out(name: str) -> None:
    """The last entry breaks a rule although every hash is right: verify names it and says why."""
    entries = entries_of(*REFUSED[name])
    outcome = verify(entries)
    assert (outcome.first_bad, outcome.entries) == (len(entries), len(entries) - 1), outcome.reason
    assert outcome.reason
    assert outcome.reason.endswith(".")


def test_rules_requests_and_refusals_leave_the_budget_alone() -> None:
    """Only the effect spends, and the books know where each request stands."""
    books, spent, states = Books(), [], []
    for entry in entries_of(*START, ASK, ASK_GRANT, refusal(6), CHARGE):
        assert books.post(entry) is None
        account = books.accounts.get("d")
        if account is not None:
            spent.append(account.spent)
            states.append([record.state for record in account.requests])
    assert spent == [0, 0, 0, 0, 0, HALF.nano]
    waiting, approved, refused = RequestState.WAITING, RequestState.APPROVED, RequestState.REFUSED
    assert states == [[], [], [waiting], [waiting, waiting], [waiting, refused], [approved, refused]]
    assert books.accounts["d"].waiting == {}
    assert [record.id for record in books.requests.values()] == ["q5", "q6"]
    assert (books.requests["q5"].decided_seq, books.requests["q6"].decided_seq) == (8, 7)


def test_keys_are_told_apart_by_their_ids() -> None:
    """The id is what the service adds at the end, whatever the name looks like."""
    assert key_id_of("ann [k1]") == key_id_of("ben [k2] [k1]") == key_id_of(" [k9] [k1]") == "k1"
    assert key_id_of("rugnik start") == key_id_of("[k1") == key_id_of("") == ""


def test_a_ledger_without_a_rule_is_as_before() -> None:
    """No threshold, no second person."""
    assert verify(chained(GRANT, GRANT)).valid
