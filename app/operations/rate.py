"""Rate: a token bucket for each key."""

from __future__ import annotations

import time
from collections.abc import Callable


class Rate:
    """At most `per_minute` events of a key in a burst, and as many a minute in the long run.

    A key's bucket holds `per_minute` tokens and is filled evenly. There are no more buckets than keys of the service.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # tokens, and when they were counted

    def wait(self, key: str) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        now = self._clock()
        tokens, counted = self._buckets.get(key, (float(self.per_minute), now))
        tokens = min(float(self.per_minute), tokens + (now - counted) * self.per_minute / 60)
        if tokens < 1:
            return (1 - tokens) * 60 / self.per_minute
        self._buckets[key] = (tokens - 1, now)
        return 0.0
