"""The ledger as people read it: newest first, searched, filtered, drawn, verified on record, and taken away as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import text

from app.access.keys import issue_key
from app.access.permissions import Role
from app.access.principal import Principal
from app.ledger import audits, history
from app.ledger.book import read_book
from app.ledger.entries import entries_until
from app.ledger.history import Search
from app.ledger.verification import verify_all
from app.main import create_app, make_service
from app.releases import datasets, ordering
from app.service import Service
from app.settings.settings import Settings
from core.budget import Epsilon
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind, State
from core.log.checkpoint import Checkpoint
from tests.support.databases.books import ADMIN, CURATOR, DOMAIN, an_order, filled_ledger, long_ledger, without_triggers
from tests.support.service.api import Api, frozen_clock

AUDITOR = Principal(id="k2", name="auditor", role=Role.AUDITOR, datasets=None)


class DayByDay:
    """A clock that moves on by a day each time it is read."""

    def __init__(self) -> None:
        self._days = 0

    def __call__(self) -> datetime:
        """The next day."""
        self._days += 1
        return datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=self._days)


@pytest.fixture
def service(settings: Settings) -> Iterator[Service]:
    """A ledger with every kind of entry, a day apart, on each kind of database."""
    opened = make_service(settings, DayByDay())
    filled_ledger(opened, orders=4)
    yield opened
    opened.database.dispose()


def matching_seqs(service: Service, **wanted: object) -> list[int]:
    """The numbers of the entries that fit, newest first."""
    with service.database.read_only() as tx:
        return [line.seq for line in history.page(tx, Search(**wanted), before=None, limit=1000).lines]  # type: ignore[arg-type]


def entries(service: Service) -> list[LedgerEntry]:
    """Every entry, newest first."""
    return list(entries_until(service, service.replay.head))[::-1]


def test_a_page_holds_the_newest_entries_and_tells_where_to_read_on(service: Service) -> None:
    """Page after page gives every entry once, newest first."""
    every = [entry.seq for entry in entries(service)]
    seen: list[int] = []
    before: int | None = None
    with service.database.read_only() as tx:
        for _ in range(len(every)):
            page = history.page(tx, Search(), before=before, limit=5)
            seen += [line.seq for line in page.lines]
            before = page.older
            if before is None:
                break
    assert seen == every


def test_filters_leave_what_they_say(service: Service) -> None:
    """By dataset, kind, actor and day, alone and together, as a plain walk over all entries would."""
    every = entries(service)
    assert matching_seqs(service, datasets=frozenset({"a"})) == [e.seq for e in every if e.dataset == "a"]
    assert matching_seqs(service, datasets=frozenset()) == []
    for kind in Kind:
        assert matching_seqs(service, kind=kind) == [e.seq for e in every if e.kind is kind]
    assert matching_seqs(service, actor=ADMIN.actor) == [e.seq for e in every if e.actor == ADMIN.actor]
    first, last = date.fromisoformat(every[-3].at[:10]), date.fromisoformat(every[4].at[:10])
    assert matching_seqs(service, since=first, until=last) == [
        e.seq for e in every if first.isoformat() <= e.at[:10] <= last.isoformat()
    ]
    both = matching_seqs(service, datasets=frozenset({"b"}), kind=Kind.VOID, since=first)
    assert both == [e.seq for e in every if (e.dataset, e.kind) == ("b", Kind.VOID) and e.at >= first.isoformat()]
    assert both


def test_a_day_holds_what_is_kept_to_the_second_and_what_is_kept_to_the_day(service: Service) -> None:
    """A publish carries no hour; from and to the same day finds it as well as the others."""
    for entry in entries(service):
        day = date.fromisoformat(entry.at[:10])
        assert entry.seq in matching_seqs(service, since=day, until=day)
        assert entry.seq not in matching_seqs(service, since=day + timedelta(days=1))
        assert entry.seq not in matching_seqs(service, until=day - timedelta(days=1))


def test_a_search_finds_text_wherever_it_stands(service: Service) -> None:
    """Reasons, releases, actors and hashes, in any case; what a database takes as patterns are just signs."""
    datasets.grant(service, ADMIN, "a", epsilon=Epsilon.parse("0.1"), reason='50 % of é_x for Zoë \\ "quoted"')
    newest = entries(service)[0]
    for words in ("50 %", "é_x", "FOR zoë", '"quoted"', "\\", newest.hash, newest.hash[:12].upper()):
        assert newest.seq in matching_seqs(service, text=words), words
    assert matching_seqs(service, text="50_%") == []
    assert matching_seqs(service, text="%") == [newest.seq]
    release = next(entry for entry in entries(service) if entry.release)
    assert set(matching_seqs(service, text=release.release)) == {
        entry.seq for entry in entries(service) if entry.release == release.release
    }


def test_history_starts_from_what_was_before_it(service: Service) -> None:
    """However few entries are drawn, the last step is the dataset's budget."""
    with read_book(service) as book:
        budget = book.budget("a")
        count = len(matching_seqs(service, datasets=frozenset({"a"})))
        for limit in (1, 3, count, count + 5):
            drawn = history.history(book, "a", limit=limit)
            granted, spent = drawn.granted_before.nano, drawn.spent_before.nano
            for entry in drawn.entries:
                granted += entry.epsilon.nano if entry.kind is Kind.GRANT else 0
                spent += {Kind.CHARGE: 1, Kind.VOID: -1}.get(entry.kind, 0) * entry.epsilon.nano
            assert (granted, spent) == (budget.granted.nano, budget.spent.nano)
            assert len(drawn.entries) + drawn.skipped == count
            assert [entry.seq for entry in drawn.entries] == sorted(entry.seq for entry in drawn.entries)


def test_a_summary_agrees_with_the_dataset(service: Service) -> None:
    """Budget, state, and epsilon on what is published and what is ordered, without reading the releases one by one."""
    with read_book(service) as book:
        summaries = datasets.summaries(book, CURATOR)
        for summary in summaries:
            whole = datasets.load(book, CURATOR, summary.name)
            assert (summary.closed, summary.budget, summary.domain) == (whole.closed, whole.budget, whole.domain)
            for state, told in ((State.PUBLISHED, summary.drawn), (State.ORDERED, summary.ordered)):
                charged = [s.epsilon.nano for s in whole.releases.values() if s.state is state]
                assert told.nano == sum(charged)
            newest = book.releases(summary.name, Kind.CHARGE, slice(-2, None))
            assert list(newest.standings.items()) == list(whole.releases.items())[-2:]
            assert (newest.before, newest.after) == (len(whole.releases) - 2, 0)
            published = book.releases(summary.name, Kind.PUBLISH, slice(-100, None))
            assert published.standings == {k: s for k, s in whole.releases.items() if s.state is State.PUBLISHED}
    assert [summary.name for summary in summaries] == ["a", "b"]


def test_the_actors_of_the_filter_are_those_of_the_entries(service: Service) -> None:
    """Of all datasets, of some, and with or without the entries about keys, as a plain walk would."""
    issue_key(service, name="new", role=Role.ANALYST, datasets=None, actor="somebody [k9]")
    every = entries(service)
    for names in (None, frozenset({"a"}), frozenset({"a", "b"}), frozenset[str]()):
        for about_keys in (True, False):
            told = history.actors(service, names, about_keys=about_keys)
            seen = {e.actor for e in every if e.dataset is not None and (names is None or e.dataset in names)}
            assert told == sorted(seen | ({"somebody [k9]"} if about_keys else set()))


def test_the_last_entry_of_each_dataset_is_told(service: Service) -> None:
    """One each, the newest; a dataset that is not there has none."""
    with read_book(service) as book:
        last = history.last_entries(book, ["a", "b", "never"])
    every = entries(service)
    assert last == {name: next(e for e in every if e.dataset == name) for name in ("a", "b")}


def test_a_walk_is_told_step_by_step_and_kept_on_record(service: Service) -> None:
    """Before the first, nobody has verified; after it, who did when, and up to where."""
    assert audits.ledger_status(service).checked is None
    steps = list(audits.verify_on_record(service, AUDITOR))
    assert steps[-1] == verify_all(service)
    state = audits.ledger_status(service)
    assert state.witness_agrees
    assert state.checked is not None
    assert (state.checked.actor, state.checked.outcome) == (AUDITOR.actor, steps[-1])
    assert state.head == steps[-1].head


def test_the_steps_of_a_long_walk_go_up_to_its_outcome(sqlite_settings: Settings) -> None:
    """A thousand entries a step: enough for a bar that moves."""
    service = make_service(sqlite_settings, frozen_clock)
    long_ledger(service, orders=1100)
    steps = [(step.entries, step.valid) for step in audits.verify_on_record(service, AUDITOR)]
    service.database.dispose()
    assert steps == [(1000, True), (2000, True), (3000, True), (3301, True)]


def test_a_changed_entry_is_told_as_the_first_bad_one(sqlite_settings: Settings) -> None:
    """The walk ends there, the record says so, and the page still shows what can be read."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=3)
    with without_triggers(service) as connection:
        connection.execute(text("UPDATE ledger SET detail = '{ }' WHERE seq = 5"))
        connection.commit()
    last = list(audits.verify_on_record(service, AUDITOR))[-1]
    assert (last.valid, last.first_bad, last.entries) == (False, 5, 4)
    checked = audits.ledger_status(service).checked
    assert checked is not None
    assert checked.outcome == last
    with service.database.read_only() as tx:
        lines = {line.seq: line.entry for line in history.page(tx, Search(), before=None, limit=100).lines}
    assert lines[5] is None
    assert all(entry is not None for seq, entry in lines.items() if seq != 5)
    service.database.dispose()


def test_a_witness_that_saw_another_ledger_does_not_agree(sqlite_settings: Settings) -> None:
    """Also where its file cannot be understood."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=1)
    seen, other = service.witness.path.read_text(), service.checkpoint(1)
    forged = replace(Checkpoint.of(other), size=service.replay.tree.size).signed(*service.log.keys)
    for damage in (str(forged), json.dumps({"seq": service.replay.tree.size, "hash": "0" * 64}), "?"):
        service.witness.path.write_text(damage)
        assert not audits.ledger_status(service).witness_agrees
    service.witness.path.write_text(seen)
    assert audits.ledger_status(service).witness_agrees
    service.database.dispose()


def test_the_stream_of_a_verification_ends_with_its_outcome(api: Api) -> None:
    """NDJSON, each line with the total to come; the last line is what /verify says."""
    api.register()
    api.published()
    reply = api.auditor("POST", "/v1/ledger/verifications")
    assert reply.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in reply.text.splitlines()]
    total = 8  # four keys, grant, charge, draw, publish
    assert lines[-1] == api.auditor("GET", "/v1/ledger/verify").json() | {"total": total}


def test_the_ledger_is_taken_away_as_csv(sqlite_api: Api) -> None:
    """Every field of every entry, in the order of the NDJSON; text that a spreadsheet would run is made tame."""
    sqlite_api.register()
    for reason in ("=1+1", "+1", "-1", "@x", 'a "b", c'):
        sqlite_api.admin("POST", "/v1/datasets/city/grants", json={"epsilon": "0.1", "reason": reason})
    sqlite_api.published()
    reply = sqlite_api.auditor("GET", "/v1/ledger/export?format=csv")
    assert reply.headers["content-type"].startswith("text/csv")
    assert reply.headers["content-disposition"] == 'attachment; filename="ledger.csv"'
    rows = list(csv.DictReader(io.StringIO(reply.text, newline="")))
    lines = [json.loads(line) for line in sqlite_api.auditor("GET", "/v1/ledger/export").text.splitlines()]
    assert len(rows) == len(lines) == 13  # four keys among them
    for row, line in zip(rows, lines, strict=True):
        assert json.loads(row.pop("detail")) == line.pop("detail")
        assert row == {name: "" if value is None else str(value) for name, value in line.items()}
    assert sqlite_api.auditor("GET", "/v1/ledger/export?format=xlsx").status_code == 406


def test_a_name_that_looks_like_a_formula_is_tame_in_the_csv(sqlite_settings: Settings) -> None:
    """A key's name is free text and stands in front of the actor."""
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        key = api.admin("POST", "/v1/keys", json={"name": "=cmd()", "role": "curator"}).json()["key"]
        body = {"name": "x", "attributes": [{"name": "a", "lower": 0, "upper": 1}], "budget": "1"}
        assert api.call_with(key, "POST", "/v1/datasets", json=body).status_code == 201
        rows = list(csv.DictReader(io.StringIO(api.auditor("GET", "/v1/ledger/export?format=csv").text, newline="")))
    assert rows[-1]["actor"].startswith("'=cmd()")


def test_an_order_that_nobody_published_is_ordered_epsilon(sqlite_settings: Settings) -> None:
    """The bar shows it apart from what is spent for good."""
    service = make_service(sqlite_settings, frozen_clock)
    datasets.register(service, CURATOR, name="a", description="", domain=DOMAIN, budget=Epsilon.parse("1"))
    ordering.order(service, CURATOR, "a", an_order("0.3"), idempotency_key=None)
    with read_book(service) as book:
        summary = datasets.summary(book, CURATOR, "a")
    service.database.dispose()
    assert (str(summary.drawn), str(summary.ordered), str(summary.budget.remaining)) == ("0", "0.3", "0.7")
