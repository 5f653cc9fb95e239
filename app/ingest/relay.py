"""Relay: hands items to a function in a second thread, so that a file is read while its last batch is counted.

On a single core there is no second thread: it would take time and save none.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

_Item = TypeVar("_Item")
_WAITING = 2  # items: more would take memory and no less time


class Relay(Generic[_Item]):
    """Calls `work(item)` for each item, one after the other, in a thread of its own; on a single core in this one.

    Reading and counting release the interpreter's lock for most of their time, so two cores share them. `put` waits
    while _WAITING items wait. What `work` raises is raised by the next `put`, or at the end of the `with` block; after
    that no item is worked on. If the block itself fails, items that wait are dropped.
    """

    def __init__(self, work: Callable[[_Item], None]) -> None:
        self._work = work
        self._items: deque[_Item] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if usable_cores() > 1:
            self._thread = threading.Thread(target=self._run, name="counting", daemon=True)
            self._thread.start()
        return self

    def put(self, item: _Item) -> None:
        """Pass on an item, when there is room for it."""
        if self._thread is None:
            self._work(item)
            return
        with self._changed:
            self._changed.wait_for(lambda: self._error is not None or len(self._items) < _WAITING)
            self._raise()
            self._items.append(item)
            self._changed.notify_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is None:
            return
        with self._changed:
            if error is not None:
                self._items.clear()
            self._ended = True
            self._changed.notify_all()
        self._thread.join()
        if error is None:
            self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._items)
                if not self._items:
                    return
                item = self._items.popleft()
                self._changed.notify_all()
            try:
                self._work(item)
            except BaseException as error:
                with self._changed:
                    self._error = error
                    self._items.clear()
                    self._changed.notify_all()
                return


def usable_cores() -> int:
    """The cores that this thread may run on."""
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
