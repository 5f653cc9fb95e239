"""The chain as values: what a valid ledger is, and what each rule refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.budget import NOTHING, Epsilon
from core.ledger.accounts import SECRET_HASH
from core.ledger.chain import Walk, verify, walk
from core.ledger.entry import EMPTY, GENESIS, Head, LedgerEntry, Stored
from core.ledger.kinds import Kind

ONE = Epsilon.parse("1")
HALF = Epsilon.parse("0.5")


def chained(*steps: dict[str, Any]) -> list[LedgerEntry]:
    """Entries made from their own fields, numbered and bound to one another."""
    entries: list[LedgerEntry] = []
    for seq, step in enumerate(steps, start=1):
        fields = {"dataset": "d", "release": None, "epsilon": NOTHING, "actor": "a", "at": "2026-01-02", "detail": {}}
        previous = entries[-1].hash if entries else GENESIS
        entries.append(LedgerEntry(**(fields | step), seq=seq, previous=previous).sealed())
    return entries


GRANT = {"kind": Kind.GRANT, "epsilon": ONE}
CHARGE = {"kind": Kind.CHARGE, "release": "r", "epsilon": HALF}
VOID = {"kind": Kind.VOID, "release": "r", "epsilon": HALF}
PUBLISH = {"kind": Kind.PUBLISH, "release": "r", "detail": {"digest": "d" * 64}}
CLOSE = {"kind": Kind.CLOSE}
DRAW = {"kind": Kind.DRAW, "release": "r"}
KEY = {"id": "k1", "name": "n", "role": "admin", "datasets": None, SECRET_HASH: "5" * 64}
ISSUE = {"kind": Kind.ISSUE, "dataset": None, "detail": KEY}
REVOKE = {"kind": Kind.REVOKE, "dataset": None, "detail": {"id": "k1"}}


def test_a_whole_life_verifies() -> None:
    """Grants, charges, voids, publishes and a close in a sensible order are valid, and the head is the last entry."""
    other = {"release": "s"}
    entries = chained(ISSUE, GRANT, CHARGE, DRAW, PUBLISH, CHARGE | other, CLOSE, VOID | other, REVOKE)
    verification = verify(entries)
    assert (verification.valid, verification.entries) == (True, 9)
    assert verification.head == Head(seq=9, hash=entries[-1].hash)
    assert verify([]).head == EMPTY


def test_the_books_count_open_orders_entries_and_actors() -> None:
    """After each entry, also after a publish of version 0.1, which has no draw before it."""
    second, third, fourth = ({"release": name} for name in "stu")
    quarter = {"epsilon": Epsilon.parse("0.25")}
    steps = [ISSUE | {"actor": "k"}, GRANT, CHARGE | quarter, PUBLISH, CHARGE | second | quarter]
    steps += [CHARGE | third | quarter | {"actor": "b"}, DRAW | second, PUBLISH | second, VOID | third | quarter]
    steps += [CHARGE | fourth | quarter, CLOSE]
    walked = Walk()
    counts = []
    for entry in chained(*steps):
        assert walked.step(Stored(entry, entry.entry_hash())) is None
        account = walked.books.accounts.get("d")
        counts.append(account.open_orders if account is not None else 0)
    assert counts == [0, 0, 1, 0, 1, 2, 1, 1, 0, 1, 1]
    trail, about_keys = walked.books.accounts["d"].trail, walked.books.key_trail
    assert (trail.entries, trail.newest, trail.actors) == (10, 11, {"a", "b"})
    assert (about_keys.entries, about_keys.newest, about_keys.actors) == (1, 1, {"k"})


def test_what_was_drawn_before_a_close_may_be_published_after_it() -> None:
    """The upload was whole before the dataset was closed, and its epsilon is spent in any case."""
    assert verify(chained(GRANT, CHARGE, DRAW, CLOSE, PUBLISH)).valid


def test_a_ledger_of_version_0_1_verifies_and_goes_on_with_draws() -> None:
    """It has publishes without a draw; from its first draw on, no publish may be without one."""
    other = {"release": "s"}
    assert verify(chained(GRANT, CHARGE, PUBLISH, CHARGE | other, DRAW | other, PUBLISH | other)).valid
    third = {"release": "t"}
    late = chained(GRANT, CHARGE, DRAW, PUBLISH, CHARGE | third, PUBLISH | third)
    assert verify(late).first_bad == 6


def test_a_known_entry_has_a_known_hash() -> None:
    """Pinned, so that no change of code or library can change what a hash means."""
    (entry,) = chained(GRANT | {"detail": {"reason": "é", "b": 1, "a": [None, True]}})
    assert entry.hash == "e1985e2e9033a2f45cab35e4f810f69f0041b2ce6402f99199f07f605891cd0e"


REFUSED = {
    "an overdrawn charge": [GRANT, CHARGE, CHARGE | {"release": "s", "epsilon": Epsilon(500_000_001)}],
    "a charge before any grant": [CHARGE],
    "a charge without a release": [GRANT, CHARGE | {"release": None}],
    "two charges for one release": [GRANT, CHARGE, CHARGE],
    "a publish without a charge": [GRANT, PUBLISH],
    "a grant after a close, under the name of a drawn release": [GRANT, CHARGE, DRAW, CLOSE, GRANT | {"release": "r"}],
    "two publishes": [GRANT, CHARGE, PUBLISH, PUBLISH],
    "a void after a publish": [GRANT, CHARGE, PUBLISH, VOID],
    "a publish after a void": [GRANT, CHARGE, VOID, PUBLISH],
    "a void of another amount": [GRANT, CHARGE, VOID | {"epsilon": ONE}],
    "a void of another dataset's release": [GRANT, GRANT | {"dataset": "e"}, CHARGE, VOID | {"dataset": "e"}],
    "a grant after the close": [GRANT, CLOSE, GRANT],
    "a charge after the close": [GRANT, CLOSE, CHARGE],
    "a publish after the close": [GRANT, CHARGE, CLOSE, PUBLISH],
    "a draw after the close": [GRANT, CHARGE, CLOSE, DRAW],
    "a draw without a charge": [GRANT, DRAW],
    "two draws for one charge": [GRANT, CHARGE, DRAW, DRAW],
    "a draw after a publish": [GRANT, CHARGE, DRAW, PUBLISH, DRAW],
    "a draw after a void": [GRANT, CHARGE, VOID, DRAW],
    "a void after a draw": [GRANT, CHARGE, DRAW, VOID],
    "a second charge after a draw": [GRANT, CHARGE, DRAW, CHARGE],
    "a publish in another dataset than its draw": [
        GRANT,
        GRANT | {"dataset": "e"},
        CHARGE,
        DRAW,
        PUBLISH | {"dataset": "e"},
    ],
    "a grant without a dataset": [GRANT | {"dataset": None}],
    "a key issued twice": [ISSUE, ISSUE],
    "a key issued again after its end": [ISSUE, REVOKE, ISSUE],
    "a key revoked twice": [ISSUE, REVOKE, REVOKE],
    "a key revoked that was never issued": [REVOKE],
    "a key with a dataset": [GRANT, ISSUE | {"dataset": "d"}],
    "a key that spends": [ISSUE | {"epsilon": HALF}],
    "a key without a hash of its secret": [ISSUE | {"detail": {"id": "k1", "name": "n", "role": "admin"}}],
    "a key limited to no list": [ISSUE | {"detail": KEY | {"datasets": "all"}}],
    "a charge of another epsilon than its order's": [GRANT, CHARGE | {"detail": {"order": {"epsilon": "4"}}}],
    "a charge with an order that has no epsilon": [GRANT, CHARGE | {"detail": {"order": {}}}],
    "a publish without a digest": [GRANT, CHARGE, PUBLISH | {"detail": {}}],
    "a publish with a digest that is none": [GRANT, CHARGE, PUBLISH | {"detail": {"digest": "x"}}],
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_ledger_that_no_honest_service_writes_is_found_out(name: str) -> None:
    """The last entry breaks a rule although every hash is right: verify names it and says why."""
    entries = chained(*REFUSED[name])
    verification = verify(entries)
    assert (verification.first_bad, verification.entries) == (len(entries), len(entries) - 1)
    assert verification.reason


@pytest.mark.parametrize(
    "field", ["kind", "dataset", "release", "epsilon", "actor", "at", "detail", "previous", "hash"]
)
def test_a_changed_field_is_found(field: str) -> None:
    """Every field is under the hash."""
    other: dict[str, Any] = {"kind": Kind.CLOSE, "epsilon": HALF, "detail": {"x": 1}}
    entries = chained(GRANT, CHARGE, PUBLISH)
    entries[1] = replace(entries[1], **{field: other.get(field, "changed") if field != "epsilon" else ONE})
    assert verify(entries).first_bad == 2


def test_missing_swapped_and_unreadable_entries_are_found() -> None:
    """A gap, another order and a line that cannot be read are each named at their place."""
    first, second, third = chained(GRANT, CHARGE, PUBLISH)
    assert verify([first, third]).first_bad == 2
    assert verify([second, first, third]).first_bad == 1
    assert verify([first, None, third]).first_bad == 2


def test_a_walk_tells_how_far_it_is_and_ends_with_the_outcome() -> None:
    """After every second entry, then the outcome; a break ends it at once, and nothing is told beyond it."""
    entries = chained(GRANT, CHARGE, PUBLISH, GRANT, CLOSE)
    steps = list(walk(entries, every=2))
    assert [step.entries for step in steps] == [2, 4, 5]
    assert all(step.valid for step in steps)
    assert steps[-1] == verify(entries)
    broken = [*entries[:3], replace(entries[3], actor="somebody else"), entries[4]]
    steps = list(walk(broken, every=2))
    assert [(step.entries, step.first_bad) for step in steps] == [(2, None), (3, 4)]
    assert list(walk([])) == [verify([])]
