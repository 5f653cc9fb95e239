"""How many entries the log shows: up to the last one whose time is public, or to where the period began.

Both are on record, and neither ever gets smaller: so nobody is shown fewer entries than somebody was shown before.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import structlog
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from app.errors import NotReady
from app.log.ticks import Period, around, newest
from app.service import Service
from app.storage.tables import ledger, ledger_lock
from core.ledger.kinds import PRIVATE_TIMES

log = structlog.get_logger(__name__)


def public_size(service: Service) -> int:
    """How many entries a checkpoint may show now: up to the last one whose time is public, or to the last period.

    A service that is read-only begins no period. It shows what is on record, or all entries once that is long over.
    """
    before, timed = sizes(service)
    service.replay.refresh()
    return min(max(before, timed), service.replay.tree.size)


def least_size(service: Service) -> int:
    """How many entries may have been shown before: what is on record, without a look at the clock."""
    with service.database.read_only() as tx:
        timed, size = _entries(tx)
        return max(timed, _shown(newest(tx), size))


def sizes(service: Service) -> tuple[int, int]:
    """The size that this period began with, and that up to the last entry whose time is public.

    Whoever asks first in a period begins it. Where that fails, less is shown: what is on record.
    """
    now, ticks = service.clock(), service.ticks
    with service.database.read_only() as tx:
        timed, size = _entries(tx)
        last = newest(tx)
        due = None if service.settings.read_only else ticks.due(tx, last, now, size)
    if service.settings.read_only:
        return size if ticks.is_long_over(last, now) else _shown(last, size), timed
    if due is not None and _begun(service):
        with service.database.read_only() as tx:
            timed, size = _entries(tx)
            last = newest(tx)
    if ticks.is_set_back(last, now):
        log.warning("clock_set_back")
    return _shown(last, size), timed


def _shown(last: Period | None, size: int) -> int:
    """How many of the entries the last period shows. An entry that waits is never there without a period."""
    return size if last is None else last.shown(size)


def _entries(tx: Connection) -> tuple[int, int]:
    """The number of the last entry whose time is public, and that of the last one.

    Read before the period, so that no entry is read without the period in which it was made.
    """
    timed = select(ledger.c.seq).where(ledger.c.kind.not_in(PRIVATE_TIMES)).order_by(ledger.c.seq.desc()).limit(1)
    every = select(func.max(ledger.c.seq)).scalar_subquery()
    row = tx.execute(select(timed.scalar_subquery(), every)).one()
    return row[0] or 0, row[1] or 0


def _begun(service: Service) -> bool:
    """Begin the period, as an append would, unless another thread is at it. Under the lock of the ledger.

    So an append whose period has just ended is not shown a moment after it, but with the others, or a period later.
    """
    if not service.ticks.beginning.acquire(blocking=False):
        return False
    try:
        with suppress(SQLAlchemyError), service.database.transaction() as tx:
            if tx.execute(select(ledger_lock.c.id).with_for_update()).first() is None:
                return False
            size = tx.execute(select(func.max(ledger.c.seq))).scalar_one() or 0
            service.ticks.begin(tx, service.clock(), size, appends=False)
            return True
        return False
    finally:
        service.ticks.beginning.release()


def shown_at(service: Service, seq: int) -> datetime:
    """When an entry was shown at the latest: at the end of its period, or of its day where no period is on record.

    NotReady where the entry is not there, or cannot be read.
    """
    with service.database.read_only() as tx:
        at = tx.execute(select(ledger.c.at).where(ledger.c.seq == seq)).scalars().first()
        began, next_began = around(tx, seq)
    try:
        midnight = datetime.fromisoformat(str(at)[:10]).replace(tzinfo=UTC)
    except ValueError:
        raise NotReady(f"Entry {seq} of the ledger is missing, or cannot be read: somebody changed it.") from None
    period = timedelta(seconds=service.settings.checkpoint_seconds)
    shown = midnight + timedelta(days=1)
    if began is not None and began.start >= midnight.timestamp():  # not of a time without periods
        shown = datetime.fromtimestamp(began.start, UTC) + period
    if next_began is not None:  # before the others where their clock was ahead
        shown = min(shown, datetime.fromtimestamp(next_began.start, UTC) + period)
    return shown
