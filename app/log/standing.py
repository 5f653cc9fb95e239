"""How the log stands, for auditors: its checkpoint, its witnesses and when each signed last; and a receipt's path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from app.errors import NotSealed
from app.log import checkpoints
from app.log.cosigning import signers
from app.service import Service, timestamp
from core.log.checkpoint import Checkpoint
from core.log.receipt import Receipt
from core.log.tree import leaf_hash, node_hash


@dataclass(frozen=True, slots=True)
class WitnessStanding:
    """An outside witness: the newest size that it signed, and when; None before it signed any."""

    name: str
    verifier: str
    address: str | None
    size: int | None
    signed_at: str | None
    trouble: str | None


@dataclass(frozen=True, slots=True)
class LogStanding:
    """The newest checkpoint that is shown, if any; the witnesses, and the suggested policy."""

    origin: str
    verifier: str
    note: str | None
    size: int | None
    root: str | None
    needs_quorum: bool
    tolerated: int
    witnesses: tuple[WitnessStanding, ...]
    policy: str


@dataclass(frozen=True, slots=True)
class PathStep:
    """One join on the way from an entry to the root: the hash from below, its sibling's, and their sum."""

    own: str
    sibling: str
    sibling_is_left: bool
    joined: str


def log_standing(service: Service) -> LogStanding:
    """How the log stands, without asking any witness."""
    try:
        note = checkpoints.newest(service)
    except NotSealed:
        note = None
    checkpoint = None if note is None else Checkpoint.of(note)
    return LogStanding(
        origin=service.log.origin,
        verifier=str(service.log.verifier),
        note=None if note is None else str(note),
        size=None if checkpoint is None else checkpoint.size,
        root=None if checkpoint is None else checkpoint.root.hex(),
        needs_quorum=service.needs_quorum,
        tolerated=service.policy.tolerated if service.policy is not None else 0,
        witnesses=_witnesses(service),
        policy=checkpoints.policy_text(service),
    )


def _witnesses(service: Service) -> tuple[WitnessStanding, ...]:
    if service.policy is None:
        return ()
    signed, last = signers(service), service.cosigner.last
    troubles = {} if last is None else {**last.silent, **last.refusals}
    standings = []
    for name, witness in service.policy.witnesses.items():
        size, signature = signed.get(name, (None, None))
        at = None if signature is None else timestamp(datetime.fromtimestamp(signature.time, UTC))
        standings.append(WitnessStanding(name, str(witness.key), witness.url, size, at, troubles.get(name)))
    return tuple(standings)


def path_of(receipt: Receipt) -> tuple[PathStep, ...]:
    """The joins from the publish entry of a receipt up to the root of its checkpoint."""
    size = Checkpoint.of(receipt.checkpoint).size
    digest, place, last = leaf_hash(bytes.fromhex(receipt.publish.hash)), receipt.publish.seq - 1, size - 1
    return tuple(_steps(digest, place, last, receipt.publish_hashes))


def _steps(digest: bytes, place: int, last: int, siblings: Sequence[bytes]) -> list[PathStep]:
    steps = []
    for sibling in siblings:
        is_left = bool(place % 2) or place == last
        joined = node_hash(sibling, digest) if is_left else node_hash(digest, sibling)
        steps.append(PathStep(digest.hex(), sibling.hex(), is_left, joined.hex()))
        while is_left and not place % 2 and place:
            place, last = place // 2, last // 2
        digest, place, last = joined, place // 2, last // 2
    return steps
