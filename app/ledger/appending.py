"""OpenBook: the ledger under its lock, where entries are appended.

The lock serialises appends in the whole service. The witness file is checked before the first append and moved after
the commit, so that a restored old database cannot reset a budget.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import structlog
from sqlalchemy import Connection, insert, select

from app.errors import CannotStart, DatasetClosed, LedgerBroken, NotReady, ReadOnly, ReleaseEnded
from app.ledger.book import Book
from app.ledger.entries import holds
from app.ledger.standing import Standing
from app.service import Service
from app.storage.tables import ledger, ledger_lock
from core.budget import NOTHING, Epsilon
from core.canonical import canonical_json
from core.ledger.accounts import ReleaseRecord
from core.ledger.chain import Verification
from core.ledger.entry import Head, LedgerEntry
from core.ledger.kinds import PRIVATE_TIMES, Kind

log = structlog.get_logger(__name__)

SALT_BYTES = 16


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
        """Raise NotReady where the ledger lacks the witnessed entry: an old copy was restored under a running service.

        The witness is moved after each commit and read here under the lock, so it is never ahead of this view. A
        witness that cannot be read refuses as well: what was spent may not be all that the database knows of.
        """
        with _witness_needed():
            agrees = holds(self.tx, self.replay, self.service.witness.seen())
        if not agrees:
            log.error("ledger_rewound")
            raise NotReady(
                "The ledger is not the one that the witness saw: an older database was probably restored. Nothing is "
                "charged or published until the newest copy is back; the service's log and its next start say more."
            )

    def _bring_witness_up_to_date(self) -> None:
        """Witness the last entry: a process that died after its commit left the witness at most one entry behind."""
        with _witness_needed():
            self.service.witness.advance(self.head.seq, self.service.checkpoint)

    def require_open(self, dataset: str) -> None:
        """Raise DatasetClosed for a closed dataset."""
        account = self.account(dataset)
        if account is not None and account.closed:
            raise DatasetClosed

    def record(self, release: str) -> ReleaseRecord:
        """A release that is known to have been ordered."""
        return self.replay.books.releases[release]

    def require_ordered(self, release: str) -> Standing:
        """The standing of an open order; ReleaseEnded where noise was drawn for it or it is void."""
        record = self.record(release)
        if record.last is not Kind.CHARGE:
            raise ended(record)
        return Standing.of(record)

    def append_draw(self, release: str, step: str | None, *, after: int, actor: str) -> LedgerEntry:
        """Record that noise is about to be drawn for one step, or for all that is left if `step` is None.

        `after` is the place of the step before it. ReleaseEnded where that is not the last one that was drawn, or the
        release waits for no step.
        """
        record = self.record(release)
        if record.last not in (Kind.CHARGE, Kind.STEP) or record.step != after:
            raise ended(record)
        detail = {} if step is None else {"step": step}
        return self.append(Kind.DRAW, dataset=record.account.name, release=release, actor=actor, detail=detail)

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
        """Append an entry, bound to the one before it by hash.

        It keeps the UTC day and no time: the seconds of the entries around an upload would tell how long it took, and
        that depends on the number of rows. `seq` gives the order. An entry that breaks a rule of the books would make
        the ledger invalid for good, so it is never written.

        The salt keeps whoever has the hash of an entry, from a proof about another one, from guessing what it says.
        """
        detail = {**detail, "salt": secrets.token_hex(SALT_BYTES)}
        if kind is Kind.CHARGE:
            detail |= self._balance_after(str(dataset), epsilon)
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
        self.tx.execute(insert(ledger).values(row_of(entry)))
        self.head = Head(seq=entry.seq, hash=entry.hash)
        self.appended.append(entry)
        return entry

    def _balance_after(self, dataset: str, charge: Epsilon) -> dict[str, str]:
        """What a dataset was granted and has spent once this charge is made, for who sees no other entry of it."""
        budget = self.budget(dataset)
        granted, spent = budget.granted.nano, budget.spent.nano + charge.nano
        for entry in self.appended:
            if entry.dataset == dataset:
                granted += entry.kind.description.granted_sign * entry.epsilon.nano
                spent += entry.kind.description.spent_sign * entry.epsilon.nano
        return {"granted": str(Epsilon(granted)), "spent": str(Epsilon(spent))}


def row_of(entry: LedgerEntry) -> dict[str, Any]:
    """An entry as the columns of its row."""
    row = entry.to_json()
    row["epsilon_nano"] = entry.epsilon.nano
    row["detail"] = canonical_json(entry.detail).decode()
    del row["epsilon"]
    return row


def ended(record: ReleaseRecord) -> ReleaseEnded:
    """The refusal of a release that does not wait for what was sent."""
    standing = Standing.of(record)
    return ReleaseEnded(state=standing.state, digest=standing.digest)


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
    """One transaction under the ledger's lock.

    Room for the new checkpoint is reserved beside the witness before the commit. It is signed after it.
    """
    if service.settings.read_only:
        raise ReadOnly
    with ExitStack() as held:
        move = None
        with service.database.transaction() as tx:
            book = OpenBook(tx, service)
            yield book
            if book.head != book.built_on:
                service.ticks.begin(tx, service.clock(), book.built_on.seq, appends=True)
                with _witness_needed():
                    move = held.enter_context(service.witness.moving())
        service.replay.extend(book.appended)
        try:
            if move is not None:
                move(service.checkpoint(book.head.seq))
        except (OSError, CannotStart):
            # The entry is committed and true; /readyz fails, and so does the next append, until the witness moves.
            log.warning("witness_not_written", seq=book.head.seq)
    if any(entry.kind not in PRIVATE_TIMES for entry in book.appended):  # a request at the others' time would tell it
        service.cosigner.wake(service)
