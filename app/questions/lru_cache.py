"""LruCache: least-recently-used cache bounded by total weight."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


@dataclass(slots=True)
class _Flight:
    """A value that is being made: the lock of whoever makes it, and how many threads want it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    threads: int = 0


class LruCache(Generic[_Value]):
    """Least-recently-used cache with a bound on the total of `weigh(key, value)`; safe to use from any thread.

    A single value heavier than the bound is kept until the next one comes.
    """

    def __init__(self, capacity: int, weigh: Callable[[str, _Value], int]) -> None:
        self._capacity, self._weigh = capacity, weigh
        self._values: OrderedDict[str, _Value] = OrderedDict()
        self._weights: dict[str, int] = {}
        self._flights: dict[str, _Flight] = {}
        self._lock = threading.Lock()
        self.weight = 0

    def peek(self, key: str) -> _Value | None:
        """The value if it is cached."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: str, value: _Value) -> None:
        """Cache a value, in place of an earlier one of the same key."""
        weight = self._weigh(key, value)
        with self._lock:
            self.weight += weight - self._weights.get(key, 0)
            self._values[key], self._weights[key] = value, weight
            self._values.move_to_end(key)
            while self.weight > self._capacity and len(self._values) > 1:
                dropped, _ = self._values.popitem(last=False)
                self.weight -= self._weights.pop(dropped)

    def get(self, key: str, make: Callable[[], _Value]) -> _Value:
        """The value, made by the first caller while others who want it wait (single flight).

        If make() raises, nothing is cached; each waiter retries.
        """
        with self._lock:
            flight = self._flights.setdefault(key, _Flight())
            flight.threads += 1
        try:
            with flight.lock:
                value = self.peek(key)
                if value is None:
                    value = make()
                    self.put(key, value)
                return value
        finally:
            with self._lock:
                flight.threads -= 1
                if not flight.threads:
                    del self._flights[key]
