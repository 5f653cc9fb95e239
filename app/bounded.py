"""Memories of fixed size: Bounded keeps what was used last, Fleeting forgets after some seconds."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class Bounded(Generic[_Value]):
    """The values used last, up to a total weight; a single value heavier than that is kept until the next comes."""

    def __init__(self, capacity: int, weigh: Callable[[_Value], int]) -> None:
        self._capacity, self._weigh = capacity, weigh
        self._values: OrderedDict[str, _Value] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}

    def peek(self, key: str) -> _Value | None:
        """The value, if it is here."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def get(self, key: str, make: Callable[[], _Value]) -> _Value:
        """The value; made now if it is not here, while others who want it wait. A failure is everybody's own."""
        if (found := self.peek(key)) is not None:
            return found
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            if (found := self.peek(key)) is not None:
                return found
            try:
                value = make()
                self._put(key, value)
            finally:
                with self._lock:
                    self._turns.pop(key, None)
        return value

    def _put(self, key: str, value: _Value) -> None:
        with self._lock:
            self._values[key] = value
            self._weight += self._weigh(value)
            while self._weight > self._capacity and len(self._values) > 1:
                _, dropped = self._values.popitem(last=False)
                self._weight -= self._weigh(dropped)


class Fleeting(Generic[_Value]):
    """Values that are believed for some seconds. Quick enough for an event loop: no lock, no thread, no disk."""

    def __init__(self, *, seconds: float, most: int) -> None:
        self._seconds, self._most = seconds, most
        self._values: dict[str, tuple[float, _Value]] = {}

    def get(self, key: str) -> _Value | None:
        """The value, unless it is too old."""
        found = self._values.get(key)
        return found[1] if found is not None and time.monotonic() < found[0] else None

    def put(self, key: str, value: _Value) -> None:
        """Believe a value from now on; when there are too many, all are forgotten."""
        if len(self._values) >= self._most:
            self.clear()
        self._values[key] = (time.monotonic() + self._seconds, value)

    def clear(self) -> None:
        """Forget everything."""
        self._values.clear()
