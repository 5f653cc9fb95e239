"""Datasets: register one with its first grant, raise its budget, close it for good, look at it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, insert, select

from app import ledger
from app.auth import Principal, Role
from app.errors import BudgetTooLarge, NameTaken, NotAllowed, NotFound
from app.ledger import OpenBook, Standing, State, open_book
from app.service import Service
from app.tables import datasets
from core.budget import Budget, Epsilon
from core.canonical import canonical_json
from core.chain import Kind
from core.domain import Attribute, Domain
from core.errors import InvalidEpsilon


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
    published: Epsilon

    @property
    def ordered(self) -> Epsilon:
        """Epsilon that is charged for orders whose rows have not come yet."""
        return self.budget.spent - self.published


def register(
    service: Service, caller: Principal, *, name: str, description: str, domain: Domain, budget: Epsilon
) -> Dataset:
    """A new population with its first grant. A name is taken for ever."""
    if not caller.may_see(name):
        raise NotAllowed("This key is limited to other datasets.")
    with open_book(service) as book:
        if book.tx.execute(select(datasets.c.name).where(datasets.c.name == name)).first() is not None:
            raise NameTaken
        book.tx.execute(insert(datasets).values(name=name, description=description, domain=_domain_text(domain)))
        # Bounds as text: the ledger holds no floats, so that any language can check its hashes.
        bounds = [[a.name, repr(a.lower), repr(a.upper)] for a in domain.attributes]
        _grant(service, book, caller, dataset=name, epsilon=budget, detail={"reason": "registration", "domain": bounds})
        return load(book.tx, caller, name)


def grant(service: Service, caller: Principal, name: str, *, epsilon: Epsilon, reason: str) -> Dataset:
    """Raise a budget, on the record."""
    with open_book(service) as book:
        load(book.tx, caller, name)
        book.require_open(name)
        _grant(service, book, caller, dataset=name, epsilon=epsilon, detail={"reason": reason})
        return load(book.tx, caller, name)


def close(service: Service, caller: Principal, name: str) -> Dataset:
    """No more grants, orders or uploads, ever."""
    with open_book(service) as book:
        load(book.tx, caller, name)
        book.require_open(name)
        book.append(Kind.CLOSE, dataset=name, actor=caller.actor, detail={})
        return load(book.tx, caller, name)


def get(service: Service, caller: Principal, name: str) -> Dataset:
    """One dataset, as this caller may see it."""
    with service.database.read_only() as tx:
        return load(tx, caller, name)


def list_all(service: Service, caller: Principal) -> list[Dataset]:
    """Every dataset this caller may see, by name."""
    with service.database.read_only() as tx:
        names = tx.execute(select(datasets.c.name).order_by(datasets.c.name)).scalars()
        return [load(tx, caller, name) for name in names if caller.may_see(name)]


def summaries(tx: Connection, caller: Principal) -> list[Summary]:
    """Every dataset this caller may see, by name, without the releases."""
    rows = tx.execute(select(datasets).order_by(datasets.c.name)).mappings()
    return [_summary(tx, row) for row in rows if caller.may_see(row["name"])]


def summary(tx: Connection, caller: Principal, name: str) -> Summary:
    """One dataset without its releases."""
    return _summary(tx, _row(tx, caller, name))


def load(tx: Connection, caller: Principal, name: str) -> Dataset:
    """One dataset inside a transaction; NotFound where it is missing or none of this caller's business."""
    row = _row(tx, caller, name)
    standings = ledger.standings(tx, name)
    if caller.role is Role.ANALYST:
        standings = {release: found for release, found in standings.items() if found.state is State.PUBLISHED}
    return Dataset(
        name=name,
        description=row["description"],
        domain=_domain_of(row),
        closed=ledger.is_closed(tx, name),
        budget=ledger.budget(tx, name),
        releases=standings,
    )


def _row(tx: Connection, caller: Principal, name: str) -> RowMapping:
    row = tx.execute(select(datasets).where(datasets.c.name == name)).mappings().first()
    if row is None or not caller.may_see(name):
        raise NotFound("There is no dataset of this name.")
    return row


def _summary(tx: Connection, row: RowMapping) -> Summary:
    name = row["name"]
    return Summary(
        name=name,
        description=row["description"],
        domain=_domain_of(row),
        closed=ledger.is_closed(tx, name),
        budget=ledger.budget(tx, name),
        published=ledger.published_epsilon(tx, name),
    )


def _domain_of(row: RowMapping) -> Domain:
    return Domain(tuple(Attribute(*attribute) for attribute in json.loads(row["domain"])))


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
    if ledger.budget(book.tx, dataset).granted + epsilon > cap:
        raise BudgetTooLarge(limit=cap)
    book.append(Kind.GRANT, dataset=dataset, actor=caller.actor, epsilon=epsilon, detail=detail)


def _domain_text(domain: Domain) -> str:
    return canonical_json([[a.name, a.lower, a.upper] for a in domain.attributes]).decode()
