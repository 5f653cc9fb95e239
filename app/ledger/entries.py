"""Ledger entries as the database stores them: the head, pages, and the whole ledger in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from app.errors import LedgerBroken
from app.ledger.replay import Replay
from app.ledger.witness import Seen
from app.service import Service
from app.storage.tables import ledger
from core.ledger.chain import Verification
from core.ledger.entry import EMPTY, Head, LedgerEntry, Stored
from core.ledger.kinds import Kind
from core.log.tree import leaf_hash


def head(tx: Connection) -> Head:
    """The last entry's number and hash, as stored; EMPTY for a ledger without entries."""
    row = tx.execute(select(ledger.c.seq, ledger.c.hash).order_by(ledger.c.seq.desc()).limit(1)).first()
    return Head(seq=row.seq, hash=row.hash) if row else EMPTY


def newest_day(tx: Connection) -> str | None:
    """The day of the last entry; None for a ledger without entries."""
    at = tx.execute(select(ledger.c.at).order_by(ledger.c.seq.desc()).limit(1)).scalar_one_or_none()
    return None if at is None else str(at)[:10]


def current_head(service: Service) -> Head:
    """The same in a transaction of its own."""
    with service.database.read_only() as tx:
        return head(tx)


def holds(tx: Connection, replay: Replay, seen: Seen) -> bool:
    """Whether the ledger begins with the entries that the witness saw. LedgerBroken where what follows does not hold.

    The database has to have the last of them; then the replay has all of them, and so the root of their tree.
    """
    if seen.size == 0:
        return True
    stored = tx.execute(select(ledger.c.hash).where(ledger.c.seq == seen.size)).scalars().first()
    if stored is None:
        return False
    if seen.hash is not None:
        return bool(stored == seen.hash)
    replay.catch_up_to(tx, seen.size)
    same_entry = replay.tree.node(0, seen.size - 1) == _leaf(stored)
    return same_entry and replay.tree.root(seen.size) == seen.root


def _leaf(stored: str) -> bytes | None:
    """The leaf of a stored hash; None where somebody wrote something else there."""
    try:
        return leaf_hash(bytes.fromhex(stored))
    except (TypeError, ValueError):
        return None


def entry_of(row: Sequence[Any]) -> LedgerEntry:
    """A row as an entry, as it is stored; ValueError where the row is not one, which a service never writes."""
    stored = Stored.of(tuple(row))
    if stored is None:
        raise ValueError("The row is no entry.")
    return stored.entry


def entry_or_none(row: Row[Any]) -> LedgerEntry | None:
    """A row as an entry that matches its hash, or None where somebody changed it."""
    stored = Stored.of(tuple(row))
    return stored.entry if stored is not None and stored.own_hash == stored.entry.hash else None


def entries_until(service: Service, last: Head) -> Iterator[LedgerEntry]:
    """Every entry up to `last`, as stored, oldest first. Entries never change, so this is one consistent ledger.

    Each batch is a transaction of its own, so a slow reader holds no connection between two batches.
    """
    after = 0
    while after < last.seq:
        query = select(ledger).where(ledger.c.seq > after, ledger.c.seq <= last.seq).order_by(ledger.c.seq).limit(1000)
        with service.database.read_only() as tx:
            batch = tx.execute(query).all()
        if not batch:
            return
        yield from map(entry_of, batch)
        after = batch[-1][0]


def entries_after(
    service: Service, seq: int, *, datasets: frozenset[str] | None, about_keys: bool, kind: Kind | None, limit: int
) -> list[LedgerEntry]:
    """At most `limit` entries after a number, oldest first, of some datasets (None: all) and of one kind (None: all).

    Entries about keys have no dataset; `about_keys` says whether they are included.
    """
    query = select(ledger).where(ledger.c.seq > seq).order_by(ledger.c.seq).limit(limit)
    if datasets is not None:
        query = query.where(ledger.c.dataset.in_(datasets))
    if not about_keys:
        query = query.where(ledger.c.dataset.is_not(None))
    if kind is not None:
        query = query.where(ledger.c.kind == kind)
    with service.database.read_only() as tx:
        return [_entry_shown(row) for row in tx.execute(query)]


def _entry_shown(row: Row[Any]) -> LedgerEntry:
    """A row as an entry that matches its hash; LedgerBroken where somebody changed it."""
    entry = entry_or_none(row)
    if entry is None:
        before = Head(seq=row.seq - 1, hash=str(row.previous))
        raise LedgerBroken(Verification(before.seq, before, first_bad=row.seq, reason="The entry was changed."))
    return entry
