"""Tamper: a ledger of 200 entries, and everything beside it, edited by somebody who may write the whole database.

Every field of every row is flipped; every row is deleted, doubled, put before another and exchanged with the next; the
table is cut off at every length. Once as it comes, when the verification has to name the very entry; once by somebody
who works out all hashes anew, when a signed checkpoint has to give it away; and once by somebody who deletes the
checkpoints as well, when the witness file has to. A stopped service must not start on it. Then every column of every
other table, each edit of which is noticed, or refused, or without effect (`torture/tampering/fates.py` says which).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import structlog

from app.ledger.verification import verify_all
from app.main import make_service
from app.settings.settings import Settings
from tests.support.databases.postgresql import new_database, running_postgresql
from tests.support.databases.used import Used, require_usual
from tests.support.service.api import frozen_clock
from torture.console import Result, progressing
from torture.services import DATABASES, folder, migrated, times
from torture.tampering.attempts import Attempts, copied
from torture.tampering.beside import TABLES, edits, rows_of
from torture.tampering.edits import naive
from torture.tampering.forged import clever
from torture.tampering.inside import broken_open
from torture.tampering.judged import Honest, Judge
from torture.tampering.made import ENTRIES, make

_Tried = TypeVar("_Tried")


def run() -> Iterator[Result]:
    """The ledger, then the tables beside it, on each database. TIMES: so many rows, and so many edits beside."""
    for database in DATABASES:
        with folder() as made, _server(database) as server, _quiet():
            given: dict[str, Any] = {} if server is None else {"database_url": migrated(new_database(server))}
            yield from _ledger(database, Settings(data_dir=made / "data", checkpoint_seconds=0, **given))
            yield _beside(database, made / "used", server)


@contextmanager
def _server(database: str) -> Iterator[str | None]:
    if database == "SQLite":
        yield None
        return
    with running_postgresql() as server:
        yield server


@contextmanager
def _quiet() -> Iterator[None]:
    """Thousands of edits are found: without a line in the log for each."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with patch("app.main.configure_logging"):
        yield


def _ledger(database: str, settings: Settings) -> Iterator[Result]:
    make(settings)
    service = make_service(settings, frozen_clock)
    places = _spread(range(ENTRIES))
    with broken_open(service) as connection:
        honest = Honest.of(connection)
        judge = Judge(service, connection, honest)
        as_it_comes = list(naive(honest.rows, places, bytes_too=service.database.is_sqlite))
        yield _tried(f"the ledger edited, {database}", as_it_comes, judge.naive)
        forged = list(clever(honest.rows, places))
        for name, drops in (("all later hashes forged", False), ("hashes forged, checkpoints deleted", True)):
            yield _tried(f"{name}, {database}", forged, partial(judge.clever, drops_signatures=drops))
    intact = verify_all(service)
    assert intact.valid, "after all edits the database is as it was"
    service.database.dispose()


def _beside(database: str, made: Path, server: str | None) -> Result:
    used = Used(made, server, None if server is None else migrated(new_database(server)))
    with copied(used) as settings:
        with used.opened(settings) as api:
            untouched = used.deeds(api)
        require_usual(untouched)
    with copied(used) as settings:
        rows = {table: rows_of(table, settings) for table in TABLES}
    tried = [edit for table in TABLES for edit in edits(table, rows[table], any_type=server is None)]
    return _tried(f"tables beside the ledger, {database}", _spread(tried), Attempts(used, untouched).failure)


def _spread(items: Sequence[_Tried]) -> Sequence[_Tried]:
    """As many as TIMES says, evenly spread; all of them if it says nothing."""
    return items[:: max(1, len(items) // times(len(items)))]


def _tried(trial: str, items: Sequence[_Tried], failure: Callable[[_Tried], str | None]) -> Result:
    failures = [said for item in progressing(trial, items) if (said := failure(item)) is not None]
    return Result(trial, len(items), len(failures), "; ".join(failures[:3]) or "each found, or without effect")
