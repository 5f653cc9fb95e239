"""The log's key and its origin. The key is in a file or a secret, never in the database."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from app.access.secret_file import make_secret_file
from app.errors import CannotStart
from app.settings.settings import Settings
from app.storage.database import Database
from app.storage.tables import log as log_table
from core.ledger.books import Books
from core.log.checkpoint import Checkpoint
from core.log.ed25519 import SecretKey
from core.log.nodes import TreeNodes
from core.log.note import InvalidNote, Note, SignatureType, SigningKey, VerifierKey

LOST_KEY = (
    "Bring it back ({where}): services that share a database share the key. If it is lost for good, "
    "'rugnik log rotate --lost' puts a new one on record."
)


@dataclass(frozen=True, slots=True)
class Log:
    """The name of this log, its keys, and the key that it began with.

    `keys` has the newest first. During a rotation the one before it signs as well.
    """

    origin: str
    keys: tuple[SigningKey, ...]
    first: VerifierKey
    next: VerifierKey | None = None  # of a rotation that began and did not end

    @property
    def verifier(self) -> VerifierKey:
        """The public half of the newest key: what policies name."""
        return self.keys[0].verifier

    def is_own(self, note: Note, books: Books) -> bool:
        """Whether a checkpoint is of this log, and signed by a key that is, or was, on record as the log's."""
        recorded = {self.first, *map(VerifierKey.parse, books.log_keys), *(key.verifier for key in self.keys)}
        return Checkpoint.of(note).origin == self.origin and bool(note.signed_by(recorded))

    def signed(self, tree: TreeNodes, size: int) -> Note:
        """The signed checkpoint of the first `size` entries. Called once they are committed, never before."""
        if not 0 <= size <= tree.size:
            raise ValueError("Only entries that were verified are signed.")
        return Checkpoint(self.origin, size, tree.root(size)).signed(*self.keys)


def open_log(settings: Settings, database: Database, *, lost_key: bool = False) -> Log:
    """The log of this database: its origin is fixed at the first start. CannotStart for another key or origin.

    With `lost_key` a key that nobody has seen stands in for the lost one.
    """
    with database.read_only() as tx:
        row = tx.execute(select(log_table)).first()
    secrets_kept = [SecretKey.generate()] if lost_key else secret_keys(settings, may_make=row is None)
    if row is None:
        origin = settings.origin or f"rugnik.invalid/{secrets.token_hex(8)}"
        first = SigningKey(origin, SignatureType.LOG, secrets_kept[0]).verifier
        try:
            with database.transaction() as tx:
                tx.execute(insert(log_table).values(id=1, origin=origin, verifier=str(first)))
        except IntegrityError:
            pass  # another worker was first: its row counts
        with database.read_only() as tx:
            row = tx.execute(select(log_table)).one()
    if settings.origin not in (None, row.origin):
        raise CannotStart(
            f"RUGNIK_ORIGIN is {settings.origin}, and this log has been called {row.origin} since its first start. "
            "Leave it out, or set it to that name."
        )
    if not isinstance(row.origin, str) or not isinstance(row.verifier, str):  # SQLite keeps any type in any column
        raise CannotStart(_CHANGED)
    try:
        first = VerifierKey.parse(row.verifier)
        keys = tuple(SigningKey(row.origin, SignatureType.LOG, secret) for secret in secrets_kept)
    except InvalidNote as error:
        raise CannotStart(f"{_CHANGED} {error}") from None
    if (first.name, first.type) != (row.origin, SignatureType.LOG):
        raise CannotStart(f"{_CHANGED} The log is called {row.origin} there, and its first key is of {first.name}.")
    return Log(row.origin, keys, first, _next_key(settings, row.origin))


_CHANGED = "The row of the table log was changed. Bring back the newest copy of the database."


def require_key_on_record(log: Log, books: Books, where: str) -> None:
    """CannotStart where the key that signs is not the one that the ledger, or the log's first start, put on record."""
    recorded = books.log_key or str(log.first)
    if log.next is not None and str(log.next) == recorded != str(log.verifier):
        raise CannotStart(
            "The rotation of the log's key was interrupted: the new key is on record, and not in its place. Run "
            "'rugnik log rotate' again: it finishes that."
        )
    if str(log.verifier) != recorded:
        raise CannotStart(
            f"The log's key {where} is not the one that this log signs with. {LOST_KEY.format(where=where)}"
        )


def own_checkpoint(
    path: Path, database: Database, settings: Settings, *, log_key: VerifierKey | None = None
) -> Checkpoint:
    """The checkpoint in a file, of the log of a database; CannotStart where this log's key did not sign it.

    The key is `log_key`, or else this machine's own. The database may be anybody's: it gives no more than the name.
    """
    with database.read_only() as tx:
        origin = tx.execute(select(log_table.c.origin)).scalar_one_or_none()
    if origin is None:
        raise CannotStart("The database does not say what its log is called: its table log is empty.")
    try:
        note = Note.parse(path.read_text(encoding="utf-8"))
        checkpoint = Checkpoint.of(note)
    except (OSError, ValueError):
        raise CannotStart(f"The checkpoint {path} cannot be read.") from None
    if log_key is not None:
        keys = [log_key]
    else:
        kept = secret_keys(settings, may_make=False)
        keys = [SigningKey(origin, SignatureType.LOG, secret).verifier for secret in kept]
    if checkpoint.origin != origin or not note.signed_by(keys):
        raise CannotStart(
            f"The checkpoint {path} is not signed by the key of the log {origin}: {', '.join(map(str, keys))}."
        )
    return checkpoint


def place_of_key(settings: Settings) -> str:
    """Where the log's key comes from, for messages."""
    return f"in {settings.log_key_path}" if settings.log_key is None else "in RUGNIK_LOG_KEY or its secret"


def secret_keys(settings: Settings, *, may_make: bool) -> list[SecretKey]:
    """The key that signs, made now where there is none and this is a new log; then the one before it, if it is kept."""
    if settings.log_key is not None:
        return [_parsed(settings.log_key.get_secret_value().encode(), "RUGNIK_LOG_KEY")]
    path = settings.log_key_path
    if not path.exists():
        if not may_make:
            begun = "If a rotation of it was interrupted, run 'rugnik log rotate' again: it finishes that. "
            hint = begun if next_key_path(path).exists() else ""
            raise CannotStart(f"The log's key is missing. {hint}{LOST_KEY.format(where=path)}")
        make_secret_file(path, SecretKey.generate().to_pem())
    previous = previous_key_path(path)
    paths = [path, previous] if previous.exists() else [path]
    return [_parsed(each.read_bytes(), str(each)) for each in paths]


def previous_key_path(path: Path) -> Path:
    """The file of the key before the newest, while both sign."""
    return path.with_name(path.name + ".previous")


def next_key_path(path: Path) -> Path:
    """The file of a key that is not in use yet."""
    return path.with_name(path.name + ".next")


def _next_key(settings: Settings, origin: str) -> VerifierKey | None:
    path = next_key_path(settings.log_key_path)
    if settings.log_key is not None or not path.exists():
        return None
    try:
        return SigningKey(origin, SignatureType.LOG, SecretKey.from_pem(path.read_bytes())).verifier
    except (OSError, ValueError):
        return None  # nothing signs with it


def _parsed(pem: bytes, where: str) -> SecretKey:
    try:
        return SecretKey.from_pem(pem)
    except ValueError as error:
        raise CannotStart(f"The log's key in {where} cannot be used. {error}") from None
