"""Ledger kinds as described data: every kind is described, has its rule, and its description agrees with the books."""

from __future__ import annotations

import pytest

from core.ledger.books import _POSTINGS, Books
from core.ledger.kinds import KEY_KINDS, Kind, State
from tests.core.ledger.test_chain import CHARGE, CLOSE, DRAW, GRANT, ISSUE, PUBLISH, REVOKE, VOID, chained

LIVES = {
    "published": (GRANT, CHARGE, DRAW, PUBLISH),
    "burnt": (GRANT, CHARGE, DRAW),
    "void": (GRANT, CHARGE, VOID),
    "closed": (GRANT, GRANT, CHARGE, CLOSE),
    "keys": (ISSUE, REVOKE),
}


def test_every_kind_is_described_and_has_a_rule() -> None:
    """A kind that is added to the enum alone fails here."""
    assert set(_POSTINGS) == set(Kind)
    for kind in Kind:
        assert kind.description.phrase
        assert kind.description.meaning.endswith(".")


def test_the_kinds_about_keys_are_those_that_name_no_dataset() -> None:
    """Pages show them to nobody who does not see the whole ledger."""
    assert {Kind.ISSUE, Kind.REVOKE, Kind.KEY} == KEY_KINDS


@pytest.mark.parametrize("life", LIVES)
def test_the_described_signs_give_the_budget_of_the_books(life: str) -> None:
    """The charts sum up epsilon by the signs of the kinds; the books decide by their rules. Both agree."""
    books, granted, spent = Books(), 0, 0
    for entry in chained(*LIVES[life]):
        assert books.post(entry) is None
        granted += entry.kind.description.granted_sign * entry.epsilon.nano
        spent += entry.kind.description.spent_sign * entry.epsilon.nano
        for account in books.accounts.values():
            assert (account.granted, account.spent) == (granted, spent)


@pytest.mark.parametrize("state", State)
def test_every_state_is_that_of_one_kind(state: State) -> None:
    """A release's state is that of its last entry."""
    assert [kind.description.state for kind in Kind].count(state) == 1
