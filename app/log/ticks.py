"""Ticks: when a publication may show up in a checkpoint.

How long an upload takes depends on its rows, so nobody may see when it ended more finely than a fixed period. An entry
whose time is private shows up once the period in which it was committed is over, or together with a later entry whose
time is not private.

The first append of a period, or the first who asks in it, begins it under the lock of the ledger: with a row that has
the size of the log before. What may be shown is the size in the row that was written last. So it does not depend on who
asks when, is the same for all workers and after a restart, and never gets smaller, whatever their clocks say.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, insert, select

from app.storage.tables import periods

_MOST = 10**11  # seconds since 1970, and entries. SQLite keeps any type in any column; text is larger than any number.
_NO_START = 0
_SKEW = 5  # seconds by which the clocks of two machines may differ without a word
_READABLE = periods.c.start.between(0, _MOST), periods.c.size.between(0, _MOST)
_NEWEST = select(periods.c.start, periods.c.size).where(*_READABLE).order_by(periods.c.number.desc()).limit(1)
_OLDEST = select(periods.c.start, periods.c.size).where(*_READABLE).order_by(periods.c.number).limit(1)


@dataclass(frozen=True, slots=True)
class Period:
    """When a period begins, in seconds since 1970, and how many entries there are before it.

    One without a start says that from there on everything was shown at once.
    """

    start: int
    size: int

    @property
    def is_endless(self) -> bool:
        """Whether everything was shown at once since then: no period has begun."""
        return self.start == _NO_START

    def shown(self, entries: int) -> int:
        """How many of the entries that there are may be shown while this is the last period."""
        return entries if self.is_endless else min(self.size, entries)


class Ticks:
    """Periods of a fixed number of seconds; of none where everything may be shown at once."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self.beginning = threading.Lock()  # one thread waits for the lock of the ledger, others take what is on record
        self._reported = 0

    def begin(self, tx: Connection, now: datetime, size: int, *, appends: bool) -> None:
        """Begin the period of `now`, unless that is done, with the size of the log before it.

        Called under the lock of the ledger. What appends calls it before its commit.
        """
        period = self.due(tx, newest(tx), now, size, appends=appends)
        if period is not None:
            tx.execute(insert(periods).values(start=period.start, size=period.size))

    def due(
        self, tx: Connection, last: Period | None, now: datetime, size: int, *, appends: bool = False
    ) -> Period | None:
        """The period to begin now, after the last one that was begun; None where there is none to begin.

        Each shows more only once: two clocks that differ by hours must not have everything shown by turns. So a clock
        that was set back waits until it is past what is on record. What appends there has it put on record again: were
        the clock set back once more, its entry would be taken for one of an earlier period.

        But if the last period is so far ahead that it is not even the next one, it was begun by a clock that was wrong.
        Its entries are shown after a whole period of this one.
        """
        if not self._seconds:
            return None if last is None or last.is_endless else Period(_NO_START, last.size)
        start = int(now.timestamp()) // self._seconds * self._seconds
        if last is None or last.is_endless:
            return Period(start, size)
        if last.start > start + self._seconds:
            return Period(start + self._seconds, last.size)
        if last.start >= start:
            return None
        if not _is_begun(tx, start):
            return Period(start, size)
        return Period(start, last.size) if appends else None

    def is_set_back(self, last: Period | None, now: datetime) -> bool:
        """Whether this clock is behind the one that began the last period; said once for each period."""
        if last is None or last.start <= now.timestamp() + _SKEW or last.start == self._reported:
            return False
        self._reported = last.start
        return True

    def is_long_over(self, last: Period | None, now: datetime) -> bool:
        """Whether the last period that was begun is over and another whole one, too, so on other machines as well."""
        return last is None or last.start + 2 * self._seconds <= now.timestamp()

    def seconds_left(self, now: datetime) -> int:
        """How long it takes until the next period begins."""
        return self._seconds - int(now.timestamp()) % self._seconds if self._seconds else 1


def newest(tx: Connection) -> Period | None:
    """The period that was begun last."""
    return _period(tx, _NEWEST)


def around(tx: Connection, seq: int) -> tuple[Period | None, Period | None]:
    """The last period that began before an entry was there, and the first one that began after it."""
    has_start, size = periods.c.start != _NO_START, periods.c.size
    return _period(tx, _NEWEST.where(has_start, size < seq)), _period(tx, _OLDEST.where(has_start, size >= seq))


def _is_begun(tx: Connection, start: int) -> bool:
    """Whether the period with this start was begun at any time."""
    return tx.execute(select(periods.c.number).where(periods.c.start == start).limit(1)).first() is not None


def _period(tx: Connection, query: Select[Any]) -> Period | None:
    row = tx.execute(query).first()
    return None if row is None else Period(int(row.start), int(row.size))
