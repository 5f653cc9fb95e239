"""Ledgers to examine: filled through the use cases, and opened behind the triggers' back."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, insert, select, text

from app.access.permissions import Role
from app.access.principal import Principal
from app.ingest.formats import MediaType
from app.ledger.appending import open_book
from app.ledger.entries import entry_of
from app.releases import datasets, ordering, uploading
from app.releases.orders import ReleaseOrder
from app.service import Service
from app.storage import tables
from core.budget import Epsilon
from core.canonical import canonical_json
from core.domain.domain import Domain
from core.domain.number import Number
from core.ledger.books import Books
from core.ledger.entry import GENESIS, Head, LedgerEntry
from core.ledger.kinds import Kind
from core.plan import DeclaredSize, Rule
from core.records import OutOfRange

CURATOR = Principal(id="k1", name="curator", role=Role.CURATOR, datasets=None)
ADMIN = Principal(id="k0", name="admin", role=Role.ADMIN, datasets=None)
DOMAIN = Domain((Number("age", 0, 100), Number("income", 0, 1000)))
_AT_ONCE = 1000  # orders in one transaction
ROWS = b"age,income\n" + b"30,400\n" * 20


def an_order(epsilon: str = "0.1") -> ReleaseOrder:
    """A small order with a declared size."""
    return ReleaseOrder(
        attributes=DOMAIN.names,
        epsilon=Epsilon.parse(epsilon),
        clusters=2,
        size=DeclaredSize(20),
        rule=Rule.RUGNIK,
        out_of_range=OutOfRange.CLIP,
    )


def filled_ledger(service: Service, *, orders: int) -> None:
    """Every kind of entry: two grants, `orders` charges with a publish or void each, charges left open, a close."""
    budget = Epsilon.parse("9")
    for name in ("a", "b"):
        datasets.register(service, CURATOR, name=name, description="", domain=DOMAIN, budget=budget)
        datasets.grant(service, ADMIN, name, epsilon=Epsilon.parse("0.5"), reason="more")
    for number in range(orders):
        for name in ("a", "b"):
            release = ordering.order(service, CURATOR, name, an_order("0.001"), idempotency_key=None)
            if number % 3 == 0:
                uploading.upload(service, CURATOR, release.id, iter([ROWS]), media_type=MediaType.CSV, gzip=False)
            elif number % 3 == 1:
                ordering.void(service, CURATOR, release.id)
    datasets.close(service, CURATOR, "b")


def long_ledger(service: Service, *, orders: int) -> None:
    """Three entries for each order (charge, void, grant) in one transaction: long, and quick to write."""
    datasets.register(service, CURATOR, name="a", description="", domain=DOMAIN, budget=Epsilon.parse("1"))
    epsilon, actor = Epsilon.parse("0.001"), CURATOR.actor
    with open_book(service) as book:
        for number in range(orders):
            release = f"r{number}"
            for kind in (Kind.CHARGE, Kind.VOID):
                book.append(kind, dataset="a", actor=actor, release=release, epsilon=epsilon, detail={})
            book.append(Kind.GRANT, dataset="a", actor=actor, epsilon=epsilon, detail={"reason": "é"})


def vast_ledger(service: Service, *, entries: int) -> None:
    """A long ledger of one dataset, made at once: charges and voids in turn, with a grant now and then."""
    datasets.register(service, CURATOR, name="vast", description="", domain=DOMAIN, budget=Epsilon.parse("1"))
    order = an_order("0.001")
    with open_book(service) as book:
        made: list[LedgerEntry] = []
        last = book.head
        while last.seq < entries:
            turn, place = divmod(last.seq, 3)
            kind = (Kind.GRANT, Kind.CHARGE, Kind.VOID)[place - 1]
            entry = LedgerEntry(
                seq=last.seq + 1,
                kind=kind,
                dataset="vast",
                release=None if kind is Kind.GRANT else f"r{turn if place else turn - 1}",
                epsilon=Epsilon(1000) if kind is Kind.GRANT else order.epsilon,
                actor=CURATOR.actor,
                at=f"2026-{1 + turn % 12:02d}-01T00:00:00Z",
                detail={Kind.GRANT: {"reason": f"wave {turn}"}, Kind.CHARGE: {"order": order.to_json()}}.get(kind, {}),
                previous=last.hash,
            ).sealed()
            made.append(entry)
            last = Head(entry.seq, entry.hash)
        _insert(book.tx, made)
        book.appended, book.head = made, last


def many_releases(service: Service, dataset: str, *, releases: int) -> None:
    """A dataset with so many published releases: one through the use cases, the rest with the same entries in bulk.

    All have the noise of the first one. The ledger and every synopsis verify.
    """
    datasets.register(service, CURATOR, name=dataset, description="", domain=DOMAIN, budget=Epsilon.parse("20"))
    order = an_order("0.00001")
    first = ordering.order(service, CURATOR, dataset, order, idempotency_key=None)
    upload = uploading.upload(service, CURATOR, first.id, iter([ROWS]), media_type=MediaType.CSV, gzip=False)
    terms = {"order": order.to_json(), "max_cells": service.settings.max_cells}
    for start in range(1, releases, _AT_ONCE):
        stored = []
        with open_book(service) as book:
            for number in range(start, min(start + _AT_ONCE, releases)):
                synopsis = replace(upload.synopsis, release=f"r{number:016x}")
                about = {"dataset": dataset, "release": synopsis.release, "actor": CURATOR.actor}
                book.append(Kind.CHARGE, **about, epsilon=order.epsilon, detail=terms)
                book.append(Kind.DRAW, **about, detail={})
                book.append(Kind.PUBLISH, **about, detail={"digest": synopsis.digest})
                stored.append({"release": synopsis.release, "body": zlib.compress(synopsis.to_bytes(), level=6)})
            book.tx.execute(insert(tables.synopses), stored)


def _insert(tx: Connection, made: list[LedgerEntry]) -> None:
    rows = []
    for entry in made:
        row = entry.to_json() | {"detail": canonical_json(entry.detail).decode(), "epsilon_nano": entry.epsilon.nano}
        del row["epsilon"]
        rows.append(row)
    tx.execute(insert(tables.ledger), rows)


def rewrite_from(service: Service, seq: int, *, keeps_rules: bool = True, **changes: Any) -> None:
    """What an intruder does: change an entry of a SQLite database, and all hashes after it.

    One who keeps the rules puts every balance right that a charge states, too, so that the new chain verifies.
    """
    with service.database.read_only() as tx:
        entries = [entry_of(row) for row in tx.execute(select(tables.ledger).order_by(tables.ledger.c.seq))]
    rewritten, books = entries[: seq - 1], Books()
    for entry in rewritten:
        assert books.post(entry) is None
    for entry in entries[seq - 1 :]:
        changed = replace(entry, **changes) if entry.seq == seq else entry
        if keeps_rules and changed.kind is Kind.CHARGE and "granted" in changed.detail:
            account = books.accounts[str(changed.dataset)]
            balance = {
                "granted": str(Epsilon(account.granted)),
                "spent": str(Epsilon(account.spent + changed.epsilon.nano)),
            }
            changed = replace(changed, detail={**changed.detail, **balance})
        previous = rewritten[-1].hash if rewritten else GENESIS
        rewritten.append(replace(changed, previous=previous).sealed())
        assert books.post(rewritten[-1]) is None or not keeps_rules
    with without_triggers(service) as connection:
        connection.execute(text("DELETE FROM ledger"))
        _insert(connection, rewritten)
        connection.commit()


@contextmanager
def without_triggers(service: Service) -> Iterator[Connection]:
    """A connection to a SQLite database whose triggers, checks and references were switched off by an intruder."""
    with service.database.transaction() as tx:
        names = tx.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).scalars().all()
        for name in names:
            tx.execute(text(f"DROP TRIGGER {name}"))
    with service.database.engine.connect() as connection:
        raw = connection.connection.driver_connection
        raw.execute("PRAGMA foreign_keys = OFF")
        raw.execute("PRAGMA ignore_check_constraints = ON")
        yield connection
