"""Turns: one thread at a time, first come first served, with a time limit."""

from __future__ import annotations

import threading

import pytest

from app.storage.turns import Turns


def test_threads_are_served_in_the_order_of_arrival() -> None:
    """Twenty threads queue up behind a holder; each is served in its place."""
    turns, served = Turns(), []

    def work(number: int) -> None:
        with turns.taken(60):
            served.append(number)

    with turns.taken(60):
        threads = []
        for number in range(20):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            while len(turns._waiting) <= number:
                threading.Event().wait(0.001)
    for thread in threads:
        thread.join()
    assert served == list(range(20))


def test_a_wait_that_is_too_long_ends_and_leaves_no_trace() -> None:
    """TimeoutError; the lock goes to whoever comes next."""
    turns = Turns()
    with turns.taken(1), pytest.raises(TimeoutError), turns.taken(0.01):
        raise AssertionError
    assert not turns._waiting
    with turns.taken(0):
        pass


def test_a_failure_within_a_turn_ends_the_turn() -> None:
    """An exception in the block frees the lock."""
    turns = Turns()
    with pytest.raises(KeyError), turns.taken(1):
        raise KeyError
    with turns.taken(0):
        pass
