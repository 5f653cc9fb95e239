"""Turns: a first-in-first-out (FIFO) lock with a time limit."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A FIFO mutex: threads get it in the order of arrival. A `threading.Lock` gives no such order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def taken(self, seconds: float) -> Iterator[None]:
        """Hold the lock during the block; raises TimeoutError if it is not free within `seconds`."""
        self._acquire(seconds)
        try:
            yield
        finally:
            self._release()

    def _acquire(self, seconds: float) -> None:
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            mine = threading.Event()
            self._waiting.append(mine)
        if mine.wait(seconds):
            return
        with self._lock:
            if not mine.is_set():  # else it was handed over at the last moment, and is ours
                self._waiting.remove(mine)
                raise TimeoutError

    def _release(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()  # handed over: the lock stays taken
            else:
                self._taken = False
