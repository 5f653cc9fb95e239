"""Rotate the log's key: put a new one on record in the ledger, then sign with it.

The order survives a crash anywhere: the new key is in a file of its own before the ledger names it, and takes its place
after that. No service starts between the two; whoever runs the command again finishes what was begun.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from app.access.secret_file import make_secret_file
from app.errors import CannotStart
from app.ledger.appending import open_book
from app.ledger.replay import Replay
from app.ledger.witness_check import walk_chain
from app.log.signing import next_key_path, previous_key_path
from app.service import Service
from app.settings.settings import Settings
from app.storage.database import Database
from app.storage.tables import log as log_table
from app.witnessing.durable_file import sync_folder
from core.ledger.kinds import Kind
from core.log.ed25519 import SecretKey
from core.log.note import SignatureType, SigningKey, VerifierKey

ACTOR = "rugnik log rotate"


def rotate(service: Service) -> VerifierKey:
    """Make a key, put it on record, and let it sign from the next start on. The old one signs as well until removed."""
    path = _key_path(service.settings)
    fresh = next_key_path(path)
    if not fresh.exists():
        make_secret_file(fresh, SecretKey.generate().to_pem())
    key = SigningKey(service.log.origin, SignatureType.LOG, SecretKey.from_pem(fresh.read_bytes()))
    walk_chain(service.replay)
    if service.replay.books.log_key != str(key.verifier):
        with open_book(service) as book:
            book.append(Kind.KEY, dataset=None, actor=ACTOR, detail={"verifier": str(key.verifier)})
    _put_in_place(path)
    return key.verifier


def is_begun(settings: Settings) -> bool:
    """Whether a new key waits for its place."""
    return settings.log_key is None and next_key_path(settings.log_key_path).exists()


def finish(settings: Settings, database: Database) -> VerifierKey | None:
    """Put a new key in its place if it is on record already: a rotation was interrupted. None where none was.

    Call it while no service runs.
    """
    path, replay = _key_path(settings), Replay(database)
    walk_chain(replay)
    with database.read_only() as tx:
        origin = tx.execute(select(log_table.c.origin)).scalar_one_or_none()
    if origin is None or not is_begun(settings):
        return None
    key = SigningKey(origin, SignatureType.LOG, SecretKey.from_pem(next_key_path(path).read_bytes()))
    if replay.books.log_key != str(key.verifier):
        return None
    _put_in_place(path)
    return key.verifier


def _put_in_place(path: Path) -> None:
    """The new key's file replaces the old one's. Where the old one's is gone, the first half was done before."""
    if path.exists():
        path.replace(previous_key_path(path))
        sync_folder(path.parent)
    next_key_path(path).replace(path)
    sync_folder(path.parent)


def _key_path(settings: Settings) -> Path:
    if settings.log_key is not None:
        raise CannotStart(
            "The log's key comes from RUGNIK_LOG_KEY or its secret, which this command cannot change. Run it without "
            "that, with the key in the file beside the witness, and put the new file into the secret."
        )
    return settings.log_key_path
