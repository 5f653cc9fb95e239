"""Checkpoints that people see: the newest one, and those that receipts are pinned to.

Rows of the table `checkpoints` only ever grow in size, so the smallest one that holds an entry never changes: that is
the one that a receipt is pinned to. With a quorum configured only rows that it signed count.
"""

from __future__ import annotations

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from app.errors import ReceiptPending
from app.service import Service
from app.storage.tables import checkpoints, ledger
from core.ledger.kinds import Kind
from core.log.checkpoint import Checkpoint
from core.log.note import Note
from core.log.policy import Policy

# When noise was drawn or a synopsis published tells how long an upload took, and that depends on its rows.
_PRIVATE_TIMES = (Kind.DRAW, Kind.STEP, Kind.PUBLISH)


def newest(service: Service) -> Note:
    """The newest checkpoint that anybody may see: with a quorum configured, the newest one that it signed, if any."""
    if service.needs_quorum:
        with service.database.read_only() as tx:
            sealed = _stored(tx, newest_first=True, sealed=True)
        if sealed is not None:
            return sealed
    return service.checkpoint(public_size(service))


def pinned(service: Service, seq: int) -> Note:
    """The checkpoint for receipts about an entry: the same one for ever. ReceiptPending where there is none yet."""
    with service.database.read_only() as tx:
        stored = _stored(tx, least=seq, sealed=service.needs_quorum)
    if stored is not None:
        return stored
    if service.needs_quorum:
        service.cosigner.sign_newest(service)
    elif public_size(service) >= seq:
        store(service, service.checkpoint(public_size(service)), sealed=False)
    with service.database.read_only() as tx:
        stored = _stored(tx, least=seq, sealed=service.needs_quorum)
    if stored is None:
        raise ReceiptPending(service.ticks.seconds_left(service.clock()))
    return stored


def public_size(service: Service) -> int:
    """How many entries a checkpoint may show now: up to the last one whose time is public, or to the last period."""
    service.replay.refresh()
    query = select(ledger.c.seq).where(ledger.c.kind.not_in(_PRIVATE_TIMES)).order_by(ledger.c.seq.desc()).limit(1)
    with service.database.read_only() as tx:
        timed = tx.execute(query).scalar_one_or_none() or 0
    visible = service.ticks.observe(service.clock(), service.replay.tree.size)
    return min(max(timed, visible), service.replay.tree.size)


def newest_sealed(service: Service) -> Note | None:
    """The newest checkpoint that a quorum signed."""
    with service.database.read_only() as tx:
        return _stored(tx, newest_first=True, sealed=True)


def store(service: Service, note: Note, *, sealed: bool) -> None:
    """Keep a checkpoint, unless a larger one of its kind is kept: the one before which receipts were given out."""
    size = Checkpoint.of(note).size
    try:
        with service.database.transaction() as tx:
            larger = select(checkpoints.c.size).where(checkpoints.c.size >= size, checkpoints.c.sealed == sealed)
            if tx.execute(larger.limit(1)).first() is None:
                tx.execute(insert(checkpoints).values(size=size, note=str(note), sealed=sealed))
    except IntegrityError:
        pass  # another process was first: its row counts


def policy_text(service: Service) -> str:
    """The lines of a policy for this log: its key, and the service's own witnesses. A suggestion, to be checked."""
    log = f"log {service.log.verifier}\n"
    return log + _lines_of(service.policy) if service.policy is not None else f"{log}quorum none\n"


def _lines_of(policy: Policy) -> str:
    witnesses = [f"witness {witness.name} {witness.key}" for witness in policy.witnesses.values()]
    groups = [f"group {name} {group.least} {' '.join(group.members)}" for name, group in policy.groups.items()]
    return "\n".join([*witnesses, *groups, f"quorum {policy.quorum or 'none'}"]) + "\n"


def _stored(tx: Connection, *, sealed: bool, least: int = 0, newest_first: bool = False) -> Note | None:
    order = checkpoints.c.size.desc() if newest_first else checkpoints.c.size
    query = select(checkpoints.c.note).where(checkpoints.c.size >= least, checkpoints.c.sealed == sealed)
    note = tx.execute(query.order_by(order).limit(1)).scalar_one_or_none()
    return None if note is None else Note.parse(note)
