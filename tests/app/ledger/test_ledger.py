"""The ledger: sums that are exact, entries that cannot be edited, and edits behind its back that are found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.ledger.entries import head
from app.ledger.verification import verify_all
from app.main import make_service
from app.service import Service
from app.settings.settings import Settings
from core.ledger.entry import EMPTY
from tests.support.databases.books import filled_ledger, without_triggers
from tests.support.service.api import Api, frozen_clock

EDITS = [
    "UPDATE ledger SET epsilon_nano = epsilon_nano + 1 WHERE seq = 1",
    "DELETE FROM ledger WHERE seq = 2",
    "DELETE FROM ledger",
    "UPDATE synopses SET body = body",
    "DELETE FROM synopses",
    "UPDATE cards SET body = body",
    "DELETE FROM cards",
    "UPDATE datasets SET description = 'x'",
    "DELETE FROM datasets",
]
COPY = (
    "INSERT INTO ledger SELECT {seq}, kind, dataset, release, epsilon_nano, actor, at, detail, previous, hash "
    "FROM ledger WHERE seq = {source}"
)


@pytest.fixture
def service(settings: Settings) -> Iterator[Service]:
    """A service with a ledger of every kind of entry, on each kind of database."""
    service = make_service(settings, frozen_clock)
    filled_ledger(service, orders=4)
    with service.database.transaction() as tx:  # a dataset of version 0.1 has its description there
        tx.execute(text("INSERT INTO datasets (name, description) VALUES ('old', 'of version 0.1')"))
    yield service
    service.database.dispose()


def last(service: Service) -> int:
    with service.database.read_only() as tx:
        return head(tx).seq


def refused(service: Service, statement: str) -> bool:
    """Whether the database itself refuses a statement."""
    try:
        with service.database.transaction() as tx:
            tx.execute(text(statement))
    except DBAPIError:
        return True
    return False


@pytest.mark.parametrize("statement", EDITS)
def test_the_database_refuses_to_change_or_remove_a_row(service: Service, statement: str) -> None:
    """UPDATE and DELETE fail on every table that only grows, by trigger and not by good manners."""
    assert refused(service, statement)


def test_the_database_refuses_entries_out_of_order(service: Service) -> None:
    """An insert with a gap, with a number in use, or not bound to the last hash fails, each for that alone."""
    end = last(service)
    bound = COPY.replace("previous, hash", f"(SELECT hash FROM ledger WHERE seq = {end}), '{'f' * 64}'")
    for seq, statement in ((end + 2, bound), (2, bound), (0, bound), (end + 1, COPY)):
        assert refused(service, statement.format(seq=seq, source=2))
    assert not refused(service, bound.format(seq=end + 1, source=2))  # what it refuses it refuses for its place


def test_sqlite_refuses_to_replace_a_row(sqlite_settings: Settings) -> None:
    """INSERT OR REPLACE, which deletes without firing a delete trigger, fails on every table that only grows."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=2)
    assert refused(service, COPY.format(seq=2, source=2).replace("INSERT", "INSERT OR REPLACE"))
    with service.database.transaction() as tx:
        tx.execute(text("INSERT INTO datasets (name, description) VALUES ('old', 'of version 0.1')"))
    for table in ("datasets", "synopses", "cards"):
        assert refused(service, f"INSERT OR REPLACE INTO {table} SELECT * FROM {table} LIMIT 1"), table
        assert refused(service, f"UPDATE OR REPLACE {table} SET rowid = rowid"), table
    service.database.dispose()


@pytest.mark.parametrize("table", ["ledger", "synopses", "cards", "datasets"])
def test_postgresql_refuses_to_truncate(postgresql_settings: Settings, table: str) -> None:
    """TRUNCATE fails, also for a session that poses as a replica."""
    service = make_service(postgresql_settings, frozen_clock)
    filled_ledger(service, orders=1)
    for role in ("origin", "replica"):
        statement = f"SET LOCAL session_replication_role = {role}; TRUNCATE {table} CASCADE"
        assert refused(service, statement)
        assert refused(service, f"SET LOCAL session_replication_role = {role}; DELETE FROM {table}")
    service.database.dispose()


def test_a_full_ledger_verifies(service: Service) -> None:
    """A ledger that only the service wrote is valid to its last entry."""
    verification = verify_all(service)
    assert (verification.valid, verification.entries, verification.reason) == (True, last(service), None)


def test_cutting_off_the_newest_entries_is_found_by_the_witness(sqlite_settings: Settings) -> None:
    """A chain that simply ends earlier is whole in itself; the witness remembers the head that is gone."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=3)
    end = last(service)
    with without_triggers(service) as tx:
        tx.execute(text(f"DELETE FROM ledger WHERE seq = {end}"))
        tx.commit()
    verification = verify_all(service)
    assert not verification.valid
    assert verification.first_bad == end
    service.database.dispose()


def test_an_exported_line_can_be_hashed_by_anybody(api: Api) -> None:
    """The hash of an exported line is SHA-256 over the line without it, keys sorted; each is bound to the last."""
    api.register()
    api.published()
    previous = EMPTY.hash
    lines = api.auditor("GET", "/v1/ledger/export").text.splitlines()
    for number, line in enumerate(lines, start=1):
        entry = json.loads(line)
        claimed = entry.pop("hash")
        bare = json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()
        assert sha256(bare).hexdigest() == claimed
        assert (entry["previous"], entry["seq"]) == (previous, number)
        previous = claimed
    head = api.auditor("GET", "/v1/ledger/head").json()
    assert head == {"seq": len(lines), "hash": previous}


def test_the_ledger_is_read_page_by_page(api: Api) -> None:
    """Following `next` gives every entry once, in order."""
    api.register(budget="5")
    for _ in range(4):
        api.order(epsilon="0.1")
    seen: list[int] = []
    after: int | None = 0
    while after is not None:
        page = api.auditor("GET", "/v1/ledger", params={"after": after, "limit": 2}).json()
        seen += [entry["seq"] for entry in page["entries"]]
        after = page["next"]
    assert seen == list(range(1, 10))  # four keys, a grant and four charges
