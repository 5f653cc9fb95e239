"""Cosigner: asks the outside witnesses of the policy to sign checkpoints, and keeps what they sign.

With a quorum configured, no row is read before a quorum has signed a tree that holds its charge. Grants, charges and
voids go on while witnesses are silent; answers do not depend on them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import structlog
from sqlalchemy import func, insert, select, tuple_
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from app.errors import AppError, CannotStart, LedgerRewound, NotCosigned, NotReady
from app.log import checkpoints
from app.service import Service
from app.storage.tables import cosignatures
from app.witnessing.addresses import require_reachable
from app.witnessing.collecting import Collected, collect
from core.log.checkpoint import Checkpoint
from core.log.note import InvalidNote, Note, Signature
from core.log.policy import Policy

log = structlog.get_logger(__name__)

_ROUNDS = 3  # of asking, where other workers show newer checkpoints meanwhile


class Cosigner:
    """One per process. Any thread may ask it for signatures; one at a time goes out."""

    def __init__(self, policy: Policy | None) -> None:
        self._policy = policy if policy is not None and policy.witnesses else None
        self._asking = threading.Lock()
        self._began = -float("inf")
        self._known: dict[str, int] = {}
        self._thread: threading.Thread | None = None
        self._unsigned_since: datetime | None = None
        self._alarm: str | None = None
        self.last: Collected | None = None

    def wake(self, service: Service) -> None:
        """Ask in the background, unless that is going on already. Called after a commit."""
        if not self._is_asking(service):
            return
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._ask_quietly, args=(service,), name="cosign", daemon=True)
            self._thread.start()

    def sign_newest(self, service: Service, *, is_start: bool = False) -> None:
        """Ask for signatures on the newest checkpoint that may be shown, unless a quorum signed it already.

        At a start witnesses are asked anyway: an older copy of the database has the signatures of its time, and an
        empty one needs none. Threads that wait for their turn share what the next one of them was told. NotReady where
        a witness has signed another past than the database has.
        """
        asked = time.monotonic()
        if self._policy is None or not self._is_asking(service):
            return
        with self._asking:
            if self._began < asked:
                self._began = time.monotonic()
                self._sign(service, self._policy, is_start=is_start)
        if self._alarm is not None:
            raise NotReady(self._alarm)

    def _is_asking(self, service: Service) -> bool:
        """Whether there is anybody to ask. A service that is read-only may be older than what witnesses saw."""
        return self._policy is not None and not service.settings.read_only

    def _sign(self, service: Service, policy: Policy, *, is_start: bool) -> None:
        for _ in range(_ROUNDS):
            size, sealed = checkpoints.public_size(service), checkpoints.newest_sealed(service)
            is_signed = sealed is not None and Checkpoint.of(sealed).size >= size
            if (size == 0 or is_signed) and not is_start:
                self._unsigned_since = None
                return
            note, tree = service.checkpoint(size), service.replay.tree
            self.last = collected = collect(policy, note, partial(tree.consistency_proof, new=size), self._known)
            self._known.update(collected.sizes)
            self._alarm = _alarm(service, collected)
            if size == 0:
                return
            _keep(service, size, collected.signatures)
            if policy.is_met(collected.signatures) and self._alarm is None:
                cosigned = Note(note.text, note.signatures + tuple(collected.signatures.values()))
                checkpoints.store(service, cosigned, sealed=policy.quorum is not None)
                self._unsigned_since = None
                return
            if not collected.ahead or self._alarm is not None:
                break  # otherwise another worker has shown a larger checkpoint meanwhile
        self._unsigned_since = self._unsigned_since or service.clock()
        log.warning("quorum_missing", size=size, silent=sorted(collected.silent), refused=sorted(collected.refusals))

    def _ask_quietly(self, service: Service) -> None:
        try:
            self.sign_newest(service)
        except (AppError, SQLAlchemyError, OSError) as error:
            log.warning("cosigning_failed", error=type(error).__name__)

    def require_signed(self, service: Service, seq: int) -> None:
        """NotCosigned where no quorum has signed a tree with this entry, though it was asked now if need be."""
        if not service.needs_quorum or self._has_signed(service, seq):
            return
        self.sign_newest(service)
        if not self._has_signed(service, seq):
            raise NotCosigned

    def _has_signed(self, service: Service, seq: int) -> bool:
        sealed = checkpoints.newest_sealed(service)
        return sealed is not None and Checkpoint.of(sealed).size >= seq

    def check_at_start(self, service: Service) -> None:
        """Show the witnesses the newest checkpoint; LedgerRewound where one of them saw another past."""
        try:
            self.sign_newest(service, is_start=True)
        except NotReady as error:
            raise LedgerRewound(
                f"{error} Restore the newest copy of the database, or 'rugnik ledger restore' from an export."
            ) from None

    def require_in_time(self, service: Service) -> None:
        """NotReady where a witness saw another past, or the quorum was silent for over RUGNIK_WITNESS_GRACE_HOURS.

        Does not wait for witnesses: they are asked in the background, and the next call sees what came of it.
        """
        self.wake(service)
        if self._alarm is not None:
            raise NotReady(self._alarm)
        since, grace = self._unsigned_since, timedelta(hours=service.settings.witness_grace_hours)
        if since is not None and service.clock() - since > grace:
            raise NotReady("The quorum of outside witnesses has not signed the ledger for too long.")


def _alarm(service: Service, collected: Collected) -> str | None:
    """Sentences about witnesses that saw another past; None where there are none.

    A witness that is ahead of the checkpoint, and not of the database, was shown a newer one by another worker.
    """
    if collected.ahead:
        service.replay.refresh()
    ahead = [name for name, size in collected.ahead.items() if size > service.replay.tree.size]
    alarm = " ".join(collected.refusals[name] for name in (*ahead, *collected.forked)) or None
    if alarm is not None:
        log.error("witness_disagrees", reason=alarm)
    return alarm


def read_policy(path: Path | None) -> Policy | None:
    """The policy of RUGNIK_POLICY; CannotStart with a sentence where it cannot be used."""
    if path is None:
        return None
    try:
        policy = Policy.parse(path.read_text(encoding="utf-8"))
        require_reachable(policy)
    except OSError as error:
        raise CannotStart(f"RUGNIK_POLICY: {path} cannot be read ({error.strerror}).") from None
    except ValueError as error:
        raise CannotStart(f"RUGNIK_POLICY: {error}") from None
    return policy


def signers(service: Service) -> dict[str, tuple[int, Signature]]:
    """Of each witness of the policy the newest size that it signed, with its signature. Edited rows do not count."""
    if service.policy is None:
        return {}
    newest = select(cosignatures.c.signer, func.max(cosignatures.c.size)).group_by(cosignatures.c.signer)
    query = select(cosignatures).where(tuple_(cosignatures.c.signer, cosignatures.c.size).in_(newest))
    with service.database.read_only() as tx:
        rows = tx.execute(query).all()
    valid: dict[str, tuple[int, Signature]] = {}
    for row in rows:
        witness = service.policy.witnesses.get(row.signer)
        if witness is None or not 0 < row.size <= service.replay.tree.size:
            continue
        try:
            signature = Signature.parse(row.line)
        except InvalidNote:
            continue
        if signature.is_valid(witness.key, service.checkpoint(row.size).text):
            valid[row.signer] = (row.size, signature)
    return valid


def _keep(service: Service, size: int, collected: Mapping[str, Signature]) -> None:
    for name, signature in collected.items():
        try:
            with service.database.transaction() as tx:
                there = select(cosignatures.c.size).where(cosignatures.c.size == size, cosignatures.c.signer == name)
                if tx.execute(there).first() is None:
                    tx.execute(insert(cosignatures).values(size=size, signer=name, line=str(signature)))
        except IntegrityError:
            pass  # another process was first
