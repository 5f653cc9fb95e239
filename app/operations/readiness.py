"""Readiness: database, migrations, witness, ledger, and folders that can be written to.

The answer comes within seconds, even while all request threads and all connections are blocked. The check has its own
threads, and a check that takes too long is abandoned and counts as a failure.
"""

from __future__ import annotations

from functools import partial
from threading import BoundedSemaphore

import anyio
from anyio import to_thread
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.errors import LedgerBroken, NotReady
from app.ledger.witness_check import agrees_with_witness
from app.operations.start_checks import unwritable_folder
from app.service import Service
from app.storage.database import WAIT_SECONDS

_PATIENCE = WAIT_SECONDS + 1.0  # seconds; longer than the connection pool waits before it raises
_THREADS = anyio.CapacityLimiter(40)  # separate from the threads of requests, which may all be blocked
_AT_WORK = BoundedSemaphore(4)  # running checks; held until a check ends, so a hanging disk blocks at most four threads


async def require_ready(service: Service) -> None:
    """Return if the service is ready; raises NotReady with a sentence, or LedgerBroken."""
    with anyio.move_on_after(_PATIENCE):
        await to_thread.run_sync(partial(_check_in_turn, service), abandon_on_cancel=True, limiter=_THREADS)
        return
    raise NotReady("The database or the witness does not answer: a lock is held, or the disk hangs.")


def _check_in_turn(service: Service) -> None:
    if not _AT_WORK.acquire(timeout=_PATIENCE):
        return  # the caller has given up already
    try:
        _check(service)
    finally:
        _AT_WORK.release()


def _check(service: Service) -> None:
    setting = unwritable_folder(service.settings)
    unwritable = f"The folder of {setting} cannot be written to, or its disk is full." if setting else None
    try:
        if service.database.pending_migrations():
            raise NotReady("The database is not migrated: run 'rugnik migrate'.")
        witnessed = agrees_with_witness(service)
        if unwritable:
            raise NotReady(unwritable)
        if not witnessed:
            raise NotReady("The witness file cannot be written, or saw another ledger than this one.")
        service.cosigner.require_in_time(service)
    except PoolTimeout:
        raise NotReady("Every connection to the database is in use.") from None
    except SQLAlchemyError:
        raise NotReady(unwritable or "The database is not reached, or it is locked.") from None
    if service.replay.fault is not None:
        raise LedgerBroken(service.replay.fault)
