"""Lanes: thread pools with a limit, a limit for each key, and a fair queue (round robin over the keys).

Arithmetic keeps threads busy, and more threads than cores only compete for the processor. So each kind of work has a
lane, which is a small thread pool. A key may use only a share of its slots, and has a short queue of its own. A free
slot goes to the next key in turn. If the queue of a key is full, its next request is refused with 429 (backpressure).

A thread of the lanes `middle` and `long` waits for a worker process that computes an answer
(`app.operations.worker_pool`). So the slots of these lanes are also the limit on such processes.

Lanes count waiting and refused requests for metrics, but only those that may be noted (`noted`): not a curator's.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import ceil
from threading import Event
from typing import Any, NoReturn, TypeVar

from app.errors import TooManyRequests
from app.operations.rate import Rate
from core.checkpoint import Checkpoint

_Result = TypeVar("_Result")
STREAMS, STREAMS_PER_KEY = 32, 4
_RETRY_SECONDS = 5  # Retry-After of a refusal


class Stopped(Exception):
    """Raised at a checkpoint of work whose callers have all gone."""


class Lane:
    """A thread pool for one kind of work: `slots` threads, at most `per_key` for a key, `queue` waiters for a key.

    With a `rate`, it also limits how often a key may begin.
    Call its methods on the event loop only; the work runs in the threads.
    """

    def __init__(self, name: str, *, slots: int, per_key: int, queue: int, rate: Rate | None = None) -> None:
        self.name = name
        self.noted_waiting = 0  # requests that wait now and may be noted
        self.noted_refusals = dict.fromkeys(("queue", "rate", "downloads"), 0)  # by reason, since the start
        self._rate = rate
        self._slots, self._per_key, self._queue = slots, per_key, queue
        self._busy: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # in the order of turns
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix=name)

    async def start(self, key: str, work: Callable[[], _Result], *, noted: bool = False) -> asyncio.Future[_Result]:
        """Wait for a slot, then start the work in a thread. The slot becomes free when the thread is done.

        Await the future through `asyncio.shield`: a thread cannot be cancelled.
        """
        await self.enter(key, noted=noted)
        return self.begin(key, work)

    async def enter(self, key: str, *, noted: bool = False) -> None:
        """Take a slot as soon as this key may have one.

        Raises TooManyRequests if the queue of the key is full, or the key asks more often than its rate allows.
        """
        self._require_room(key, noted=noted)
        if self._may_enter(key):
            self._busy[key] += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(turn)
        self.noted_waiting += noted
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(key)  # the slot was assigned at the same moment
            else:
                self._forget(key, turn)
            raise
        finally:
            self.noted_waiting -= noted

    def refuse(self, reason: str, sentence: str, seconds: int = _RETRY_SECONDS, *, noted: bool) -> NoReturn:
        """Raise TooManyRequests, and count it by its reason if it may be noted."""
        self.noted_refusals[reason] += noted
        raise TooManyRequests(sentence, seconds)

    def _require_room(self, key: str, *, noted: bool) -> None:
        if not self._may_enter(key) and len(self._waiting.get(key, ())) >= self._queue:
            self.refuse("queue", "As many questions of this key wait as may wait at once.", noted=noted)
        if self._rate is not None and (seconds := self._rate.wait(key)):
            most = f"This service takes {self._rate.per_minute:,} long questions of one key a minute."
            self.refuse("rate", most, ceil(seconds), noted=noted)

    def begin(self, key: str, work: Callable[[], _Result]) -> asyncio.Future[_Result]:
        """Start work in a slot that `enter` has taken for this key."""
        loop = asyncio.get_running_loop()
        future = self._threads.submit(work)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self.leave, key))
        result = asyncio.wrap_future(future)
        result.add_done_callback(lambda done: done.cancelled() or done.exception())  # so that asyncio logs nothing
        return result

    def leave(self, key: str) -> None:
        """Return a slot and assign it to the next waiting key whose share is not used up."""
        self._busy[key] -= 1
        if not self._busy[key]:
            del self._busy[key]
        for candidate in list(self._waiting):
            while candidate in self._waiting and self._may_enter(candidate):
                turn = self._waiting[candidate][0]
                self._forget(candidate, turn)
                if turn.done():  # cancelled: its client went away, and its task has not run yet
                    continue
                if candidate in self._waiting:
                    self._waiting.move_to_end(candidate)
                turn.set_result(None)
                self._busy[candidate] += 1
                break

    @property
    def busy(self) -> int:
        """Number of slots in use."""
        return self._busy.total()

    @property
    def waiting(self) -> int:
        """Number of requests that wait for a slot."""
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
    """Running work that several callers share, and the number of callers that wait for it."""

    def __init__(self) -> None:
        self.stopped = Event()
        self.waiters = 0
        self.result: asyncio.Future[Any]

    def checkpoint(self) -> None:
        """Called by the working thread now and then; raises Stopped if nobody waits any more."""
        if self.stopped.is_set():
            raise Stopped


class Lanes:
    """The lanes of a process, its single flights, and the number of its open downloads."""

    def __init__(self, processes: int = 2, long_per_minute: int | None = None) -> None:
        rate = None if long_per_minute is None else Rate(long_per_minute)
        self.quick = Lane("quick", slots=4, per_key=2, queue=64)
        self.middle = Lane("middle", slots=max(1, processes // 2), per_key=1, queue=64)
        self.long = Lane("long", slots=processes, per_key=max(1, processes - 1), queue=8, rate=rate)
        self.pieces = Lane("pieces", slots=2, per_key=1, queue=STREAMS_PER_KEY)
        self._flights: dict[Hashable, _Flight] = {}
        self._streams: Counter[str] = Counter()

    @property
    def watched(self) -> tuple[Lane, ...]:
        """All lanes, for metrics."""
        return self.quick, self.middle, self.long, self.pieces

    async def run(
        self, lane: Lane, key: str, name: Hashable, work: Callable[[Checkpoint], _Result], *, noted: bool = False
    ) -> _Result:
        """Run work in a lane and return its result. Callers with the same `name` share one run (single flight).

        When the last of these callers is cancelled, work that has not started is dropped, and running work stops at
        its next checkpoint. Raises TooManyRequests, and whatever the work raises.
        """
        flight = self._flights.get((lane, name))
        if flight is None:
            await lane.enter(key, noted=noted)
            flight = self._flights.get((lane, name))
            if flight is None:
                flight = self._fly(lane, key, name, work)
            else:  # another caller has started it in the meantime
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
        """Remove a flight: later callers start a new one."""
        if self._flights.get(place) is flight:
            del self._flights[place]

    @contextmanager
    def stream(self, key: str, *, noted: bool = False) -> Iterator[None]:
        """Count a download of this key while it is open; raises TooManyRequests beyond the limit of key or process."""
        if self._streams[key] >= STREAMS_PER_KEY:
            sentence = f"This key has {STREAMS_PER_KEY} downloads open already."
            self.pieces.refuse("downloads", sentence, noted=noted)
        if self._streams.total() >= STREAMS:
            sentence = f"This service has {STREAMS} downloads open already."
            self.pieces.refuse("downloads", sentence, noted=noted)
        self._streams[key] += 1
        try:
            yield
        finally:
            self._streams[key] -= 1
            if not self._streams[key]:
                del self._streams[key]

    @property
    def streams(self) -> int:
        """Number of open downloads."""
        return self._streams.total()
