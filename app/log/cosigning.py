"""Cosigner: asks the outside witnesses of the policy to sign checkpoints, and keeps what they sign.

With a quorum configured, no row is read before a quorum has signed a tree that holds its charge. Grants, charges and
voids go on while witnesses are silent; answers do not depend on them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import partial
from math import ceil
from pathlib import Path

import structlog
from sqlalchemy import func, insert, select, tuple_
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from app.errors import AppError, CannotStart, LedgerRewound, NotCosigned, NotReady
from app.log import checkpoints
from app.log.shown import public_size, shown_at
from app.service import Service
from app.storage.tables import cosignatures
from app.witnessing.addresses import require_reachable
from app.witnessing.collecting import Collected, collect
from core.log.note import Note, Signature
from core.log.policy import Policy

log = structlog.get_logger(__name__)

_ROUNDS = 3  # of asking, where other workers show newer checkpoints meanwhile
_LONGEST_PAUSE = 60.0  # seconds between two rounds in the background, while the quorum is missing
_MOST_WAITING = 4  # threads of uploads that wait for a round at once; further ones are refused
_SILENT = "The quorum of outside witnesses has not signed the ledger for too long."
_NEVER_SIGNED = (
    "No quorum of the policy's outside witnesses has ever signed this ledger, and it is older than "
    "RUGNIK_WITNESS_GRACE_HOURS. See that they answer, and that they know the log's key."
)


class Cosigner:
    """One per process. Any thread may ask it for signatures; one at a time goes out."""

    def __init__(self, policy: Policy | None) -> None:
        self._policy = policy if policy is not None and policy.witnesses else None
        self._asking = threading.Lock()
        self._began = -float("inf")
        self._known: dict[str, int] = {}
        self._waking = threading.Lock()
        self._woken = False
        self._failures = 0
        self._not_before = -float("inf")
        self._thread: threading.Thread | None = None
        self._waiting = threading.BoundedSemaphore(_MOST_WAITING)
        self._alarm: str | None = None
        self.last: Collected | None = None

    def wake(self, service: Service) -> None:
        """Ask in the background; once more where that is going on already. Called after a commit.

        While the quorum is missing, rounds are further and further apart, whoever asks for them.
        """
        if not self._is_asking(service) or time.monotonic() < self._not_before:
            return
        with self._waking:
            self._woken = True
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._ask_quietly, args=(service,), name="cosign", daemon=True)
                self._thread.start()

    def asked(self, service: Service) -> int:
        """Ask in the background, and say in how many seconds that may have helped.

        NotReady where a witness has signed another past than the database has.
        """
        self.wake(service)
        if self._alarm is not None:
            raise NotReady(self._alarm)
        return self.seconds_left

    @property
    def seconds_left(self) -> int:
        """How long until a round may have ended, in whole seconds; after rounds that failed, until the next one."""
        return ceil(max(1.0, self._not_before - time.monotonic()))

    def sign_newest(self, service: Service, *, is_start: bool = False) -> None:
        """Ask for signatures on the newest checkpoint that may be shown, unless a quorum signed it already.

        At a start witnesses are asked anyway: an older copy of the database has the signatures of its time, and an
        empty one needs none. So they are after they signed another past, until a quorum signs. Threads that wait for
        their turn share what the next one of them was told. NotReady where a witness has signed another past than the
        database has.
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
        """Ask until a quorum has signed. It decides: what as many say as may be corrupt is logged, and no more."""
        for _ in range(_ROUNDS):
            size = public_size(service)
            is_due = size > 0 and checkpoints.is_due(service)
            is_asked_anyway = is_start or self._alarm is not None
            if not is_due and not is_asked_anyway and self._signed_size(service) >= size:
                self._succeeded()
                return
            note, tree = service.checkpoint(size), service.replay.tree
            self.last = collected = collect(policy, note, partial(tree.consistency_proof, new=size), self._known)
            self._known.update(collected.sizes)
            disagreeing = _disagreeing(service, collected)
            _keep(service, size, collected.signatures)
            if size and self._is_met(collected.signatures):
                if is_due:
                    cosigned = Note(note.text, note.signatures + tuple(collected.signatures.values()))
                    checkpoints.store(service, cosigned, sealed=True)
                self._succeeded()
                return
            believed = policy.quorum is None or len(disagreeing) > policy.tolerated  # fewer of them may be corrupt
            self._alarm = " ".join(collected.refusals[name] for name in disagreeing if believed) or None
            if not collected.ahead or self._alarm is not None:
                break  # otherwise another worker has shown a larger checkpoint meanwhile
        if size == 0:
            return
        self._failures += 1
        self._not_before = time.monotonic() + min(_LONGEST_PAUSE, 2.0**self._failures)
        log.warning("quorum_missing", size=size, silent=sorted(collected.silent), refused=sorted(collected.refusals))

    def _succeeded(self) -> None:
        self._alarm, self._failures, self._not_before = None, 0, -float("inf")

    def _is_met(self, names: Iterable[str]) -> bool:
        """Whether these witnesses are enough: a quorum, or all of them where no quorum has to sign."""
        assert self._policy is not None  # noqa: S101 - nobody is asked otherwise
        return self._policy.is_met(names) if self._policy.quorum else set(names) >= set(self._policy.witnesses)

    def _ask_quietly(self, service: Service) -> None:
        while self._is_woken():
            try:
                self.sign_newest(service)
            except (AppError, SQLAlchemyError, OSError) as error:
                log.warning("cosigning_failed", error=type(error).__name__)

    def _is_woken(self) -> bool:
        """Whether to ask again; if not, this thread ends, and the next call of `wake` starts another."""
        with self._waking:
            woken, self._woken = self._woken, False
            if not woken:
                self._thread = None
            return woken

    def require_signed(self, service: Service, seq: int) -> None:
        """NotCosigned where no quorum has signed a tree with this entry, though it was asked now if need be.

        Few threads wait for the witnesses at a time: what else the service does needs threads as well.
        """
        if not service.needs_quorum or self._signed_size(service) >= seq:
            return
        if not self._waiting.acquire(blocking=False):
            raise NotCosigned
        try:
            self.sign_newest(service)
        finally:
            self._waiting.release()
        if self._signed_size(service) < seq:
            raise NotCosigned

    def _signed_size(self, service: Service) -> int:
        """The most entries of which enough witnesses have each signed a tree. An honest one signs no two histories."""
        sizes = {name: size for name, (size, _) in signers(service).items()}
        for size in sorted(set(sizes.values()), reverse=True):
            if self._is_met(name for name, signed in sizes.items() if signed >= size):
                return size
        return 0

    def check_at_start(self, service: Service) -> None:
        """Show the witnesses the newest checkpoint. LedgerRewound where more of them saw another past than may lie."""
        try:
            self.sign_newest(service, is_start=True)
        except NotReady as error:
            raise LedgerRewound(
                f"{error} Restore the newest copy of the database, or 'rugnik ledger restore' from an export."
            ) from None

    def require_in_time(self, service: Service) -> None:
        """NotReady where a witness saw another past, or the quorum was silent for over RUGNIK_WITNESS_GRACE_HOURS.

        That begins when the oldest entry that no quorum signed was shown, so neither a restart nor another policy
        begins it anew.
        Does not wait for witnesses: they are asked in the background, and the next call sees what came of it.
        """
        if not self._is_asking(service):
            return
        self.asked(service)
        signed, grace = self._signed_size(service), timedelta(hours=service.settings.witness_grace_hours)
        if signed >= public_size(service):
            return
        if service.clock() - shown_at(service, signed + 1) > grace:
            raise NotReady(_SILENT if signed else _NEVER_SIGNED)


def _disagreeing(service: Service, collected: Collected) -> list[str]:
    """Witnesses that say that they saw another past than the database has.

    One that is ahead of the checkpoint, and not of the database, was shown a newer one by another worker.
    """
    if collected.ahead:
        service.replay.refresh()
    ahead = [name for name, size in collected.ahead.items() if size > service.replay.tree.size]
    names = [*ahead, *collected.forked]
    if names:
        log.error("witness_disagrees", reason=" ".join(collected.refusals[name] for name in names))
    return names


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
    is_held = cosignatures.c.size.between(1, service.replay.tree.size)  # SQLite keeps any type in any column
    newest = select(cosignatures.c.signer, func.max(cosignatures.c.size)).where(is_held).group_by(cosignatures.c.signer)
    query = select(cosignatures).where(tuple_(cosignatures.c.signer, cosignatures.c.size).in_(newest))
    with service.database.read_only() as tx:
        rows = tx.execute(query).all()
    valid: dict[str, tuple[int, Signature]] = {}
    for row in rows:
        witness = service.policy.witnesses.get(row.signer)
        signature = checkpoints.signature_of(row.line)
        if witness is None or signature is None or not isinstance(row.size, int):
            continue
        if signature.is_valid(witness.key, service.checkpoint(row.size).text):
            valid[row.signer] = (row.size, signature)
    return valid


def _keep(service: Service, size: int, collected: Mapping[str, Signature]) -> None:
    """Store the signatures that are not there yet."""
    if not size or not collected:
        return
    kept = select(cosignatures.c.signer).where(cosignatures.c.size == size)
    try:
        with service.database.transaction() as tx:
            new = set(collected) - set(tx.execute(kept).scalars())
            for name in sorted(new):
                tx.execute(insert(cosignatures).values(size=size, signer=name, line=str(collected[name])))
    except IntegrityError:
        pass  # another process was first, and had the same signatures
