"""Requests: orders, grants, voids and rules that wait for a second person, as they are on record.

`ask` appends one in place of the entry that it asks for. `app.releases.deciding` approves and refuses.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from app.access.permissions import Permission
from app.access.principal import Principal
from app.access.quotas import require_room_for_request
from app.errors import NotAuthenticated, NotFound
from app.ledger.appending import OpenBook
from app.ledger.book import Book, read_book
from app.service import Service
from core.budget import NOTHING, Epsilon
from core.ledger.accounts import RequestRecord, RequestState
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind
from core.ledger.two_persons import ENVIRONMENT_KEY, key_id_of, needs_two

SHOWN = 50  # requests on a page; each is read from the ledger

# What a caller needs beside DECIDE, by the kind of entry: who may approve is who could have asked.
_PERMISSIONS: Mapping[Kind, Permission] = {
    Kind.CHARGE: Permission.CURATE,
    Kind.VOID: Permission.CURATE,
    Kind.GRANT: Permission.GRANT,
    Kind.RULE: Permission.DECIDE,
}


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for, by whom, and how it was decided. `entry` and `decision` are the entries on record."""

    kind: Kind
    release: str | None
    epsilon: Epsilon
    terms: Mapping[str, Any]
    entry: LedgerEntry
    state: RequestState = RequestState.WAITING
    decision: LedgerEntry | None = None

    @property
    def id(self) -> str:
        """How people name it."""
        return f"q{self.entry.seq}"

    @property
    def dataset(self) -> str:
        """Whose request it is."""
        return str(self.entry.dataset)

    @property
    def refusal(self) -> str | None:
        """Why it was refused, where somebody said so."""
        is_refused = self.decision is not None and self.decision.kind is Kind.REFUSE
        return (str(self.decision.detail.get("reason", "")) or None) if self.decision and is_refused else None

    def is_own(self, caller: Principal) -> bool:
        """Whether this caller's key made it. Names do not count."""
        return key_id_of(self.entry.actor) == caller.id

    def can_decide(self, caller: Principal) -> bool:
        """Whether this caller could have asked for it, and so may decide it."""
        return caller.can(Permission.DECIDE) and caller.can(_PERMISSIONS[self.kind])

    def require_decider(self, caller: Principal) -> None:
        """Raise NotAllowed where this caller may not decide it."""
        caller.require(Permission.DECIDE)
        caller.require(_PERMISSIONS[self.kind])


@dataclass(frozen=True, slots=True)
class Waiting:
    """The oldest requests that wait for a second person, and how many more there are."""

    requests: tuple[Request, ...] = ()
    more: int = 0


def needs_second_person(book: Book, dataset: str, epsilon: Epsilon) -> bool:
    """Whether an order, a grant or a void of so much epsilon takes two persons in this dataset."""
    account = book.account(dataset)
    return account is not None and needs_two(account.above, epsilon.nano)


def ask(
    book: OpenBook,
    caller: Principal,
    kind: Kind,
    *,
    dataset: str,
    release: str | None = None,
    epsilon: Epsilon = NOTHING,
    terms: Mapping[str, Any],
) -> Request:
    """Append a request for an entry of this kind. It spends nothing."""
    require_in_use(book, caller)
    require_room_for_request(book, dataset)
    detail = {"kind": kind.value, "release": release, "epsilon": str(epsilon), "terms": dict(terms)}
    entry = book.append(Kind.REQUEST, dataset=dataset, actor=caller.actor, detail=detail)
    return _of_entry(entry)


def require_in_use(book: Book, caller: Principal) -> None:
    """Raise NotAuthenticated for a key that another process revoked a moment ago: the ledger takes no such actor."""
    key = book.replay.books.keys.get(caller.id)
    if caller.id != ENVIRONMENT_KEY and (key is None or key.revoked is not None):
        raise NotAuthenticated


def asked_for_release(book: Book, release: str) -> Request | None:
    """The request for an order of this id, whether it waits or was decided."""
    record = book.replay.books.requested_releases.get(release)
    return None if record is None else request_of(book, record)


def asked_to_void(book: Book, release: str) -> Request | None:
    """The request that waits to void this release, which was ordered."""
    with book.replay.reading() as books:
        candidates = list(books.releases[release].account.waiting.values())
    asked = (each for each in candidates if each.kind is Kind.VOID and each.release == release)
    return next((request_of(book, each) for each in asked), None)


def get(service: Service, caller: Principal, request_id: str) -> Request:
    """A request; NotFound where it is missing or out of this caller's reach."""
    with read_book(service) as book:
        return load(book, caller, request_id)


def load(book: Book, caller: Principal, request_id: str) -> Request:
    """The same inside a transaction."""
    record = book.replay.books.requests.get(request_id)
    if record is None or not caller.may_see(record.account.name):
        raise NotFound("There is no request of this id.")
    return request_of(book, record)


def list_all(
    service: Service,
    caller: Principal,
    *,
    dataset: str | None = None,
    state: RequestState | None = None,
    after: int = 0,
    limit: int,
) -> list[Request]:
    """At most `limit` requests after an entry's number, oldest first, of one dataset or of all that the caller sees."""
    with read_book(service) as book:
        records = _records(book, caller, dataset, after)
        chosen = (record for record in records if state is None or record.state is state)
        return [request_of(book, record) for record in islice(chosen, limit)]


def waiting(book: Book, caller: Principal, dataset: str | None = None, *, limit: int = SHOWN) -> Waiting:
    """What waits for a second person, oldest first, of one dataset or of all that the caller sees."""
    with book.replay.reading() as books:
        accounts = [account for name, account in books.accounts.items() if dataset in (None, name)]
        records = [record for each in accounts if caller.may_see(each.name) for record in each.waiting.values()]
    records.sort(key=lambda record: record.seq)
    shown = tuple(request_of(book, record) for record in records[:limit])
    return Waiting(shown, more=len(records) - len(shown))


def request_of(book: Book, record: RequestRecord) -> Request:
    """A request with its terms, read again by its hash."""
    decision = None
    if record.decided_seq is not None and record.decided_hash is not None:
        decision = book.entry(record.decided_seq, record.decided_hash)
    return _of_entry(book.entry(record.seq, record.hash), record.state, decision)


def _of_entry(
    entry: LedgerEntry, state: RequestState = RequestState.WAITING, decision: LedgerEntry | None = None
) -> Request:
    detail = entry.detail
    return Request(
        kind=Kind(detail["kind"]),
        release=detail["release"],
        epsilon=Epsilon.parse(detail["epsilon"]),
        terms=detail["terms"],
        entry=entry,
        state=state,
        decision=decision,
    )


def _records(book: Book, caller: Principal, dataset: str | None, after: int) -> Iterator[RequestRecord]:
    if dataset is not None:
        account = book.account(dataset)
        if account is None or not caller.may_see(dataset):
            raise NotFound("There is no dataset of this name.")
        listed = account.requests
    else:
        with book.replay.reading() as books:
            listed = list(books.requests.values())
    for place in range(bisect_right(listed, after, key=lambda record: record.seq), len(listed)):
        if caller.may_see(listed[place].account.name):
            yield listed[place]
