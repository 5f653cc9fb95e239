"""Lanes: a share of the slots for each key, round robin between keys, and no work that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event

import pytest

from app.errors import TooManyRequests
from app.operations.lanes import STREAMS, STREAMS_PER_KEY, Lane, Lanes
from core.checkpoint import Checkpoint
from tests.support.event_loops import run


async def until(condition: Callable[[], bool]) -> None:
    """Let other tasks run until something holds."""
    while not condition():
        await asyncio.sleep(0.001)


def test_a_key_has_its_share_and_leaves_the_others_theirs() -> None:
    """Of two slots a key gets one, however many of its requests wait; another key gets the other at once."""

    async def test() -> None:
        lane, over = Lane("test", slots=2, per_key=1, queue=8), Event()
        greedy = [asyncio.create_task(lane.start("greedy", over.wait)) for _ in range(5)]
        await until(lambda: lane.waiting == 4)
        assert lane.busy == 1
        other = await lane.start("other", lambda: "answer")
        assert (await other, lane.waiting) == ("answer", 4)
        over.set()
        await asyncio.gather(*greedy)
        await until(lambda: lane.busy == 0)

    run(test)


def test_keys_take_turns() -> None:
    """Whoever has waited with many requests gets one done, then the next key, and so on."""

    async def test() -> None:
        lane, over, order = Lane("test", slots=1, per_key=1, queue=8), Event(), []  # type: tuple[Lane, Event, list[str]]
        first = await lane.start("x", over.wait)

        async def ask(key: str) -> None:
            await asyncio.shield(await lane.start(key, lambda: order.append(key)))

        waiting = []
        for key in ("a", "a", "a", "b", "b", "c"):
            waiting.append(asyncio.create_task(ask(key)))
            await until(lambda: lane.waiting == len(waiting))
        over.set()
        await first
        await asyncio.gather(*waiting)
        assert order == ["a", "b", "c", "a", "b", "a"]

    run(test)


def test_a_full_queue_refuses_its_key_and_no_other() -> None:
    """429 for the key that has as many waiting as may wait; what waits already stays."""

    async def test() -> None:
        lane, over = Lane("test", slots=1, per_key=1, queue=2), Event()
        asked = [asyncio.create_task(lane.start("a", over.wait)) for _ in range(3)]
        await until(lambda: lane.waiting == 2)
        with pytest.raises(TooManyRequests) as refused:
            await lane.enter("a")
        assert refused.value.retry_after >= 1
        other = asyncio.create_task(lane.start("b", lambda: "answer"))
        await until(lambda: lane.waiting == 3)
        over.set()
        assert await (await other) == "answer"
        await asyncio.gather(*asked)

    run(test)


def test_who_leaves_while_waiting_is_not_waited_for() -> None:
    """A cancelled request leaves the queue, and its work is never begun."""

    async def test() -> None:
        lane, over, begun = Lane("test", slots=1, per_key=1, queue=8), Event(), []  # type: tuple[Lane, Event, list[int]]
        first = await lane.start("a", over.wait)
        leaving = asyncio.create_task(lane.start("b", lambda: begun.append(1)))
        await until(lambda: lane.waiting == 1)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        assert lane.waiting == 0
        over.set()
        await first
        await until(lambda: lane.busy == 0)
        assert begun == []

    run(test)


def working(begun: Event, go_on: Event) -> Callable[[Checkpoint], str]:
    """Work that looks for its checkpoint until it may end."""

    def work(checkpoint: Checkpoint) -> str:
        begun.set()
        while not go_on.wait(0.001):
            checkpoint()
        return "answer"

    return work


def test_work_that_nobody_waits_for_stops_at_its_checkpoint() -> None:
    """The slot is free again although the work was not done; whoever asks then begins anew."""

    async def test() -> None:
        lanes, begun, never = Lanes(), Event(), Event()
        asker = asyncio.create_task(lanes.run(lanes.long, "a", "question", working(begun, never)))
        await until(begun.is_set)
        asker.cancel()
        await until(lambda: lanes.long.busy == 0)
        assert await lanes.run(lanes.long, "a", "question", lambda _: "anew") == "anew"

    run(test)


def test_work_goes_on_while_one_waiter_is_left() -> None:
    """Two keys want one answer: worked out once, and not stopped when the one who asked first leaves."""

    async def test() -> None:
        lanes, begun, go_on = Lanes(), Event(), Event()
        first = asyncio.create_task(lanes.run(lanes.long, "a", "question", working(begun, go_on)))
        await until(begun.is_set)
        second = asyncio.create_task(lanes.run(lanes.long, "b", "question", lambda _: "worked out twice"))
        await asyncio.sleep(0)
        assert lanes.long.busy == 1
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        go_on.set()
        assert await second == "answer"

    run(test)


def test_a_failure_is_told_to_all_who_wait() -> None:
    """And nothing of it is kept."""

    async def test() -> None:
        lanes, go_on = Lanes(), Event()

        def fail(_checkpoint: Checkpoint) -> str:
            go_on.wait()
            raise ValueError

        asked = [asyncio.create_task(lanes.run(lanes.quick, key, "question", fail)) for key in "ab"]
        await until(lambda: lanes.quick.busy == 1)
        go_on.set()
        assert [type(error) for error in await asyncio.gather(*asked, return_exceptions=True)] == [ValueError] * 2
        assert await lanes.run(lanes.quick, "a", "question", lambda _: "answer") == "answer"

    run(test)


def test_streams_are_counted_by_key_and_by_process() -> None:
    """So many for a key, so many in all, and what ends makes room."""
    lanes = Lanes()
    keys = [f"k{i // STREAMS_PER_KEY}" for i in range(STREAMS)]
    opened = [lanes.stream(key) for key in keys]
    for stream in opened:
        stream.__enter__()
    for key in ("k0", "another"):
        with pytest.raises(TooManyRequests), lanes.stream(key):
            pass
    opened[0].__exit__(None, None, None)
    with lanes.stream("k0"):
        assert lanes.streams == STREAMS


def test_a_client_that_leaves_as_its_turn_comes_takes_no_slot_along() -> None:
    """Its task is cancelled, and before it runs again the slot before it is given back: the next in turn gets it."""

    async def test() -> None:
        lane = Lane("test", slots=1, per_key=1, queue=8)
        await lane.enter("first")
        gone, next_one = (asyncio.create_task(lane.enter(key)) for key in ("gone", "next"))
        await until(lambda: lane.waiting == 2)
        loop = asyncio.get_running_loop()
        loop.call_soon(gone.cancel)
        loop.call_soon(lane.leave, "first")
        await asyncio.wait({gone})
        assert gone.cancelled()
        await next_one
        assert (lane.busy, lane.waiting) == (1, 0)
        lane.leave("next")
        assert lane.busy == 0

    run(test)
