"""The ledger compared with the witness file: at start-up, and for /readyz."""

from __future__ import annotations

import structlog

from app.errors import CannotStart, LedgerBroken, LedgerRewound
from app.ledger.entries import head, holds
from app.ledger.replay import Replay
from app.ledger.witness import NOTHING_SEEN
from app.log.signing import place_of_key, require_key_on_record
from app.service import Service
from core.ledger.entry import EMPTY

log = structlog.get_logger(__name__)


def agrees_with_witness(service: Service) -> bool:
    """Whether the ledger holds the witnessed entry. Moves the witness forward where it is behind.

    Only to a head that was verified: LedgerBroken where the entries after the last one do not hold. A service that is
    read-only may be older than its witness.
    """
    if service.settings.read_only:
        service.replay.refresh()
        return True
    try:
        with service.database.read_only() as tx:
            agrees = holds(tx, service.replay, service.witness.seen())
        if agrees:
            service.replay.refresh()
            service.witness.advance(service.replay.head.seq, service.checkpoint)
    except (OSError, CannotStart):
        return False
    return agrees


def check_witness(service: Service, *, lost_key: bool = False) -> None:
    """At start-up: CannotStart where the database is older than, or another than, the one that the witness saw.

    A service that is read-only only has to have a ledger that verifies.
    """
    seen = service.witness.seen()
    if service.settings.read_only:
        walk_chain(service.replay)
        with service.database.read_only() as tx:
            if seen.size <= service.replay.tree.size and not holds(tx, service.replay, seen):
                raise LedgerRewound(
                    f"The ledger in the database is not an older copy of the one that the witness file "
                    f"{service.witness.path} saw, but another one. It is not served, not even to be read."
                )
        log.warning("read_only", seq=service.replay.head.seq)
        return
    with service.database.read_only() as tx:
        current = head(tx)
    walk_chain(service.replay)
    with service.database.read_only() as tx:
        if not holds(tx, service.replay, seen):
            raise LedgerRewound(
                f"The ledger in the database is not the one this service kept before: the witness file "
                f"{service.witness.path} saw {seen.size} entries that it does not begin with: it "
                f"ends at entry {current.seq}. An older copy of the database was probably restored, and epsilon spent "
                "since then would be forgotten. Restore the newest copy of the database, or point "
                "RUGNIK_DATABASE_URL or RUGNIK_DATA_DIR at the right one. If an export has the missing entries, "
                "'rugnik ledger restore' puts them back. To answer questions meanwhile, start with --read-only. If the "
                "newest entries are lost for good, no dataset in this database may be used again: start anew, with an "
                "empty data folder and a new witness."
            )
    if seen.origin not in (None, service.log.origin):
        raise CannotStart(
            f"The witness file {service.witness.path} is of the log {seen.origin}, and the database calls its log "
            f"{service.log.origin}. Somebody changed the name, or put the file of another service in place. Bring back "
            "the newest copy of the database, or the right file."
        )
    if seen == NOTHING_SEEN and current != EMPTY:
        log.warning("witness_missing", path=str(service.witness.path), seq=current.seq)
    if service.witness.path.resolve().parent == service.database.folder:
        log.warning("witness_beside_database", path=str(service.witness.path))
    if not lost_key:
        require_key_on_record(service.log, service.replay.books, place_of_key(service.settings))
    service.witness.advance(service.replay.head.seq, service.checkpoint)


def walk_chain(replay: Replay) -> None:
    """At start-up: CannotStart where an entry does not verify."""
    try:
        replay.refresh()
    except LedgerBroken as error:
        raise CannotStart(
            f"The ledger in the database is not good from entry {error.outcome.first_bad} on: {error.outcome.reason} "
            "Somebody changed it. Put the newest good copy of the database in place."
        ) from None
