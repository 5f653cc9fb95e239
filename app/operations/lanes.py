"""Lanes: how much is worked on at once, in this process and for one key.

Arithmetic keeps threads busy, and more of them than cores only take turns. So each kind of work has a lane: some slots,
a share of them for each key, and a short queue for each key. Keys take turns. A key whose queue is full gets 429.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any, TypeVar

from app.errors import TooManyRequests
from core.checkpoint import Checkpoint

_Result = TypeVar("_Result")
STREAMS, STREAMS_PER_KEY = 32, 4
_RETRY_SECONDS = 5  # when a caller may come back who has too much at work already


class Stopped(Exception):
    """Raised at a checkpoint of work that nobody waits for any more."""


class Lane:
    """Slots for one kind of work. Its methods run on the event loop, its work in threads."""

    def __init__(self, name: str, *, slots: int, per_key: int, queue: int) -> None:
        self._slots, self._per_key, self._queue = slots, per_key, queue
        self._busy: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # whose turn is next comes first
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix=name)

    async def start(self, key: str, work: Callable[[], _Result]) -> asyncio.Future[_Result]:
        """Wait for a slot, then begin the work in a thread; the slot is free again when the thread is done.

        Await the future behind `asyncio.shield`: a thread cannot be cancelled.
        """
        await self.enter(key)
        return self.begin(key, work)

    async def enter(self, key: str) -> None:
        """Take a slot as soon as this key may have one; TooManyRequests if too many of its requests wait already."""
        if self._may_enter(key):
            self._busy[key] += 1
            return
        queue = self._waiting.setdefault(key, deque())
        if len(queue) >= self._queue:
            raise TooManyRequests("As many questions of this key wait as may wait at once.", _RETRY_SECONDS)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(key)  # the slot came at the same moment
            else:
                self._forget(key, turn)
            raise

    def begin(self, key: str, work: Callable[[], _Result]) -> asyncio.Future[_Result]:
        """Begin work in the slot that this key has taken."""
        loop = asyncio.get_running_loop()
        future = self._threads.submit(work)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self.leave, key))
        result = asyncio.wrap_future(future)
        result.add_done_callback(lambda done: done.cancelled() or done.exception())  # looked at, if by nobody else
        return result

    def leave(self, key: str) -> None:
        """Give a slot back; the next key in turn that may have it gets it."""
        self._busy[key] -= 1
        if not self._busy[key]:
            del self._busy[key]
        for candidate in list(self._waiting):
            while candidate in self._waiting and self._may_enter(candidate):
                turn = self._waiting[candidate][0]
                self._forget(candidate, turn)
                if turn.done():  # cancelled: its client went away, and its task has not run since
                    continue
                if candidate in self._waiting:
                    self._waiting.move_to_end(candidate)
                turn.set_result(None)
                self._busy[candidate] += 1
                break

    @property
    def busy(self) -> int:
        """How many slots are taken."""
        return self._busy.total()

    @property
    def waiting(self) -> int:
        """How many requests wait for a slot."""
        return sum(map(len, self._waiting.values()))

    def _may_enter(self, key: str) -> bool:
        return self._busy.total() < self._slots and self._busy[key] < self._per_key

    def _forget(self, key: str, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(key)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._waiting[key]


class _Flight:
    """Work that is going on, and how many wait for it."""

    def __init__(self) -> None:
        self.stopped = Event()
        self.waiters = 0
        self.result: asyncio.Future[Any]

    def checkpoint(self) -> None:
        """Called from the thread at work."""
        if self.stopped.is_set():
            raise Stopped


class Lanes:
    """The lanes of one process, its single flights and its streams."""

    def __init__(self) -> None:
        self.quick = Lane("quick", slots=4, per_key=2, queue=64)
        self.long = Lane("long", slots=2, per_key=1, queue=8)
        self.pieces = Lane("pieces", slots=2, per_key=1, queue=STREAMS_PER_KEY)
        self._flights: dict[Hashable, _Flight] = {}
        self._streams: Counter[str] = Counter()

    async def run(self, lane: Lane, key: str, name: Hashable, work: Callable[[Checkpoint], _Result]) -> _Result:
        """The result of work in a lane; all who ask for the same name while it goes on share it (single flight).

        When the last of them is cancelled, work that has not begun is dropped, and work that has begun stops at its
        next checkpoint.
        """
        flight = self._flights.get((lane, name))
        if flight is None:
            await lane.enter(key)
            flight = self._flights.get((lane, name))
            if flight is None:
                flight = self._fly(lane, key, name, work)
            else:  # begun by somebody else in the meantime
                lane.leave(key)
        flight.waiters += 1
        try:
            result: _Result = await asyncio.shield(flight.result)
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.result.done():
                flight.stopped.set()
                self._land((lane, name), flight)
        return result

    def _fly(self, lane: Lane, key: str, name: Hashable, work: Callable[[Checkpoint], _Result]) -> _Flight:
        flight = self._flights[lane, name] = _Flight()
        flight.result = lane.begin(key, lambda: work(flight.checkpoint))
        flight.result.add_done_callback(lambda _: self._land((lane, name), flight))
        return flight

    def _land(self, place: Hashable, flight: _Flight) -> None:
        """Nobody joins it any more; whoever comes now begins anew."""
        if self._flights.get(place) is flight:
            del self._flights[place]

    @contextmanager
    def stream(self, key: str) -> Iterator[None]:
        """Count a stream of this key while it is open; TooManyRequests beyond the key's or the process's number."""
        if self._streams[key] >= STREAMS_PER_KEY:
            raise TooManyRequests(f"This key has {STREAMS_PER_KEY} downloads open already.", _RETRY_SECONDS)
        if self._streams.total() >= STREAMS:
            raise TooManyRequests(f"This service has {STREAMS} downloads open already.", _RETRY_SECONDS)
        self._streams[key] += 1
        try:
            yield
        finally:
            self._streams[key] -= 1
            if not self._streams[key]:
                del self._streams[key]

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return self._streams.total()
