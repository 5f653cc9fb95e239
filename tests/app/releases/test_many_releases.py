"""Datasets with many releases: a bounded reply, pages that hold each release once, and work that does not grow."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from app.access.permissions import Role
from app.access.principal import Principal
from app.dashboard.views import _DRAWN
from app.ledger import entries, history
from app.ledger.appending import open_book
from app.ledger.history import Search
from app.ledger.verification import verify_all
from app.main import create_app, make_service
from app.releases import datasets, ordering, overview
from app.service import Service
from app.settings.settings import Settings
from core.budget import Epsilon
from core.ledger.kinds import Kind
from rugnik import naming
from rugnik.wire import Dataset
from tests.support.databases.books import CURATOR, an_order, long_ledger, many_releases
from tests.support.service.api import Api, frozen_clock
from tests.support.service.live import Live, opened_live

FEW, MANY = 150, 900
AUDITOR = Principal(id="k2", name="auditor", role=Role.AUDITOR, datasets=None)
LIMITED = Principal(id="k3", name="limited", role=Role.CURATOR, datasets=frozenset({"city", "other"}))


def pages(api: Api, role: Role, limit: int) -> list[dict[str, Any]]:
    """All releases of `a`, page after page."""
    listed: list[dict[str, Any]] = []
    after = 0
    while after is not None:
        reply = api.call(role, "GET", "/v1/datasets/a/releases", params={"limit": limit, "after": after}).json()
        assert len(reply["releases"]) <= limit
        listed += reply["releases"]
        after = reply["next"]
        assert after in (None, len(listed))
    return listed


@pytest.fixture
def api(sqlite_settings: Settings) -> Iterator[Api]:
    """250 void orders of `a`, then two orders, of which the second is published before the first."""
    service = make_service(sqlite_settings, frozen_clock)
    long_ledger(service, orders=250)
    service.database.dispose()
    with Api(create_app(sqlite_settings, frozen_clock)) as opened:
        first, second = (opened.order("a", epsilon="0.1").json()["id"] for _ in range(2))
        assert opened.upload(second).status_code == opened.upload(first).status_code == 200
        yield opened


def test_a_dataset_is_shown_with_its_newest_releases(api: Api) -> None:
    """The newest hundred, newest last, and how many come before; the same wherever a dataset is shown."""
    whole = pages(api, Role.CURATOR, 1000)
    assert [each["state"] for each in whole] == ["void"] * 250 + ["published"] * 2
    shown = api.curator("GET", "/v1/datasets/a").json()
    assert shown["releases"] == whole[-100:]
    assert shown["earlier_releases"] == 152
    assert shown["newest_published"] == whole[-2]  # ordered before the last one, and published after it
    assert api.curator("GET", "/v1/datasets").json()["datasets"] == [shown]
    assert Dataset.of(shown).release_count == 252
    analyst = api.analyst("GET", "/v1/datasets/a").json()
    assert analyst["releases"] == whole[-2:]
    assert "earlier_releases" not in analyst
    assert Dataset.of(shown).newest == Dataset.of(analyst).newest
    assert analyst["newest_published"]["id"] == pages(api, Role.ANALYST, 1000)[-1]["id"]


def test_the_newest_published_release_is_found_behind_a_hundred_others(api: Api) -> None:
    """Otherwise a question to the dataset by its name would say that nothing is published."""
    published = pages(api, Role.CURATOR, 1000)[-1]
    with open_book(api.service) as book:
        for number in range(100):
            for kind in (Kind.CHARGE, Kind.VOID):
                book.append(kind, dataset="a", actor="x", release=f"s{number}", epsilon=Epsilon(1), detail={})
    shown = api.curator("GET", "/v1/datasets/a").json()
    assert {each["state"] for each in shown["releases"]} == {"void"}
    newest = Dataset.of(shown).newest
    assert newest is not None
    # Published last, though ordered before the other one.
    assert (newest.id, newest.id != published["id"]) == (shown["newest_published"]["id"], True)
    assert newest == Dataset.of(api.analyst("GET", "/v1/datasets/a").json()).releases[0]


def test_pages_of_releases_hold_each_once(api: Api) -> None:
    """Newest last; an analyst has the published ones, in the order in which they were published."""
    for limit in (1, 63, 251, 252, 1000):
        names = [each["id"] for each in pages(api, Role.CURATOR, limit)]
        assert (len(names), names[:250]) == (252, [f"r{number}" for number in range(250)])
        assert [each["id"] for each in pages(api, Role.ANALYST, limit)] == [names[251], names[250]]
    beyond = api.curator("GET", "/v1/datasets/a/releases?after=4000000000").json()
    assert beyond == {"releases": [], "next": None}


def test_pages_of_the_dashboard_lead_to_every_release(tmp_path: Path) -> None:
    """From the newest to the oldest by "Older releases", and back by "Newest"."""
    settings = Settings(data_dir=tmp_path / "data", log_level="warning")
    service = make_service(settings, frozen_clock)
    many_releases(service, "a", releases=120)
    service.database.dispose()
    with Api(create_app(settings, frozen_clock)) as api:
        seen: list[str] = []
        path: str | None = "/datasets/a"
        while path is not None:
            page = api.analyst("GET", path).text
            assert ("Newest</a>" in page) == ("before" in path)
            seen += re.findall(r'<td data-label="Release"><span><a href="/releases/(\w+)">', page)
            older = re.search(r'href="([^"#]*)#releases-title" rel="next">Older', page)
            path = older[1] if older else None
        assert seen == [each["id"] for each in reversed(pages(api, Role.ANALYST, 1000))]


def test_the_client_and_the_service_agree_on_pages(sqlite_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client reads on until there is no more."""
    monkeypatch.setattr(naming, "_AT_ONCE", 100)
    service = make_service(sqlite_settings, frozen_clock)
    long_ledger(service, orders=250)
    service.database.dispose()
    with opened_live(sqlite_settings) as live:
        assert _names(live) == [f"r{number}" for number in range(250)]


def _names(live: Live) -> list[str]:
    with live.client(Role.CURATOR) as client:
        return [each.id for each in client.releases("a")]


@contextmanager
def counted(service: Service) -> Iterator[Callable[[], int]]:
    """Count work without a clock: calls of Python functions, and every tenth instruction of SQLite's machine."""
    count = 0

    def tick(*_: object) -> int:
        nonlocal count
        count += 1
        return 0

    def watch(connection: Any, *_: object) -> None:
        connection.set_progress_handler(tick, 10)

    event.listen(service.database.engine, "checkout", watch)
    sys.setprofile(lambda _frame, _event, _argument: tick() and None)
    try:
        yield lambda: count
    finally:
        sys.setprofile(None)
        event.remove(service.database.engine, "checkout", watch)


def effort(service: Service) -> dict[str, int]:
    """What each use case behind a request costs now, the second time that it is called."""
    whole, one = Search(), Search(datasets=frozenset({"city"}))

    def order() -> None:
        release = ordering.order(service, CURATOR, "city", an_order("0.00001"), idempotency_key=None)
        ordering.void(service, CURATOR, release.id)

    def read(caller: Principal, search: Search) -> object:
        return history.read_ledger(service, caller, search, before=None, limit=50)

    def listed(names: frozenset[str] | None, kind: Kind | None) -> object:
        return entries.entries_after(service, 50, datasets=names, about_keys=False, kind=kind, limit=101)

    cases: dict[str, Callable[[], object]] = {
        "order and void": order,
        "list of datasets": lambda: datasets.list_all(service, CURATOR, limit=101),
        "dataset": lambda: datasets.get(service, CURATOR, "city"),
        "releases": lambda: datasets.list_releases(service, CURATOR, "city", after=20, limit=100),
        "overview": lambda: overview.get_overview(service, AUDITOR),
        "page of a dataset": lambda: overview.get_dataset_overview(
            service, AUDITOR, "city", before=None, max_releases=50, max_entries=_DRAWN
        ),
        "wizard": lambda: overview.get_open_order(service, CURATOR, "city", None),
        "page of the ledger": lambda: read(AUDITOR, whole),
        "page of the ledger, one dataset": lambda: read(AUDITOR, one),
        "page of the ledger, limited key": lambda: read(LIMITED, Search(datasets=LIMITED.datasets, about_keys=False)),
        "ledger": lambda: listed(None, None),
        "ledger of a dataset": lambda: listed(frozenset({"city"}), None),
        "publishes of a dataset": lambda: listed(frozenset({"city"}), Kind.PUBLISH),
    }
    efforts = {}
    for name, case in cases.items():
        case()
        with counted(service) as count:
            case()
            efforts[name] = count()
    return efforts


def test_work_does_not_grow_with_the_number_of_releases(tmp_path: Path) -> None:
    """Six times the releases, and no request does a tenth more. Starting does: it walks the whole ledger."""
    efforts = []
    for releases in (FEW, MANY):
        service = make_service(Settings(data_dir=tmp_path / str(releases), log_level="warning"), frozen_clock)
        many_releases(service, "city", releases=releases)
        assert verify_all(service).valid
        efforts.append(effort(service))
        service.database.dispose()
    few, many = efforts
    assert min(few.values()) > 100
    grown = {name: (few[name], many[name]) for name in few if many[name] > 1.1 * few[name]}
    assert not grown
