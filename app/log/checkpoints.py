"""Checkpoints that people see: the newest one, and those that receipts are pinned to.

Sealed rows of the table `checkpoints` only ever grow in size, and so do the others. So the smallest sealed one that
holds an entry never changes: that is the one that a receipt is pinned to.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Select, insert, select, type_coerce
from sqlalchemy.types import NullType

from app.errors import LedgerBroken, NotReady, NotSealed, ReceiptPending
from app.log.shown import least_size, public_size, sizes
from app.service import Service
from app.storage.tables import checkpoints, cosignatures, ledger_lock
from core.log.checkpoint import Checkpoint
from core.log.note import InvalidNote, Note, Signature
from core.log.policy import Policy

# As they are stored: SQLite keeps any type in any column.
ROWS = select(checkpoints.c.size, type_coerce(checkpoints.c.sealed, NullType()).label("sealed"), checkpoints.c.note)
_NEWEST = ROWS.order_by(checkpoints.c.size.desc(), checkpoints.c.sealed.desc()).limit(1)


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A checkpoint on record, and whether a quorum had signed it."""

    note: Note
    sealed: bool


def newest(service: Service) -> Note:
    """The newest checkpoint that anybody may see: it never has fewer entries than one that was shown before.

    With a quorum configured, the newest one that it signed; NotSealed before there is one.
    """
    if service.settings.read_only:
        return _newest_on_record(service)
    if not service.needs_quorum:
        note = service.checkpoint(public_size(service))
        _record_unsealed(service, note)
        return note
    sealed = newest_sealed(service)
    if is_due(service):
        service.cosigner.wake(service)
    if sealed is None:
        raise NotSealed(service.cosigner.seconds_left)
    return sealed


def _record_unsealed(service: Service, note: Note) -> None:
    """Before more is shown than a quorum ever signed, keep that: a quorum that is configured again goes on from it."""
    with service.database.read_only() as tx:
        row = tx.execute(_NEWEST).first()
    if row is None or not row.sealed:
        return
    stored = _own(service, _NEWEST)
    if stored is not None and Checkpoint.of(stored.note).size < Checkpoint.of(note).size:
        store(service, note, sealed=False)


def pinned(service: Service, seq: int) -> StoredCheckpoint:
    """The checkpoint for receipts about an entry: a sealed one is the same for ever. ReceiptPending if there is none.

    Where no quorum was configured it is one without its signatures, until a quorum has signed the entry as well.
    Waits for no witness: they are asked in the background.
    """
    stored = _smallest(service, seq)
    if stored is None and not service.settings.read_only and public_size(service) >= seq:
        if is_due(service):
            raise ReceiptPending(_UNSIGNED, retry_after=service.cosigner.asked(service))
        if not service.needs_quorum:
            store(service, service.checkpoint(public_size(service)), sealed=False)
            stored = _smallest(service, seq)
    if stored is None:
        raise ReceiptPending(_NOT_SHOWN, retry_after=service.ticks.seconds_left(service.clock()))
    return stored


_UNSIGNED = "the log's outside witnesses are being asked to sign."
_NOT_SHOWN = "the time of a publication is kept coarse, so the receipt comes with the log's next checkpoint."


def is_due(service: Service) -> bool:
    """Whether the next checkpoint that a quorum signs is one for receipts: there is at most one in each period.

    Signatures of witnesses have a time, and those around every charge would tell for ever how long the upload before it
    took. Checkpoints of a period have at least the entries that it began with: one with fewer is from before.
    """
    if not service.needs_quorum:
        return False
    sealed = newest_sealed(service)
    return sealed is None or Checkpoint.of(sealed).size < sizes(service)[0]


def newest_sealed(service: Service) -> Note | None:
    """The newest checkpoint, if the quorum of the policy signed it; None where no quorum is asked for.

    One without a quorum that is larger was shown since then, while none was configured.
    """
    if service.policy is None or not service.needs_quorum:
        return None
    stored = _own(service, _NEWEST)
    if stored is None or not stored.sealed:
        return None
    for note in (stored.note, _with_kept_signatures(service, service.policy, stored.note)):
        with suppress(InvalidNote):
            service.policy.require_cosigned(note)
            return note
    return None


def _with_kept_signatures(service: Service, policy: Policy, note: Note) -> Note:
    """A checkpoint that a quorum of an earlier policy sealed, with the signatures of this policy's witnesses."""
    query = select(cosignatures).where(cosignatures.c.size == Checkpoint.of(note).size).order_by(cosignatures.c.signer)
    with service.database.read_only() as tx:
        rows = tx.execute(query).all()
    kept = []
    for row in rows:
        witness = policy.witnesses.get(row.signer)
        signature = signature_of(row.line)
        if witness is not None and signature is not None and signature.is_valid(witness.key, note.text):
            kept.append(signature)
    return Note(note.text, tuple(dict.fromkeys((*note.signatures, *kept))))


def signature_of(line: object) -> Signature | None:
    """The signature in a stored line, which somebody may have changed; None where it cannot be read."""
    try:
        return Signature.parse(line) if isinstance(line, str) else None
    except InvalidNote:
        return None


def store(service: Service, note: Note, *, sealed: bool) -> None:
    """Keep a checkpoint, unless a larger one of its kind is kept: the one before which receipts were given out."""
    size = Checkpoint.of(note).size
    with service.database.transaction() as tx:
        # Two that are stored at once, the smaller one last, would pin a receipt to two checkpoints.
        tx.execute(select(ledger_lock.c.id).with_for_update())
        larger = select(checkpoints.c.size).where(checkpoints.c.size >= size, checkpoints.c.sealed == sealed)
        if tx.execute(larger.limit(1)).first() is None:
            tx.execute(insert(checkpoints).values(size=size, note=str(note), sealed=sealed))


def fault_of(service: Service, row: Row[Any]) -> str | None:
    """Why a stored row is not a checkpoint that this log signed, in a sentence; None where it is.

    The root is not compared. A key that is not known yet may be on record since the ledger was last read.
    """
    if type(row.size) is not int or row.sealed not in (0, 1) or not isinstance(row.note, str):
        return _UNREADABLE
    try:
        note = Note.parse(row.note)
        if Checkpoint.of(note).size != row.size:
            return _NOT_OURS
    except InvalidNote:
        return _UNREADABLE
    if service.log.is_own(note, service.replay.books):
        return None
    with suppress(LedgerBroken):
        service.replay.refresh()
    return None if service.log.is_own(note, service.replay.books) else _NOT_OURS


_UNREADABLE = "A stored checkpoint of the log cannot be read: somebody changed it."
_NOT_OURS = "A stored checkpoint is not one that this log signed for as many entries: somebody changed it."
_OTHER_ROOT = "A stored checkpoint is not of the entries that the ledger has: somebody changed it."


def policy_text(service: Service) -> str:
    """The lines of a policy for this log: its key, and the service's own witnesses. A suggestion, to be checked."""
    log = f"log {service.log.verifier}\n"
    return log + _lines_of(service.policy) if service.policy is not None else f"{log}quorum none\n"


def _lines_of(policy: Policy) -> str:
    witnesses = [f"witness {witness.name} {witness.key}" for witness in policy.witnesses.values()]
    groups = [f"group {name} {group.least} {' '.join(group.members)}" for name, group in policy.groups.items()]
    return "\n".join([*witnesses, *groups, f"quorum {policy.quorum or 'none'}"]) + "\n"


def _newest_on_record(service: Service) -> Note:
    """Of a service that is read-only, and signs nothing: a note that is kept, if it has all that was shown before.

    It is in the table or in the witness file. NotReady where neither has one that may be shown.
    """
    witnessed = _witnessed(service)
    if witnessed is not None and Checkpoint.of(witnessed).size > service.replay.tree.size:
        raise NotReady("This is an older copy of the database, with fewer entries than the log has shown.")
    if service.needs_quorum:
        sealed = newest_sealed(service)
        if sealed is None:
            raise NotReady(f"{_SIGNS_NOTHING} and signed by the quorum of its policy.")
        return sealed
    stored, least, most = _own(service, _NEWEST), least_size(service), public_size(service)
    for note in (witnessed, None if stored is None else stored.note):
        if note is not None and least <= Checkpoint.of(note).size <= most:
            return note
    raise NotReady(f"{_SIGNS_NOTHING}.")


def _witnessed(service: Service) -> Note | None:
    """The note in the witness file, if this log signed it, for the entries that there are or for more."""
    note = service.witness.note()
    service.replay.refresh()
    if note is None or not service.log.is_own(note, service.replay.books):
        return None
    checkpoint, tree = Checkpoint.of(note), service.replay.tree
    is_of_these = checkpoint.size > tree.size or tree.root(checkpoint.size) == checkpoint.root
    return note if is_of_these else None


_SIGNS_NOTHING = "This service is read-only and signs nothing, and no checkpoint with all that was shown is kept"


def _smallest(service: Service, seq: int) -> StoredCheckpoint | None:
    """The smallest sealed checkpoint with an entry, or else, without a quorum, the smallest one."""
    query = ROWS.where(checkpoints.c.size >= seq).order_by(checkpoints.c.size).limit(1)
    sealed = _own(service, query.where(checkpoints.c.sealed))
    return sealed if sealed is not None or service.needs_quorum else _own(service, query)


def _own(service: Service, query: Select[Any]) -> StoredCheckpoint | None:
    """The checkpoint of a stored row. NotReady where this log did not sign it, or has other entries: it was changed."""
    with service.database.read_only() as tx:
        row = tx.execute(query).first()
    if row is None:
        return None
    fault = fault_of(service, row)
    if fault is None:
        if row.size > service.replay.tree.size:
            service.replay.refresh()
        note, tree = Note.parse(row.note), service.replay.tree
        if row.size <= tree.size and tree.root(row.size) == Checkpoint.of(note).root:
            return StoredCheckpoint(note, bool(row.sealed))
    raise NotReady(fault or _OTHER_ROOT)
