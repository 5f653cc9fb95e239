"""The epsilon ledger: read through a verified replay, appended to under a lock, compared with the witness at start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import structlog
from sqlalchemy import Connection, Row, insert, select

from app.errors import CannotStart, DatasetClosed, LedgerBroken, LedgerRewound, NotReady, ReleaseEnded
from app.ledger.replay import Replay
from app.service import Service
from app.storage.tables import ledger, ledger_lock
from core.budget import NOTHING, Budget, Epsilon
from core.canonical import canonical_json
from core.ledger.books import Account, ReleaseRecord
from core.ledger.chain import EMPTY, Head, Kind, LedgerEntry, Stored, Verification

log = structlog.get_logger(__name__)

_Seen = TypeVar("_Seen")


class State(StrEnum):
    """Where a release stands, as its last ledger entry tells."""

    ORDERED = "ordered"
    BURNT = "burnt"  # noise was drawn and nothing is published (yet): the charge is spent for good
    PUBLISHED = "published"
    VOID = "void"


_STATES = {
    Kind.CHARGE: State.ORDERED,
    Kind.DRAW: State.BURNT,
    Kind.PUBLISH: State.PUBLISHED,
    Kind.VOID: State.VOID,
}


@dataclass(frozen=True, slots=True)
class Standing:
    """A release's state, its charge as epsilon and as the number of its entry, and the digest of its synopsis."""

    state: State
    epsilon: Epsilon
    seq: int
    digest: str | None

    @classmethod
    def of(cls, record: ReleaseRecord) -> Standing:
        """From the books."""
        digest = record.digest.hex() if record.digest is not None else None
        return cls(_STATES[record.last], Epsilon(record.nano), record.charge_seq, digest)


def head(tx: Connection) -> Head:
    """The last entry's number and hash, as they are stored."""
    row = tx.execute(select(ledger.c.seq, ledger.c.hash).order_by(ledger.c.seq.desc()).limit(1)).first()
    return Head(seq=row.seq, hash=row.hash) if row else EMPTY


def newest_day(tx: Connection) -> str | None:
    """The day of the last entry."""
    at = tx.execute(select(ledger.c.at).order_by(ledger.c.seq.desc()).limit(1)).scalar_one_or_none()
    return None if at is None else str(at)[:10]


class Book:
    """The ledger within one transaction: what decides comes from the replay, what is long from rows that fit it."""

    def __init__(self, tx: Connection, service: Service) -> None:
        self.tx = tx
        self.service = service
        self.replay = service.replay

    def account(self, dataset: str) -> Account | None:
        """A dataset, if it is registered."""
        return self.replay.books.accounts.get(dataset)

    def datasets(self) -> list[str]:
        """The names of all datasets, sorted."""
        with self.replay.reading() as books:
            return sorted(books.accounts)

    def budget(self, dataset: str) -> Budget:
        """Grants minus charges plus voids: a sum over the ledger, stored nowhere."""
        with self.replay.reading() as books:
            account = books.accounts.get(dataset)
            return Budget(NOTHING, NOTHING) if account is None else account.budget

    def release(self, release: str) -> ReleaseRecord | None:
        """A release, if it was ordered."""
        return self.replay.books.releases.get(release)

    def standings(self, dataset: str) -> dict[str, Standing]:
        """The standing of every release of a dataset, oldest order first."""
        with self.replay.reading() as books:
            names = books.accounts[dataset].releases
            return {name: Standing.of(books.releases[name]) for name in names}

    def newest_standings(self, dataset: str, kind: Kind, *, limit: int) -> dict[str, Standing]:
        """The standing of the releases that were charged, or published, last; oldest of them first."""
        with self.replay.reading() as books:
            account = books.accounts[dataset]
            names = (account.published if kind is Kind.PUBLISH else account.releases)[-limit:]
            return {name: Standing.of(books.releases[name]) for name in names}

    def seen(self, look: Callable[[Connection], _Seen | None]) -> _Seen | None:
        """What this transaction sees; where it sees nothing, what a new one does.

        The books may be ahead of a transaction that began before another thread's commit, and what they name is then
        not there for it yet (SQLite: one snapshot for a whole transaction).
        """
        value = look(self.tx)
        if value is None:
            with self.service.database.read_only() as later:
                value = look(later)
        return value

    def charge(self, record: ReleaseRecord) -> LedgerEntry:
        """The entry that charged a release: read again, and the very one that was verified."""
        row = self.seen(lambda tx: tx.execute(select(ledger).where(ledger.c.seq == record.charge_seq)).first())
        stored = None if row is None else Stored.of(tuple(row))
        return self.replay.require_verified(stored, seq=record.charge_seq, verified_hash=record.charge_hash.hex())


@contextmanager
def read_book(service: Service) -> Iterator[Book]:
    """One transaction for reading, once the replay has caught up with the ledger."""
    with service.database.read_only() as tx:
        service.replay.catch_up(tx)
        yield Book(tx, service)


class OpenBook(Book):
    """The ledger while this transaction holds its lock: nobody else can append or change a balance."""

    def __init__(self, tx: Connection, service: Service) -> None:
        super().__init__(tx, service)
        self.appended: list[LedgerEntry] = []
        # PostgreSQL: the row lock serialises appends. SQLite ignores FOR UPDATE; BEGIN IMMEDIATE has the file locked.
        if tx.execute(select(ledger_lock.c.id).with_for_update()).first() is None:
            raise NotReady("The row of the table ledger_lock is missing: insert one with id 1.")
        self._require_witnessed()
        self.replay.catch_up(tx)
        self.head = self.built_on = self.replay.head
        self._bring_witness_up_to_date()

    def _require_witnessed(self) -> None:
        """Refuse to go on from a ledger that is not the witnessed one: an old copy restored under a running service.

        The witness is moved after each commit and read here under the lock, so it is never ahead of this view. A
        witness that cannot be read refuses as well: what was spent may not be all that the database knows of.
        """
        with _witness_needed():
            agrees = holds(self.tx, self.service.witness.head())
        if not agrees:
            log.error("ledger_rewound")
            raise NotReady(
                "The ledger is not the one that the witness saw: an older database was probably restored. Nothing is "
                "charged or published until the newest copy is back; the service's log and its next start say more."
            )

    def _bring_witness_up_to_date(self) -> None:
        """A process that died after its commit left the witness behind: at most one entry is ever unwitnessed."""
        with _witness_needed():
            self.service.witness.advance(self.head)

    def require_open(self, dataset: str) -> None:
        """Refuse a closed dataset."""
        account = self.account(dataset)
        if account is not None and account.closed:
            raise DatasetClosed

    def standing(self, release: str) -> Standing:
        """Where a release stands."""
        return Standing.of(self.replay.books.releases[release])

    def require_ordered(self, release: str) -> Standing:
        """Refuse a release for which noise was drawn, and one that is void."""
        standing = self.standing(release)
        if standing.state is not State.ORDERED:
            raise ReleaseEnded(state=standing.state, digest=standing.digest)
        return standing

    def append(
        self,
        kind: Kind,
        *,
        dataset: str | None,
        actor: str,
        release: str | None = None,
        epsilon: Epsilon = NOTHING,
        detail: Mapping[str, Any],
    ) -> LedgerEntry:
        """One entry more, bound to the one before it.

        It keeps the UTC day and no time: the seconds of the entries around an upload would tell how long it took, and
        that depends on the number of rows. `seq` gives the order. An entry that breaks a rule of the books would make
        the ledger invalid for good, so it is never written.
        """
        entry = LedgerEntry(
            seq=self.head.seq + 1,
            kind=kind,
            dataset=dataset,
            release=release,
            epsilon=epsilon,
            actor=actor,
            at=self.service.today(),
            detail=detail,
            previous=self.head.hash,
        ).sealed()
        reason = None if self.appended else self.replay.books.objection(entry)
        if reason is not None:
            raise LedgerBroken(Verification(self.head.seq, self.head, first_bad=entry.seq, reason=reason))
        row = entry.to_json()
        row["epsilon_nano"] = entry.epsilon.nano
        row["detail"] = canonical_json(entry.detail).decode()
        del row["epsilon"]
        self.tx.execute(insert(ledger).values(row))
        self.head = Head(seq=entry.seq, hash=entry.hash)
        self.appended.append(entry)
        return entry


_NO_WITNESS = (
    "The witness file cannot be read or written, so nothing is charged or published now. See that the disk of "
    "RUGNIK_WITNESS has room and that the service may write there."
)


@contextmanager
def _witness_needed() -> Iterator[None]:
    try:
        yield
    except (OSError, CannotStart):
        log.warning("witness_not_written")
        raise NotReady(_NO_WITNESS) from None


@contextmanager
def open_book(service: Service) -> Iterator[OpenBook]:
    """One transaction under the ledger's lock. Its head is beside the witness before the commit, and in place after."""
    with ExitStack() as held:
        move = None
        with service.database.transaction() as tx:
            book = OpenBook(tx, service)
            yield book
            if book.head != book.built_on:
                with _witness_needed():
                    move = held.enter_context(service.witness.moving_to(book.head))
        service.replay.extend(book.appended)
        try:
            if move is not None:
                move()
        except (OSError, CannotStart):
            # The entry is committed and true; /readyz fails, and so does the next append, until the witness moves.
            log.warning("witness_not_written", seq=book.head.seq)


def entry_of(row: Sequence[Any]) -> LedgerEntry:
    """A row as an entry, as it is stored; ValueError where the row is not one, which a service never writes."""
    stored = Stored.of(tuple(row))
    if stored is None:
        raise ValueError("The row is no entry.")
    return stored.entry


def entry_or_none(row: Row[Any]) -> LedgerEntry | None:
    """A row as an entry that matches its hash, or None where somebody made it into something else."""
    stored = Stored.of(tuple(row))
    return stored.entry if stored is not None and stored.own_hash == stored.entry.hash else None


def entries_until(service: Service, last: Head) -> Iterator[LedgerEntry]:
    """Every entry up to one, as it is stored, oldest first. Entries never change, so this is one consistent ledger.

    Each batch is a transaction of its own: whoever takes them at a slow pace holds no connection meanwhile.
    """
    after = 0
    while after < last.seq:
        query = select(ledger).where(ledger.c.seq > after, ledger.c.seq <= last.seq).order_by(ledger.c.seq).limit(1000)
        with service.database.read_only() as tx:
            batch = tx.execute(query).all()
        if not batch:
            return
        yield from map(entry_of, batch)
        after = batch[-1][0]


def page(
    tx: Connection, *, datasets: frozenset[str] | None, about_keys: bool, kind: Kind | None, after: int, limit: int
) -> list[LedgerEntry]:
    """Some entries after a number, oldest first, of the datasets named (None: all), with those about keys or not."""
    query = select(ledger).where(ledger.c.seq > after).order_by(ledger.c.seq).limit(limit)
    if datasets is not None:
        query = query.where(ledger.c.dataset.in_(datasets))
    if not about_keys:
        query = query.where(ledger.c.dataset.is_not(None))
    if kind is not None:
        query = query.where(ledger.c.kind == kind)
    return [_entry_shown(row) for row in tx.execute(query)]


def _entry_shown(row: Row[Any]) -> LedgerEntry:
    """A row as an entry that matches its hash; LedgerBroken where somebody changed it."""
    entry = entry_or_none(row)
    if entry is None:
        before = Head(seq=row.seq - 1, hash=str(row.previous))
        raise LedgerBroken(Verification(before.seq, before, first_bad=row.seq, reason="The entry was changed."))
    return entry


def holds(tx: Connection, witnessed: Head) -> bool:
    """Whether the ledger has the entry that the witness saw."""
    if witnessed == EMPTY:
        return True
    found = tx.execute(select(ledger.c.hash).where(ledger.c.seq == witnessed.seq)).scalar_one_or_none()
    return found == witnessed.hash


def agrees_with_witness(service: Service) -> bool:
    """Whether the ledger holds what the witness saw, and the witness can be brought up to date where it is behind.

    Only to a head that was verified: LedgerBroken where the entries after the last one do not hold.
    """
    try:
        witnessed = service.witness.head()
        with service.database.read_only() as tx:
            agrees = holds(tx, witnessed)
        if agrees:
            service.replay.refresh()
            service.witness.advance(service.replay.head)
    except (OSError, CannotStart):
        return False
    return agrees


def check_witness(service: Service) -> None:
    """At start-up: refuse a database that is older than, or other than, the one the witness saw."""
    witnessed = service.witness.head()
    with service.database.read_only() as tx:
        current = head(tx)
        if not holds(tx, witnessed):
            raise LedgerRewound(
                f"The ledger in the database is not the one this service kept before: the witness file "
                f"{service.witness.path} saw entry {witnessed.seq} with hash {witnessed.hash[:12]}…, and the database "
                f"ends at entry {current.seq}. An older copy of the database was probably restored, and epsilon spent "
                "since then would be forgotten. Restore the newest copy of the database, or point "
                "RUGNIK_DATABASE_URL or RUGNIK_DATA_DIR at the right one. If the newest entries are lost for good, no "
                "dataset in this database may be used again: start anew, with an empty data folder and a new witness."
            )
    walk_chain(service.replay)
    if witnessed == EMPTY and current != EMPTY:
        log.warning("witness_missing", path=str(service.witness.path), seq=current.seq)
    if service.witness.path.resolve().parent == service.database.folder:
        log.warning("witness_beside_database", path=str(service.witness.path))
    service.witness.advance(service.replay.head)


def walk_chain(replay: Replay) -> None:
    """At start-up: refuse a ledger with an entry that is not good."""
    try:
        replay.refresh()
    except LedgerBroken as error:
        raise CannotStart(
            f"The ledger in the database is not good from entry {error.outcome.first_bad} on: {error.outcome.reason} "
            "Somebody changed it. Put the newest good copy of the database in place."
        ) from None
