"""Ticks: when a publication may show up in a checkpoint.

How long an upload takes depends on its rows, so nobody may see when it ended more finely than a fixed period. An entry
whose time is private becomes visible in a checkpoint once the next period has begun after this process saw it, or
together with a later entry whose time is not private.
"""

from __future__ import annotations

import threading
from datetime import datetime


class Ticks:
    """The size of the log as it was at the end of the last period that this process lived through."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._period = -1
        self._seen = 0  # the newest size in the period
        self._visible = 0  # the newest size before it

    def observe(self, now: datetime, size: int) -> int:
        """Note that the log has this size now; the size that may be shown. A clock that is set back shows nothing."""
        if not self._seconds:
            return size
        period = int(now.timestamp()) // self._seconds
        with self._lock:
            if period > self._period:
                self._visible, self._period = self._seen, period
            self._seen = max(self._seen, size)
            return self._visible

    def seconds_left(self, now: datetime) -> int:
        """How long it takes until the next period begins."""
        return self._seconds - int(now.timestamp()) % self._seconds if self._seconds else 1
