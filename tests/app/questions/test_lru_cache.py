"""LruCache: its total weight is that of what it holds, whatever order puts, failures and waiters come in."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError, Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.questions.lru_cache import LruCache

KEYS = st.sampled_from("abcdef")
MAKES = st.one_of(st.integers(0, 30), st.none())  # a value of this weight, or a failure


class Failure(Exception):
    """What make() raises in these tests."""


def made(weight: int | None) -> bytes:
    """A value of a weight, or the failure."""
    if weight is None:
        raise Failure
    return bytes(weight)


def held(cache: LruCache[bytes]) -> int:
    """The weight of what the cache holds, counted anew."""
    return sum(len(key) + len(value) for key, value in cache._values.items())


@given(st.lists(st.tuples(KEYS, MAKES, st.booleans())), st.integers(1, 60))
def test_the_weight_is_that_of_the_values_held(steps: list[tuple[str, int | None, bool]], capacity: int) -> None:
    """After any puts, gets and failures: the sum over keys and values, and at most the capacity."""
    cache: LruCache[bytes] = LruCache(capacity, weigh=lambda key, value: len(key) + len(value))
    for key, weight, by_get in steps:
        try:
            if by_get:
                cache.get(key, lambda weight=weight: made(weight))  # type: ignore[misc]
            else:
                cache.put(key, made(weight))
        except Failure:
            pass
        assert cache.weight == held(cache)
        assert cache.weight <= capacity or len(cache._values) == 1


@given(st.lists(st.tuples(KEYS, st.integers(0, 30))))
def test_the_value_put_last_is_the_one_held(steps: list[tuple[str, int]]) -> None:
    """A second put under a key replaces the first; the key used longest ago is dropped first."""
    cache: LruCache[bytes] = LruCache(1000, weigh=lambda _, value: len(value))
    last: dict[str, bytes] = {}
    for key, weight in steps:
        cache.put(key, made(weight))
        last[key] = made(weight)
    assert {key: cache.peek(key) for key in last} == last


def test_a_failure_while_others_wait_leaves_the_weight_true() -> None:
    """The first maker fails while two wait, and another caller comes later: one of them makes it, weighed once."""
    cache: LruCache[bytes] = LruCache(100, weigh=lambda _, value: len(value))
    failing, makes, two_makers = Event(), [], Barrier(2)

    def fail() -> bytes:
        failing.set()
        while cache._flights["a"].threads < 3:
            time.sleep(0.001)
        raise Failure

    def make() -> bytes:
        makes.append(1)
        with suppress(BrokenBarrierError):
            two_makers.wait(0.5)  # where two threads make one value at the same time they meet here
        return bytes(10)

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(cache.get, "a", fail)
        failing.wait()
        others = [pool.submit(cache.get, "a", make) for _ in range(2)]
        with pytest.raises(Failure):
            first.result()
        others.append(pool.submit(cache.get, "a", make))
        assert {other.result() for other in others} == {bytes(10)}
    assert (len(makes), cache.weight) == (1, 10)


def test_nothing_is_left_of_a_key_that_failed() -> None:
    """Neither a value nor a lock: names that nobody can ask for take no memory."""
    cache: LruCache[bytes] = LruCache(100, weigh=lambda _, value: len(value))
    for number in range(50):
        with pytest.raises(Failure):
            cache.get(str(number), lambda: made(None))
    assert (cache.weight, len(cache._values), len(cache._flights)) == (0, 0, 0)
