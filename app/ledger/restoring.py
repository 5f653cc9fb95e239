"""Put missing entries back from an export: accepted only where the root that the witness saw results.

An old copy of the database and a newer export together have every charge. Synopses that were published after the copy
are lost: their releases stay on record, and their epsilon stays spent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import insert

from app.errors import CannotStart
from app.ledger.appending import row_of
from app.ledger.replay import Replay
from app.ledger.witness import Seen
from app.storage.database import Database
from app.storage.tables import ledger
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind
from core.log.tree import Frontier


@dataclass(frozen=True, slots=True)
class Restored:
    """How many entries were put back, how many there are now, and the releases whose synopses are lost."""

    added: int
    entries: int
    lost: tuple[str, ...]


def restore_entries(database: Database, seen: Seen, lines: Iterable[bytes]) -> Restored:
    """Append the entries of an export that the database lacks. CannotStart, and no change, where they do not fit."""
    replay = Replay(database)
    replay.refresh()
    before = replay.head
    tree, missing = Frontier(), []
    last = None
    for line in lines:
        entry = LedgerEntry.from_line(line.rstrip(b"\n"))
        if entry is None or entry.seq != tree.size + 1 or entry.hash != entry.entry_hash():
            raise CannotStart(f"Line {tree.size + 1} of the export is not the entry of that number.")
        tree.append(bytes.fromhex(entry.hash))
        if entry.seq == before.seq and entry.hash != before.hash:
            raise CannotStart("The export is of another ledger than the database.")
        if entry.seq > before.seq:
            missing.append(entry)
        last = entry
        _require_seen(tree, seen, entry)
    if last is None or tree.size < max(before.seq, seen.size):
        raise CannotStart("The export ends before the entries that the database has, or that the witness saw.")
    replay.extend(missing)
    if replay.fault is not None or replay.head.seq != tree.size:
        reason = replay.fault.reason if replay.fault is not None else "An entry does not follow the one before it."
        raise CannotStart(f"The export does not verify. {reason}")
    with database.transaction() as tx:
        for entry in missing:
            tx.execute(insert(ledger).values(row_of(entry)))
    lost = tuple(str(entry.release) for entry in missing if entry.kind is Kind.PUBLISH)
    return Restored(len(missing), tree.size, lost)


def _require_seen(tree: Frontier, seen: Seen, entry: LedgerEntry) -> None:
    """The export has the root, or the hash, that the witness saw."""
    if tree.size != seen.size:
        return
    if (seen.root is not None and tree.root != seen.root) or (seen.hash is not None and entry.hash != seen.hash):
        raise CannotStart("The export is not the ledger that the witness saw.")
