"""Datasets: register one with its first grant, raise its budget, close it for good, look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import select

from app.access.permissions import Permission
from app.access.principal import Principal
from app.access.quotas import require_room_for_dataset
from app.errors import BudgetTooLarge, NameTaken, NotAllowed, NotFound, NotReady
from app.ledger.appending import OpenBook, open_book
from app.ledger.book import Book, read_book
from app.ledger.standing import Standing
from app.service import Service
from app.storage.tables import datasets
from core.budget import Budget, Epsilon
from core.domain.domain import Domain
from core.errors import CoreError, InvalidEpsilon
from core.ledger.accounts import Account
from core.ledger.kinds import Kind, State


@dataclass(frozen=True, slots=True)
class Dataset:
    """A population: public schema, budget, and where its releases stand. Never its rows."""

    name: str
    description: str
    domain: Domain
    closed: bool
    budget: Budget
    releases: Mapping[str, Standing]


@dataclass(frozen=True, slots=True)
class Summary:
    """A population without its releases one by one: cheap, however many there are."""

    name: str
    description: str
    domain: Domain
    closed: bool
    budget: Budget
    drawn: Epsilon

    @property
    def ordered(self) -> Epsilon:
        """Epsilon of open orders: nothing was drawn for them, and a void gives it back."""
        return self.budget.spent - self.drawn


def register(
    service: Service, caller: Principal, *, name: str, description: str, domain: Domain, budget: Epsilon
) -> Dataset:
    """Register a population with its first grant. Its name is taken for ever."""
    if not caller.may_see(name):
        raise NotAllowed("This key is limited to other datasets.")
    with open_book(service) as book:
        if book.account(name) is not None:
            raise NameTaken
        require_room_for_dataset(book)
        detail = {"reason": "registration", "domain": domain.to_ledger(), "description": description}
        _grant(service, book, caller, dataset=name, epsilon=budget, detail=detail)
    return get(service, caller, name)


def grant(service: Service, caller: Principal, name: str, *, epsilon: Epsilon, reason: str) -> Dataset:
    """Raise a budget, on the record."""
    with open_book(service) as book:
        _account(book, caller, name)
        book.require_open(name)
        _grant(service, book, caller, dataset=name, epsilon=epsilon, detail={"reason": reason})
    return get(service, caller, name)


def close(service: Service, caller: Principal, name: str) -> Dataset:
    """Close a dataset for good: no more grants, orders or uploads."""
    with open_book(service) as book:
        _account(book, caller, name)
        book.require_open(name)
        book.append(Kind.CLOSE, dataset=name, actor=caller.actor, detail={})
    return get(service, caller, name)


def get(service: Service, caller: Principal, name: str) -> Dataset:
    """One dataset, as this caller may see it."""
    with read_book(service) as book:
        return load(book, caller, name)


def get_domain(service: Service, caller: Principal, name: str) -> Domain:
    """The public bounds of a dataset, without its releases."""
    with read_book(service) as book:
        return load_domain(book, caller, name)


def load_domain(book: Book, caller: Principal, name: str) -> Domain:
    """The same inside a transaction."""
    return domain_of(_account(book, caller, name))


def list_all(service: Service, caller: Principal, *, after: str = "", limit: int | None = None) -> list[Dataset]:
    """The datasets this caller may see, sorted by name: at most `limit` of them, after the name `after`."""
    with read_book(service) as book:
        names = (name for name in book.datasets() if name > after and caller.may_see(name))
        return [load(book, caller, name) for name in islice(names, limit)]


def summaries(book: Book, caller: Principal) -> list[Summary]:
    """Every dataset this caller may see, by name, without the releases."""
    return [summary(book, caller, name) for name in book.datasets() if caller.may_see(name)]


def summary(book: Book, caller: Principal, name: str) -> Summary:
    """One dataset without its releases."""
    account = _account(book, caller, name)
    with book.replay.reading():
        budget, drawn = account.budget, Epsilon(account.spent_on_drawn)
    return Summary(
        name=name,
        description=_description(book, account),
        domain=domain_of(account),
        closed=account.closed,
        budget=budget,
        drawn=drawn,
    )


def load(book: Book, caller: Principal, name: str) -> Dataset:
    """One dataset inside a transaction; NotFound where it is missing or out of this caller's reach."""
    account = _account(book, caller, name)
    standings = book.standings(name)
    if not caller.can(Permission.SEE_ORDERS):
        standings = {id_: standing for id_, standing in standings.items() if standing.state is State.PUBLISHED}
    return Dataset(
        name=name,
        description=_description(book, account),
        domain=domain_of(account),
        closed=account.closed,
        budget=book.budget(name),
        releases=standings,
    )


def domain_of(account: Account) -> Domain:
    """The public bounds as the registration put them on record, exactly."""
    try:
        return Domain.from_json(account.registration["domain"])
    except (CoreError, KeyError, TypeError, ValueError):
        raise NotReady(f"The first grant of dataset {account.name} holds no domain that can be read.") from None


def _account(book: Book, caller: Principal, name: str) -> Account:
    account = book.account(name)
    if account is None or not caller.may_see(name):
        raise NotFound("There is no dataset of this name.")
    return account


def _description(book: Book, account: Account) -> str:
    """The description: in the first grant since version 0.2; older datasets have it in a table."""
    if "description" in account.registration:
        return str(account.registration["description"])
    query = select(datasets.c.description).where(datasets.c.name == account.name)
    return book.tx.execute(query).scalar_one_or_none() or ""


def _grant(
    service: Service,
    book: OpenBook,
    caller: Principal,
    *,
    dataset: str,
    epsilon: Epsilon,
    detail: Mapping[str, object],
) -> None:
    if not epsilon:
        raise InvalidEpsilon("A grant is above 0.")
    cap = service.settings.budget_cap
    if book.budget(dataset).granted + epsilon > cap:
        raise BudgetTooLarge(limit=cap)
    book.append(Kind.GRANT, dataset=dataset, actor=caller.actor, epsilon=epsilon, detail=detail)
