"""The epsilon ledger: append under a lock, balances as sums over entries, verification, and the check at start-up."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Connection, RowMapping, case, func, insert, select

from app.errors import CannotStart, DatasetClosed, LedgerRewound, NotReady, ReleaseEnded
from app.service import Service
from app.tables import ledger, ledger_lock
from core.budget import NOTHING, Budget, Epsilon
from core.canonical import canonical_json
from core.chain import EMPTY, Head, Kind, LedgerEntry, Verification, verify, walk
from core.errors import CoreError

log = structlog.get_logger(__name__)

_BATCH = 1000


class State(StrEnum):
    """Where a release stands, as its last ledger entry tells."""

    ORDERED = "ordered"
    PUBLISHED = "published"
    VOID = "void"


_STATES = {Kind.CHARGE: State.ORDERED, Kind.PUBLISH: State.PUBLISHED, Kind.VOID: State.VOID}


@dataclass(frozen=True, slots=True)
class Standing:
    """A release's state, its charge, and the digest of its synopsis once there is one."""

    state: State
    charge: LedgerEntry
    digest: str | None


def entry_of(row: RowMapping) -> LedgerEntry:
    """A stored row as an entry; ValueError where the row is not one, which a service never writes."""
    detail = json.loads(row["detail"])
    if canonical_json(detail).decode() != row["detail"]:
        raise ValueError("detail is not canonical")
    return LedgerEntry(
        seq=row["seq"],
        kind=Kind(row["kind"]),
        dataset=row["dataset"],
        release=row["release"],
        epsilon=Epsilon(row["epsilon_nano"]),
        actor=row["actor"],
        at=row["at"],
        detail=detail,
        previous=row["previous"],
        hash=row["hash"],
    )


def head(tx: Connection) -> Head:
    """The last entry's number and hash."""
    row = tx.execute(select(ledger.c.seq, ledger.c.hash).order_by(ledger.c.seq.desc()).limit(1)).first()
    return Head(seq=row.seq, hash=row.hash) if row else EMPTY


def newest_time(tx: Connection) -> str | None:
    """When the last entry was made that has a time and not only a day."""
    query = select(ledger.c.at).where(ledger.c.kind != Kind.PUBLISH).order_by(ledger.c.seq.desc()).limit(1)
    return tx.execute(query).scalar_one_or_none()


def budget(tx: Connection, dataset: str, *, before: int | None = None) -> Budget:
    """Grants minus charges plus voids: a sum over the ledger, stored nowhere; of the entries before a number only."""

    def total(*kinds: Kind) -> Any:
        return func.coalesce(func.sum(case((ledger.c.kind.in_(kinds), ledger.c.epsilon_nano), else_=0)), 0)

    query = select(total(Kind.GRANT), total(Kind.CHARGE), total(Kind.VOID)).where(ledger.c.dataset == dataset)
    if before is not None:
        query = query.where(ledger.c.seq < before)
    row = tx.execute(query).one()
    granted, charged, voided = (int(value) for value in row)
    return Budget(granted=Epsilon(granted), spent=Epsilon(charged - voided))


def is_closed(tx: Connection, dataset: str) -> bool:
    """Whether the dataset has a `close` entry."""
    closing = select(ledger.c.seq).where(ledger.c.dataset == dataset, ledger.c.kind == Kind.CLOSE)
    return tx.execute(closing.limit(1)).first() is not None


def standing(tx: Connection, release: str) -> Standing:
    """Where a release stands; every release has a charge."""
    rows = tx.execute(select(ledger).where(ledger.c.release == release).order_by(ledger.c.seq)).mappings().all()
    entries = [entry_of(row) for row in rows]
    last = entries[-1]
    return Standing(state=_STATES[last.kind], charge=entries[0], digest=last.detail.get("digest"))


def standings(tx: Connection, dataset: str) -> dict[str, Standing]:
    """The standing of every release of a dataset, oldest order first."""
    return _standings(tx, (ledger.c.dataset == dataset) & ledger.c.release.is_not(None))


def newest_standings(tx: Connection, dataset: str, kind: Kind, *, limit: int) -> dict[str, Standing]:
    """The standing of the releases that were charged, or published, last; oldest order first."""
    of_kind = select(ledger.c.release).where(ledger.c.dataset == dataset, ledger.c.kind == kind)
    names = tx.execute(of_kind.order_by(ledger.c.seq.desc()).limit(limit)).scalars().all()
    return _standings(tx, ledger.c.release.in_(names))


def _standings(tx: Connection, condition: ColumnElement[bool]) -> dict[str, Standing]:
    found: dict[str, Standing] = {}
    for entry in map(entry_of, tx.execute(select(ledger).where(condition).order_by(ledger.c.seq)).mappings()):
        release = entry.release or ""
        charge = found[release].charge if release in found else entry
        found[release] = Standing(state=_STATES[entry.kind], charge=charge, digest=entry.detail.get("digest"))
    return found


def published_epsilon(tx: Connection, dataset: str) -> Epsilon:
    """What the published releases of a dataset cost; the rest of what is spent lies in open orders."""
    published = select(ledger.c.release).where(ledger.c.dataset == dataset, ledger.c.kind == Kind.PUBLISH)
    charges = select(func.coalesce(func.sum(ledger.c.epsilon_nano), 0)).where(
        ledger.c.dataset == dataset, ledger.c.kind == Kind.CHARGE, ledger.c.release.in_(published)
    )
    return Epsilon(int(tx.execute(charges).scalar_one()))


class OpenBook:
    """The ledger while this transaction holds its lock: nobody else can append or change a balance."""

    def __init__(self, tx: Connection, service: Service) -> None:
        self.tx = tx
        self._service = service
        # PostgreSQL: the row lock serialises appends. SQLite ignores FOR UPDATE; BEGIN IMMEDIATE has the file locked.
        tx.execute(select(ledger_lock.c.id).with_for_update())
        self._require_witnessed()
        self.head = head(tx)

    def _require_witnessed(self) -> None:
        """Refuse to go on from a ledger that is not the witnessed one: an old copy restored under a running service.

        The witness is written after each commit and read here under the lock, so it is never ahead of this view. A
        witness that cannot be read refuses as well: what was spent may not be all that the database knows of.
        """
        try:
            known = holds(self.tx, self._service.witness.head())
        except (OSError, CannotStart):
            log.warning("witness_not_read")
            raise NotReady("The witness file cannot be read, so nothing is charged or published now.") from None
        if not known:
            log.error("ledger_rewound")
            raise NotReady(
                "The ledger is not the one that the witness saw: an older database was probably restored. Nothing is "
                "charged or published until the newest copy is back; the service's log and its next start say more."
            )

    def require_open(self, dataset: str) -> None:
        """Refuse a closed dataset."""
        if is_closed(self.tx, dataset):
            raise DatasetClosed

    def require_ordered(self, release: str) -> Standing:
        """Refuse a release that is published or void."""
        found = standing(self.tx, release)
        if found.state is not State.ORDERED:
            raise ReleaseEnded(state=found.state, digest=found.digest)
        return found

    def append(
        self,
        kind: Kind,
        *,
        dataset: str,
        actor: str,
        release: str | None = None,
        epsilon: Epsilon = NOTHING,
        detail: Mapping[str, Any],
    ) -> LedgerEntry:
        """One entry more, bound to the one before it. A `publish` keeps the day only: uploads take time by size."""
        now = self._service.timestamp()
        entry = LedgerEntry(
            seq=self.head.seq + 1,
            kind=kind,
            dataset=dataset,
            release=release,
            epsilon=epsilon,
            actor=actor,
            at=now[:10] if kind is Kind.PUBLISH else now,
            detail=detail,
            previous=self.head.hash,
        ).sealed()
        row = entry.to_json()
        row["epsilon_nano"] = entry.epsilon.nano
        row["detail"] = canonical_json(entry.detail).decode()
        del row["epsilon"]
        self.tx.execute(insert(ledger).values(row))
        self.head = Head(seq=entry.seq, hash=entry.hash)
        return entry


@contextmanager
def open_book(service: Service) -> Iterator[OpenBook]:
    """One transaction under the ledger's lock; once it is committed the witness sees the new head."""
    with service.database.transaction() as tx:
        book = OpenBook(tx, service)
        yield book
    try:
        service.witness.advance(book.head)
    except (OSError, CannotStart):
        # The entry is committed and true; /readyz fails until the witness can be written again.
        log.warning("witness_not_written", seq=book.head.seq)


def _rows(tx: Connection) -> Iterator[RowMapping]:
    """Every row of the ledger, oldest first, without holding them all."""
    after = 0
    while (
        rows := tx.execute(select(ledger).where(ledger.c.seq > after).order_by(ledger.c.seq).limit(_BATCH))
        .mappings()
        .all()
    ):
        yield from rows
        after = rows[-1]["seq"]


def entries(tx: Connection) -> Iterator[LedgerEntry]:
    """Every entry, oldest first, without holding them all."""
    return map(entry_of, _rows(tx))


def entry_or_none(row: RowMapping) -> LedgerEntry | None:
    """A stored row as an entry, or None where somebody made it into something else."""
    try:
        entry = entry_of(row)
        entry.entry_hash()
    except (CoreError, TypeError, ValueError):
        return None
    return entry


def page(
    tx: Connection, *, datasets: frozenset[str] | None, kind: Kind | None, after: int, limit: int
) -> list[LedgerEntry]:
    """Some entries after a number, oldest first, of the datasets named (None: all)."""
    query = select(ledger).where(ledger.c.seq > after).order_by(ledger.c.seq).limit(limit)
    if datasets is not None:
        query = query.where(ledger.c.dataset.in_(datasets))
    if kind is not None:
        query = query.where(ledger.c.kind == kind)
    return [entry_of(row) for row in tx.execute(query).mappings()]


def verify_entries(tx: Connection) -> Verification:
    """Walk the whole chain as it is stored."""
    return verify(map(entry_or_none, _rows(tx)))


def verify_all(service: Service) -> Verification:
    """Walk the whole chain, then compare it with the witness."""
    return deque(verify_steps(service, every=None), maxlen=1).pop()


def verify_steps(service: Service, *, every: int | None) -> Iterator[Verification]:
    """The same, telling how far it got after each `every` entries; the last step is the outcome."""
    with service.database.read_only() as tx:
        # The witness is read first: entries that are committed meanwhile only make the ledger longer.
        witnessed = service.witness.head()
        last = None
        for step in walk(map(entry_or_none, _rows(tx)), every=every):
            if last is not None:
                yield last
            last = step
        assert last is not None  # noqa: S101 - a walk ends with its outcome
        if last.valid and not holds(tx, witnessed):
            reason = "The ledger does not hold the entry that the witness file saw."
            last = Verification(entries=last.entries, head=last.head, first_bad=witnessed.seq, reason=reason)
    yield last


def holds(tx: Connection, witnessed: Head) -> bool:
    """Whether the ledger has the entry that the witness saw."""
    if witnessed == EMPTY:
        return True
    found = tx.execute(select(ledger.c.hash).where(ledger.c.seq == witnessed.seq)).scalar_one_or_none()
    return found == witnessed.hash


def agrees_with_witness(service: Service) -> bool:
    """Whether the ledger holds what the witness saw, and the witness can be brought up to date where it is behind."""
    try:
        witnessed = service.witness.head()
        with service.database.read_only() as tx:
            current, agrees = head(tx), holds(tx, witnessed)
        if agrees:
            service.witness.advance(current)
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
    if witnessed == EMPTY and current != EMPTY:
        log.warning("witness_missing", path=str(service.witness.path), seq=current.seq)
    if service.witness.path.resolve().parent == service.database.folder:
        log.warning("witness_beside_database", path=str(service.witness.path))
    service.witness.advance(current)
