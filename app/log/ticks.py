"""Ticks: when a publication may show up in a checkpoint.

How long an upload takes depends on its rows, so nobody may see when it ended more finely than a fixed period. An entry
whose time is private shows up once the period in which it was committed is over, or together with a later entry whose
time is not private.

The first append of a period leaves a row with the size that the log had before it. So what may be shown does not
depend on who asked when, is the same for all workers, and is the same after a restart.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, insert, null, select

from app.storage.tables import periods


class Ticks:
    """Periods of a fixed number of seconds; of none where everything may be shown at once."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds

    def begin(self, tx: Connection, now: datetime, size: int) -> None:
        """Before the commit of an append: keep the size before it, where it is the first one of this period.

        Called under the lock of the ledger. A clock that is set back begins no period.
        """
        start = self._start(now)
        if start is None:
            return
        begun = select(periods.c.start).where(periods.c.start >= start).limit(1)
        if tx.execute(begun).first() is None:
            tx.execute(insert(periods).values(start=start, size=size))

    def size_before(self, now: datetime) -> ColumnElement[Any]:
        """The size of the log when the period of `now` began, as a query. NULL where nothing was appended since."""
        start = self._start(now)
        if start is None:
            return null()
        newest = periods.c.start.desc()  # a later one than that of `now` where the clock was set back
        return select(periods.c.size).where(periods.c.start >= start).order_by(newest).limit(1).scalar_subquery()

    def seconds_left(self, now: datetime) -> int:
        """How long it takes until the next period begins."""
        return self._seconds - int(now.timestamp()) % self._seconds if self._seconds else 1

    def _start(self, now: datetime) -> int | None:
        """When the period of `now` began, in seconds since 1970."""
        return int(now.timestamp()) // self._seconds * self._seconds if self._seconds else None
