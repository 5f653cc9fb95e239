"""Put missing entries back from an export: accepted only where the root that the witness saw results.

The chain of entries needs no secret, so an export proves nothing by itself: no entry is put back beyond those that the
witness file saw, or that a checkpoint with the signature of this log's key counts.

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
from app.ledger.witness import NOTHING_SEEN, Seen
from app.storage.database import Database
from app.storage.tables import ledger
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind
from core.log.checkpoint import Checkpoint
from core.log.tree import Frontier


@dataclass(frozen=True, slots=True)
class Restored:
    """How many entries were put back, how many there are now, and the releases whose synopses are lost."""

    added: int
    entries: int
    lost: tuple[str, ...]


def restore_entries(
    database: Database, seen: Seen, lines: Iterable[bytes], signed: Checkpoint | None = None
) -> Restored:
    """Append the entries of an export that the database lacks. CannotStart, and no change, where they do not fit.

    `signed` is a checkpoint whose signature was checked.
    """
    replay = Replay(database)
    replay.refresh()
    before = replay.head
    known = [seen] if signed is None else [seen, Seen(signed.size, root=signed.root, origin=signed.origin)]
    most = max(before.seq, *(each.size for each in known))
    tree, missing = Frontier(), []
    last = None
    for line in lines:
        entry = LedgerEntry.from_line(line.rstrip(b"\n"))
        if entry is None or entry.seq != tree.size + 1 or entry.hash != entry.entry_hash():
            raise CannotStart(f"Line {tree.size + 1} of the export is not the entry of that number.")
        if entry.seq > most:
            raise CannotStart(_unseen(most, is_without_witness=seen == NOTHING_SEEN and signed is None))
        tree.append(bytes.fromhex(entry.hash))
        if entry.seq == before.seq and entry.hash != before.hash:
            raise CannotStart("The export is of another ledger than the database.")
        if entry.seq > before.seq:
            missing.append(entry)
        last = entry
        for each in known:
            _require_seen(tree, each, entry)
    if last is None or tree.size < most:
        raise CannotStart(
            "The export ends before the entries that the database has, that the witness saw, or that the checkpoint "
            "counts."
        )
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
        raise CannotStart("The export is not the ledger that the witness saw, or that the checkpoint was signed for.")


def _unseen(most: int, *, is_without_witness: bool) -> str:
    sentence = f"The export has entries that no witness saw: those after entry {most}. Nothing was put back."
    if not is_without_witness:
        return sentence
    return (
        f"{sentence} There is no witness file: bring it back, or give --checkpoint with a checkpoint of exactly these "
        "entries that is signed by this log's key."
    )
