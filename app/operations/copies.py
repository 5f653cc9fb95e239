"""Copies of a database: the same rows in another one. The copy of either kind of database is an SQLite file.

What is copied is public or hashed: the ledger, synopses, layers, cards and checkpoints. Sessions and stored answers are
left out. The copy is verified entry by entry, and the signed checkpoint of its ledger is written beside it. A copy is
restored only with such a checkpoint: the chain of entries needs no secret, so anybody could write another one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, Table, func, insert, select

from app.errors import CannotStart, LedgerBroken
from app.ledger.replay import Replay
from app.log.signing import own_checkpoint
from app.service import Service
from app.settings.settings import Settings
from app.storage.database import Database
from app.storage.tables import answers, ledger_lock, metadata, sessions
from core.log.checkpoint import Checkpoint
from core.log.note import Note, VerifierKey

CHECKPOINT_SUFFIX = ".checkpoint"
_LEFT_OUT = frozenset({sessions.name, answers.name, ledger_lock.name})
_ROWS_AT_ONCE = 1000
_BIG_ROWS_AT_ONCE = 1  # synopses

Progress = Callable[[int, int], object]


def back_up(service: Service, path: Path, progress: Progress | None) -> Note:
    """Write a copy to `path`, verify it, and put its signed checkpoint beside it. Returns that checkpoint."""
    if service.settings.read_only:
        raise CannotStart("The service is read-only, so it signs nothing, and a copy is signed.")
    if path.exists():
        raise CannotStart(f"{path} exists. A copy is written to a new file.")
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    copy = Database(f"sqlite:///{partial.resolve()}")
    try:
        copy.migrate()
        with service.database.snapshot() as source:
            _copy_tables(source, copy, progress)
        note = _verified(service, copy)
        with copy.engine.connect() as connection:
            connection.exec_driver_sql("ROLLBACK")
            connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
    finally:
        copy.dispose()
    path.with_name(path.name + CHECKPOINT_SUFFIX).write_text(str(note), encoding="utf-8")
    partial.replace(path)
    return note


def restore(
    source: Database,
    target: Database,
    checkpoint: Path,
    progress: Progress | None,
    *,
    settings: Settings,
    log_key: VerifierKey | None = None,
) -> int:
    """Fill an empty database from a copy that has the root of the checkpoint beside it. Returns the entries.

    The log's key has to have signed that checkpoint: the key of the settings, or `log_key`.
    """
    with target.read_only() as tx:
        if any(tx.execute(select(func.count()).select_from(table)).scalar_one() for table in _tables()):
            raise CannotStart("The database is not empty. A copy is restored into a new one.")
    if log_key is None and settings.log_key is None and not settings.log_key_path.exists():
        raise CannotStart(
            f"The log's key is not in {settings.log_key_path}, so nobody can say whether it signed this copy. Put it "
            "there, or give --log-key with the verifier key that was published."
        )
    size = _require_root(source, own_checkpoint(checkpoint, source, settings, log_key=log_key))
    with source.snapshot() as rows:
        _copy_tables(rows, target, progress)
    return size


def _tables() -> list[Table]:
    return [table for table in metadata.sorted_tables if table.name not in _LEFT_OUT]


def _copy_tables(source: Connection, target: Database, progress: Progress | None) -> None:
    tables = _tables()
    total = sum(source.execute(select(func.count()).select_from(table)).scalar_one() for table in tables)
    done = 0
    with target.transaction() as tx:
        for table in tables:
            at_once = _BIG_ROWS_AT_ONCE if any(column.name == "body" for column in table.columns) else _ROWS_AT_ONCE
            ordered = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=at_once)
            for block in source.execute(ordered).mappings().partitions(at_once):
                tx.execute(insert(table), [dict(row) for row in block])
                done += len(block)
                if progress is not None:
                    progress(done, total)


def _verified(service: Service, copy: Database) -> Note:
    """The checkpoint of the copy's ledger; CannotStart where the copy does not hold."""
    replay = Replay(copy)
    try:
        replay.refresh()
    except LedgerBroken as error:
        raise CannotStart(f"The copy does not verify. {error}") from None
    known, size = service.replay.tree, min(service.replay.tree.size, replay.tree.size)
    if known.root(size) != replay.tree.root(size):
        raise CannotStart("The copy has other entries than this service verified: somebody changed the database.")
    return service.log.signed(replay.tree, replay.tree.size)


def _require_root(source: Database, expected: Checkpoint) -> int:
    replay = Replay(source)
    try:
        replay.refresh()
    except LedgerBroken as error:
        raise CannotStart(f"The copy does not verify. {error}") from None
    if (replay.tree.size, replay.tree.root(replay.tree.size)) != (expected.size, expected.root):
        raise CannotStart("The copy is not the one that its checkpoint was written for.")
    return expected.size
