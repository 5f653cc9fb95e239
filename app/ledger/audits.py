"""Verifications on record: who verified the ledger and when, and how the ledger stands now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from app.access.principal import Principal
from app.errors import CannotStart
from app.ledger import verification
from app.ledger.entries import head, holds
from app.service import Service
from app.storage.tables import verifications
from core.ledger.chain import Verification
from core.ledger.entry import EMPTY, Head

_STEP = 1000  # entries between two reports of progress


@dataclass(frozen=True, slots=True)
class Checked:
    """A verification that somebody made: when, who, and its outcome."""

    at: str
    actor: str
    outcome: Verification


@dataclass(frozen=True, slots=True)
class LedgerStatus:
    """How the ledger stands: its head, whether the witness agrees, and the last verification."""

    head: Head
    witness_agrees: bool
    checked: Checked | None


def ledger_status(service: Service) -> LedgerStatus:
    """How the ledger stands, without walking it."""
    with service.database.read_only() as tx:
        newest = head(tx)
        checked = _last_check(tx)
        try:
            agrees = holds(tx, service.replay, service.witness.seen())
        except (OSError, CannotStart):
            agrees = False
    return LedgerStatus(head=newest, witness_agrees=agrees, checked=checked)


def verify_on_record(service: Service, caller: Principal) -> Iterator[Verification]:
    """Walk the whole chain step by step, then record who did so and the outcome. The last step is the outcome."""
    last = Verification(entries=0, head=EMPTY)
    for step in verification.verify_steps(service, every=_STEP):
        if step.valid and last.entries:
            yield last
        last = step
    with service.database.transaction() as tx:
        tx.execute(
            insert(verifications).values(
                at=service.today(),  # the seconds of two verifications would bracket an upload
                actor=caller.actor,
                entries=last.entries,
                hash=last.head.hash,
                first_bad=last.first_bad,
                reason=last.reason,
            )
        )
    yield last  # on record by now, whether or not anybody is still listening


def _last_check(tx: Connection) -> Checked | None:
    row = tx.execute(select(verifications).order_by(verifications.c.number.desc()).limit(1)).mappings().first()
    if row is None:
        return None
    outcome = Verification(
        entries=row["entries"],
        head=Head(seq=row["entries"], hash=row["hash"]),
        first_bad=row["first_bad"],
        reason=row["reason"],
    )
    return Checked(at=row["at"], actor=row["actor"], outcome=outcome)
