"""A process that brings a log forward on a witness that it shares with others, as far as it can."""

from __future__ import annotations

from pathlib import Path

from app.witnessing.witness import Witness
from core.log.ed25519 import SecretKey
from core.log.note import SignatureType, SigningKey
from core.log.witnessing import Refused
from tests.support.signed_log import ORIGIN, SignedLog, entries


def accepts(witness: Witness, body: bytes) -> bool:
    """Whether the witness signs it."""
    try:
        witness.add_checkpoint(body)
    except Refused:
        return False
    return True


def climb(pem: bytes, log_pem: bytes, actor: str, size: int, state: Path, sink: Path) -> None:
    """Bring the log of an actor forward entry by entry, and note every tree that was signed for it."""
    key = SigningKey("w", SignatureType.COSIGNATURE, SecretKey.from_pem(pem))
    log = SignedLog(entries(size, actor), SigningKey(ORIGIN, SignatureType.LOG, SecretKey.from_pem(log_pem)))
    witness = Witness(key, [log.key.verifier], state)
    with sink.open("w") as notes:
        for _ in range(20 * size):
            old = witness.sizes()[log.key.name]
            if old == size:
                return
            if accepts(witness, log.submission(old, old + 1)):
                notes.write(f"{old + 1} {log.root(old + 1).hex()}\n")
