"""Checkpoints that people see: the newest one, and those that receipts are pinned to.

Rows of the table `checkpoints` only ever grow in size, so the smallest one that holds an entry never changes: that is
the one that a receipt is pinned to. With a quorum configured only rows that it signed count.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, func, insert, select

from app.errors import NotReady, ReceiptPending
from app.service import Service
from app.storage.tables import checkpoints, ledger, ledger_lock
from core.ledger.kinds import PRIVATE_TIMES
from core.log.checkpoint import Checkpoint
from core.log.note import InvalidNote, Note
from core.log.policy import Policy


def newest(service: Service) -> Note:
    """The newest checkpoint that anybody may see: with a quorum configured, the newest one that it signed, if any."""
    if service.settings.read_only:
        return _newest_signed(service)
    sealed = newest_sealed(service)
    if sealed is None:
        return service.checkpoint(public_size(service))
    if is_due(service):
        service.cosigner.wake(service)
    return sealed


def pinned(service: Service, seq: int) -> Note:
    """The checkpoint for receipts about an entry: the same one for ever. ReceiptPending where there is none yet."""
    stored = _smallest(service, seq)
    if stored is None:
        if service.needs_quorum:
            service.cosigner.sign_newest(service)
        elif public_size(service) >= seq and not service.settings.read_only:
            store(service, service.checkpoint(public_size(service)), sealed=False)
        stored = _smallest(service, seq)
    if stored is None:
        raise ReceiptPending(service.ticks.seconds_left(service.clock()))
    return stored


def is_due(service: Service) -> bool:
    """Whether the next checkpoint that a quorum signs is one for receipts: there is at most one in each period.

    Signatures of witnesses have a time, and those around every charge would tell for ever how long the upload before it
    took. Checkpoints of a period have at least the entries that it began with: one with fewer is from before.
    """
    if not service.needs_quorum:
        return False
    sealed = newest_sealed(service)
    return sealed is None or Checkpoint.of(sealed).size < _sizes(service)[0]


def public_size(service: Service) -> int:
    """How many entries a checkpoint may show now: up to the last one whose time is public, or to the last period."""
    before, timed = _sizes(service)
    service.replay.refresh()
    return min(max(before, timed), service.replay.tree.size)


def _sizes(service: Service) -> tuple[int, int]:
    """The size that this period began with, and that up to the last entry whose time is public.

    One statement, so that no append comes between its parts.
    """
    timed = select(ledger.c.seq).where(ledger.c.kind.not_in(PRIVATE_TIMES)).order_by(ledger.c.seq.desc()).limit(1)
    every = select(func.max(ledger.c.seq)).scalar_subquery()
    before = service.ticks.size_before(service.newest_time())
    with service.database.read_only() as tx:
        row = tx.execute(select(timed.scalar_subquery(), before, every)).one()
    size = row[2] or 0
    return size if row[1] is None else min(row[1], size), row[0] or 0


def newest_sealed(service: Service) -> Note | None:
    """The newest checkpoint that the quorum of the policy signed; None where no quorum is asked for."""
    if service.policy is None or not service.needs_quorum:
        return None
    query = select(checkpoints).where(checkpoints.c.sealed).order_by(checkpoints.c.size.desc()).limit(1)
    note = _own(service, query)
    try:
        if note is not None:
            service.policy.require_cosigned(note)
    except InvalidNote:
        return None  # by a quorum of another policy
    return note


def store(service: Service, note: Note, *, sealed: bool) -> None:
    """Keep a checkpoint, unless a larger one of its kind is kept: the one before which receipts were given out."""
    size = Checkpoint.of(note).size
    with service.database.transaction() as tx:
        # Two that are stored at once, the smaller one last, would pin a receipt to two checkpoints.
        tx.execute(select(ledger_lock.c.id).with_for_update())
        larger = select(checkpoints.c.size).where(checkpoints.c.size >= size, checkpoints.c.sealed == sealed)
        if tx.execute(larger.limit(1)).first() is None:
            tx.execute(insert(checkpoints).values(size=size, note=str(note), sealed=sealed))


def fault_of(service: Service, size: int, note: str) -> str | None:
    """Why a stored row is not a checkpoint that this log signed, in a sentence; None where it is.

    The root is not compared.
    """
    try:
        parsed = Note.parse(note)
        if Checkpoint.of(parsed).size != size:
            return _NOT_OURS
    except InvalidNote:
        return _UNREADABLE
    return None if service.log.is_own(parsed, service.replay.books) else _NOT_OURS


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


def _newest_signed(service: Service) -> Note:
    """Of a service that is read-only, and signs nothing: the newest note that is stored."""
    query = select(checkpoints).order_by(checkpoints.c.size.desc(), checkpoints.c.sealed.desc()).limit(1)
    stored = _own(service, query)
    if stored is None:
        raise NotReady("This service is read-only and signs nothing, and no checkpoint was stored before.")
    return stored


def _smallest(service: Service, seq: int) -> Note | None:
    query = select(checkpoints).where(checkpoints.c.size >= seq, checkpoints.c.sealed == service.needs_quorum)
    return _own(service, query.order_by(checkpoints.c.size).limit(1))


def _own(service: Service, query: Select[Any]) -> Note | None:
    """The checkpoint of a stored row. NotReady where this log did not sign it, or has other entries: it was changed."""
    with service.database.read_only() as tx:
        row = tx.execute(query).first()
    if row is None:
        return None
    fault = fault_of(service, row.size, row.note)
    if fault is None:
        if row.size > service.replay.tree.size:
            service.replay.refresh()
        note, tree = Note.parse(row.note), service.replay.tree
        if row.size <= tree.size and tree.root(row.size) == Checkpoint.of(note).root:
            return note
    raise NotReady(fault or _OTHER_ROOT)
