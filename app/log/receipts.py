"""Receipts of published releases, and proofs for auditors, from the ledger and its tree."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from app.access.principal import Principal
from app.errors import NotFound
from app.ledger.book import read_book
from app.ledger.entries import entry_or_none
from app.log import checkpoints
from app.releases.reading import load, load_synopsis
from app.service import Service
from app.storage.tables import ledger
from core.errors import InvalidQuery
from core.ledger.kinds import Kind
from core.log.checkpoint import Checkpoint
from core.log.note import Note
from core.log.receipt import Receipt
from core.synopsis import Synopsis


@dataclass(frozen=True, slots=True)
class Receipted:
    """A published release: its synopsis, and the receipt of it."""

    release: str
    synopsis: Synopsis
    receipt: Receipt
    final: bool  # a quorum has signed it: its bytes never change


def receipt(service: Service, caller: Principal, release_id: str) -> Receipted:
    """The receipt of a published release, from what is on record. ReceiptPending until a checkpoint holds it."""
    with read_book(service) as book:
        release = load(book, caller, release_id)
        record = book.release(release_id)
        if record is None or release.standing.digest is None:
            raise NotFound("This release is not published, so there is no receipt of it.")
        synopsis = load_synopsis(book, release)
        charge = book.charge(record)
        query = select(ledger).where(ledger.c.release == release_id, ledger.c.kind == Kind.PUBLISH)
        row = book.seen(lambda tx: tx.execute(query).first())
    publish = None if row is None else entry_or_none(row)
    if publish is None:
        raise NotFound("The ledger has no entry of this release's publication that can be read.")
    stored = checkpoints.pinned(service, publish.seq)
    size, tree = Checkpoint.of(stored.note).size, service.replay.tree
    magic, header, _ = synopsis.to_bytes().split(b"\n", 2)
    published, charged = (tree.inclusion_proof(entry.seq - 1, size) for entry in (publish, charge))
    made = Receipt.of(publish, charge, published, charged, f"{magic.decode()}\n{header.decode()}\n", stored.note)
    return Receipted(release_id, synopsis, made, stored.sealed)


def consistency(service: Service, old: int) -> tuple[Note, list[bytes]]:
    """The newest checkpoint, and the proof that it begins with the first `old` entries."""
    note = checkpoints.newest(service)
    size = Checkpoint.of(note).size
    if old > size:
        raise InvalidQuery(f"The newest checkpoint has {size} entries: 'old' is at most that.")
    return note, service.replay.tree.consistency_proof(old, size)
