"""Datasets: register one with its first grant, raise its budget, close it for good, look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import select

from app.access.permissions import Permission
from app.access.principal import Principal
from app.access.quotas import require_room_for_dataset
from app.cards.about import about_of
from app.errors import BudgetTooLarge, NameTaken, NotAllowed, NotFound, NotReady
from app.ledger.appending import OpenBook, open_book
from app.ledger.book import Book, read_book
from app.ledger.standing import Standing, Stretch
from app.releases import requests
from app.releases.requests import Request
from app.service import Service
from app.storage.tables import datasets
from core.budget import Budget, Epsilon
from core.domain.domain import Domain
from core.errors import CoreError, InvalidDomain, InvalidEpsilon
from core.ledger.accounts import Account
from core.ledger.kinds import Kind, State
from core.unit import RECORD, Unit

LISTED = 100  # releases that a dataset is shown with; `list_releases` has all


@dataclass(frozen=True, slots=True)
class Schema:
    """What a dataset declares for life: its public attributes, and the unit whose presence it protects."""

    domain: Domain
    unit: Unit = RECORD

    def __post_init__(self) -> None:
        if self.unit.column in self.domain.names:
            raise InvalidDomain("The column of persons' ids is not released, so it cannot be an attribute as well.")


@dataclass(frozen=True, slots=True)
class Dataset:
    """A population: public schema, budget, and where its newest releases stand. Never its rows.

    `releases` has at most LISTED of them, oldest order first; `earlier` is the number of those before them.
    `last_published` is the release that was published last, with its standing, where it is not the last published one
    of `releases`: orders may be published in another order than they were placed in.
    `two_persons_above` is the epsilon above which it takes two persons; None where it has no such rule.
    """

    name: str
    description: str
    domain: Domain
    unit: Unit
    closed: bool
    budget: Budget
    releases: Mapping[str, Standing]
    earlier: int
    last_published: tuple[str, Standing] | None
    two_persons_above: Epsilon | None
    about: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Summary:
    """A population without its releases one by one: cheap, however many there are."""

    name: str
    description: str
    domain: Domain
    unit: Unit
    closed: bool
    budget: Budget
    drawn: Epsilon
    two_persons_above: Epsilon | None

    @property
    def ordered(self) -> Epsilon:
        """Epsilon of open orders: nothing was drawn for them, and a void gives it back."""
        return self.budget.spent - self.drawn


def register(
    service: Service,
    caller: Principal,
    *,
    name: str,
    description: str,
    domain: Domain,
    budget: Epsilon,
    unit: Unit = RECORD,
    two_persons_above: Epsilon | None = None,
    about: Mapping[str, str] | None = None,
) -> Dataset:
    """Register a population with its first grant. Its name is taken for ever, and its unit is fixed.

    `two_persons_above` sets its two-person rule at once, so that nothing is ordered before the rule holds. `about` are
    texts for the card of its releases (`app.cards.about`). They are on record where there are any.
    """
    schema = Schema(domain, unit)
    if not caller.may_see(name):
        raise NotAllowed("This key is limited to other datasets.")
    with open_book(service) as book:
        if book.account(name) is not None:
            raise NameTaken
        require_room_for_dataset(book)
        detail = {
            "reason": "registration",
            "domain": schema.domain.to_ledger(),
            "unit": schema.unit.to_json(),
            "description": description,
            **({"about": dict(about)} if about else {}),
        }
        require_grantable(service, book, name, budget)
        book.append(Kind.GRANT, dataset=name, actor=caller.actor, epsilon=budget, detail=detail)
        if two_persons_above is not None:
            book.append(Kind.RULE, dataset=name, actor=caller.actor, detail={"above": str(two_persons_above)})
    return get(service, caller, name)


def grant(service: Service, caller: Principal, name: str, *, epsilon: Epsilon, reason: str) -> Dataset | Request:
    """Raise a budget, on the record; a request, where that takes a second person."""
    detail = {"reason": reason}
    with open_book(service) as book:
        find_account(book, caller, name)
        book.require_open(name)
        require_grantable(service, book, name, epsilon)
        if requests.needs_second_person(book, name, epsilon):
            return requests.ask(book, caller, Kind.GRANT, dataset=name, epsilon=epsilon, terms=detail)
        book.append(Kind.GRANT, dataset=name, actor=caller.actor, epsilon=epsilon, detail=detail)
    return get(service, caller, name)


def close(service: Service, caller: Principal, name: str) -> Dataset:
    """Close a dataset for good: no more grants, orders or uploads."""
    with open_book(service) as book:
        find_account(book, caller, name)
        book.require_open(name)
        book.append(Kind.CLOSE, dataset=name, actor=caller.actor, detail={})
    return get(service, caller, name)


def get(service: Service, caller: Principal, name: str) -> Dataset:
    """One dataset, as this caller may see it."""
    with read_book(service) as book:
        return load(book, caller, name)


def get_schema(service: Service, caller: Principal, name: str) -> Schema:
    """The public attributes and the unit of a dataset, without its releases."""
    with read_book(service) as book:
        return load_schema(book, caller, name)


def load_schema(book: Book, caller: Principal, name: str) -> Schema:
    """The same inside a transaction."""
    return schema_of(find_account(book, caller, name))


def list_all(service: Service, caller: Principal, *, after: str = "", limit: int | None = None) -> list[Dataset]:
    """The datasets this caller may see, sorted by name: at most `limit` of them, after the name `after`."""
    with read_book(service) as book:
        names = (name for name in book.datasets() if name > after and caller.may_see(name))
        return [load(book, caller, name) for name in islice(names, limit)]


def list_releases(service: Service, caller: Principal, name: str, *, after: int, limit: int) -> Stretch:
    """At most `limit` releases of a dataset, after the first `after` of them.

    In the order of their charges. A caller who sees no orders has the published ones, in the order of publication.
    Neither order ever changes, so pages that follow each other have each release once.
    """
    with read_book(service) as book:
        find_account(book, caller, name)
        return book.releases(name, kind_shown(caller), slice(after, after + limit))


def summaries(book: Book, caller: Principal) -> list[Summary]:
    """Every dataset this caller may see, by name, without the releases."""
    return [summary(book, caller, name) for name in book.datasets() if caller.may_see(name)]


def summary(book: Book, caller: Principal, name: str) -> Summary:
    """One dataset without its releases."""
    account = find_account(book, caller, name)
    with book.replay.reading():
        budget, drawn = account.budget, Epsilon(account.spent_on_drawn)
    schema = schema_of(account)
    return Summary(
        name=name,
        description=_description(book, account),
        domain=schema.domain,
        unit=schema.unit,
        closed=account.closed,
        budget=budget,
        drawn=drawn,
        two_persons_above=_rule_of(account),
    )


def load(book: Book, caller: Principal, name: str) -> Dataset:
    """One dataset inside a transaction; NotFound where it is missing or out of this caller's reach."""
    account = find_account(book, caller, name)
    newest = book.releases(name, kind_shown(caller), slice(-LISTED, None))
    published = book.releases(name, Kind.PUBLISH, slice(-1, None)).standings
    releases = dict(sorted(newest.standings.items(), key=lambda release: release[1].seq))
    listed = [name for name, standing in releases.items() if standing.state is State.PUBLISHED]
    schema = schema_of(account)
    return Dataset(
        name=name,
        description=_description(book, account),
        domain=schema.domain,
        unit=schema.unit,
        closed=account.closed,
        budget=book.budget(name),
        releases=releases,
        earlier=newest.before,
        last_published=next((each for each in published.items() if each[0] not in listed[-1:]), None),
        two_persons_above=_rule_of(account),
        about=about_of(account.registration),
    )


def schema_of(account: Account) -> Schema:
    """Attributes and unit as the registration put them on record, exactly. Version 0.1 wrote no unit: a record."""
    registration = account.registration
    try:
        return Schema(Domain.from_json(registration["domain"]), Unit.from_json(registration.get("unit")))
    except (CoreError, KeyError, TypeError, ValueError):
        raise NotReady(f"The first grant of dataset {account.name} holds no schema that can be read.") from None


def kind_shown(caller: Principal) -> Kind:
    """The kind of entry by which a release comes to be shown to a caller."""
    return Kind.CHARGE if caller.can(Permission.SEE_ORDERS) else Kind.PUBLISH


def find_account(book: Book, caller: Principal, name: str) -> Account:
    """A dataset's account; NotFound where it is missing or out of this caller's reach."""
    account = book.account(name)
    if account is None or not caller.may_see(name):
        raise NotFound("There is no dataset of this name.")
    return account


def _rule_of(account: Account) -> Epsilon | None:
    return None if account.above is None else Epsilon(account.above)


def _description(book: Book, account: Account) -> str:
    """The description: in the first grant since version 0.2; older datasets have it in a table."""
    if "description" in account.registration:
        return str(account.registration["description"])
    query = select(datasets.c.description).where(datasets.c.name == account.name)
    return book.tx.execute(query).scalar_one_or_none() or ""


def require_grantable(service: Service, book: OpenBook, dataset: str, epsilon: Epsilon) -> None:
    """Refuse a grant of nothing, and one beyond RUGNIK_MAX_BUDGET."""
    if not epsilon:
        raise InvalidEpsilon("A grant is above 0.")
    cap = service.settings.budget_cap
    if book.budget(dataset).granted + epsilon > cap:
        raise BudgetTooLarge(limit=cap)
