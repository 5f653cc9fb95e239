"""A real service beside its specification: random actions of many keys, one after the other, with restarts between."""

from __future__ import annotations

import pytest

from tests.support.states.machine import LIMITS, drive
from tests.support.states.running import on_sqlite


@pytest.mark.timeout(900)  # where it fails, hypothesis takes minutes to find the shortest steps that lead there
def test_a_service_is_in_the_state_that_its_specification_says() -> None:
    """After each action: the reply, all balances, all states, and every entry of the ledger."""
    with on_sqlite(LIMITS) as place:
        drive(place, examples=35, steps=30)
