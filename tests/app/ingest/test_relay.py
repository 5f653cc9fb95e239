"""A relay works on items in order, in another thread, holds few of them, and passes on what goes wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator

import pytest

from app.ingest import relay as relay_module
from app.ingest.relay import Relay


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as a second thread takes, whatever the machine has."""
    monkeypatch.setattr(relay_module, "usable_cores", lambda: 2)


def relayed(work: Callable[[int], None], items: Iterable[int]) -> None:
    """Pass every item through a relay."""
    with Relay(work) as relay:
        for item in items:
            relay.put(item)


def test_items_are_worked_on_in_order_in_one_other_thread() -> None:
    """All of them, by the end of the block."""
    done: list[tuple[int, int]] = []
    relayed(lambda item: done.append((item, threading.get_ident())), range(100))
    assert [item for item, _ in done] == list(range(100))
    assert len({thread for _, thread in done} | {threading.get_ident()}) == 2


def test_what_goes_wrong_is_raised_where_items_come_from_and_nothing_follows_it() -> None:
    """By the next put, or at the end of the block."""
    done: list[int] = []

    def work(item: int) -> None:
        done.append(item)
        if item == 3:
            raise LookupError

    with pytest.raises(LookupError):
        relayed(work, range(10**6))
    assert done == [0, 1, 2, 3]
    with pytest.raises(LookupError):
        relayed(work, [3])


def test_few_items_wait() -> None:
    """A slow worker slows down the reader, so that memory stays bounded."""
    go, begun = threading.Event(), threading.Semaphore(0)

    def work(_item: int) -> None:
        begun.release()
        go.wait()

    with Relay[int](work) as relay:
        relay.put(0)
        begun.acquire()
        relay.put(1)
        relay.put(2)
        assert not begun.acquire(blocking=False)
        waiting = threading.Thread(target=relay.put, args=(3,))
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
        go.set()
        waiting.join()


def test_a_failure_of_the_reader_ends_the_thread_without_working_on_what_waits() -> None:
    """The failure is the reader's own."""
    go = threading.Event()
    done: list[int] = []

    def work(item: int) -> None:
        go.wait()
        done.append(item)

    before = threading.active_count()

    def items() -> Iterator[int]:
        yield from range(3)
        threading.Timer(0.05, go.set).start()
        raise KeyError

    with pytest.raises(KeyError):
        relayed(work, items())
    assert len(done) <= 1
    assert threading.active_count() <= before + 1


def test_on_a_single_core_there_is_no_second_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items are worked on where they come from, in order, and what goes wrong is raised at once."""
    monkeypatch.setattr(relay_module, "usable_cores", lambda: 1)
    done: list[tuple[int, int]] = []
    relayed(lambda item: done.append((item, threading.get_ident())), range(10))
    assert done == [(item, threading.get_ident()) for item in range(10)]

    def work(item: int) -> None:
        done.append((item, 0))
        raise LookupError

    done.clear()
    with pytest.raises(LookupError):
        relayed(work, range(10))
    assert done == [(0, 0)]
