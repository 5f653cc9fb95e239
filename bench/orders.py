"""`python -m bench.orders`: orders, lists and pages with 10^2 to 10^4 published releases in one dataset, beside 10^2.

With FULL=1 in the environment, to 10^5.

One service for each size, all in this process. Each is filled in bulk with the entries and synopses that the use cases
write, and its whole ledger is verified afterwards. Then the requests take turns between the services, and the figures
are CPU time, so other load on the machine affects all sizes equally. `--most 10000` is quicker. With `--postgresql` the
services are on a PostgreSQL of their own, and the figures are wall time: its work is done by another process.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from httpx import Response
from sqlalchemy import text

from app.access.keys import issue_key
from app.access.permissions import Role
from app.ledger.replay import Replay
from app.ledger.verification import verify_all
from app.main import create_app, make_service
from app.releases import datasets
from app.service import Service
from app.settings.settings import Settings
from app.storage.database import Database
from bench.report import Section, chosen, compare, publish
from core.budget import Epsilon
from tests.support.databases.books import CURATOR, DOMAIN, many_releases
from tests.support.databases.postgresql import new_database, running_postgresql
from tests.support.service.api import Api

SIZES = (100, 1_000, 10_000, 100_000)
REPEATS = 40
_BODY = {"epsilon": "0.00001", "clusters": 2, "size": {"declared": 20}}


def fill(service: Service, releases: int) -> None:
    """Two datasets: `vast` with so many published releases, and `small`. RuntimeError unless the ledger verifies."""
    datasets.register(service, CURATOR, name="small", description="", domain=DOMAIN, budget=Epsilon.parse("1"))
    many_releases(service, "vast", releases=releases)
    outcome = verify_all(service)
    if not outcome.valid:
        raise RuntimeError(f"Entry {outcome.first_bad} is not one that the service would write: {outcome.reason}")


class Orders:
    """A service that was filled, and the requests that are measured. Each asserts that it succeeded."""

    def __init__(self, api: Api, size: int) -> None:
        self.api = api
        self.size = size
        names = frozenset({"vast", "small"})
        self._limited = issue_key(api.service, name="limited", role=Role.CURATOR, datasets=names)[1]
        self._ordered: list[str] = []

    def requests(self) -> Mapping[str, Callable[[], Response]]:
        """What is measured, by its name in the report."""
        api, half = self.api, self.size // 2
        auditor, curator, analyst = api.auditor, api.curator, api.analyst
        return {
            "order": self._order,
            "void": self._void,
            "GET /v1/datasets": lambda: curator("GET", "/v1/datasets"),
            "GET /v1/datasets, analyst": lambda: analyst("GET", "/v1/datasets"),
            "GET /v1/datasets/vast": lambda: curator("GET", "/v1/datasets/vast"),
            "GET /v1/datasets/vast, analyst": lambda: analyst("GET", "/v1/datasets/vast"),
            "GET /v1/datasets/vast/releases": lambda: curator(
                "GET", f"/v1/datasets/vast/releases?limit=50&after={half}"
            ),
            "GET /v1/releases/{id}": lambda: curator("GET", f"/v1/releases/r{half:016x}"),
            "GET /v1/ledger": lambda: auditor("GET", f"/v1/ledger?after={half}"),
            "GET /v1/ledger?dataset=": lambda: auditor("GET", f"/v1/ledger?dataset=vast&after={half}"),
            "GET /v1/ledger, limited key": lambda: api.call_with(self._limited, "GET", f"/v1/ledger?after={half}"),
            "GET /v1/ledger?kind=": lambda: auditor("GET", "/v1/ledger?dataset=vast&kind=grant"),
            "overview page": lambda: auditor("GET", "/"),
            "dataset page": lambda: auditor("GET", "/datasets/vast"),
            "dataset page, analyst": lambda: analyst("GET", "/datasets/vast"),
            "ledger page": lambda: auditor("GET", "/ledger"),
            "ledger page, one dataset": lambda: auditor("GET", "/ledger?dataset=vast"),
            "ledger page, limited key": lambda: api.call_with(self._limited, "GET", "/ledger"),
            "ledger page, one kind": lambda: auditor("GET", "/ledger?dataset=vast&kind=grant"),
            "wizard page": lambda: curator("GET", "/datasets/vast/release"),
        }

    def _order(self) -> Response:
        reply = self.api.curator("POST", "/v1/datasets/vast/releases", json=_BODY)
        self._ordered.append(reply.json()["id"])
        return reply

    def _void(self) -> Response:
        return self.api.curator("DELETE", f"/v1/releases/{self._ordered.pop()}")


def opened(folder: Path, size: int, server: str | None) -> Api:
    """A service with so many releases, on SQLite or on a database of its own on a PostgreSQL server.

    Its limits are the defaults.
    """
    url = None if server is None else new_database(server)
    settings = Settings(data_dir=folder / f"data{size}", database_url=url, log_level="warning")
    if url is not None:
        database = Database(url)
        database.migrate()
        database.dispose()
    service = make_service(settings)
    fill(service, size)
    if url is not None:
        with service.database.transaction() as tx:
            tx.execute(text("ANALYZE"))  # as PostgreSQL's autovacuum does within a minute or so of such a load
    service.database.dispose()
    return Api(create_app(settings))


def measure(folder: Path, sizes: Sequence[int], repeats: int, server: str | None = None) -> Iterator[Section]:
    """Time of each request at each size, and what it takes to start."""
    clock, kind = (time.process_time, "CPU time") if server is None else (time.perf_counter, "wall time")
    with ExitStack() as stack:
        filled = [Orders(stack.enter_context(opened(folder, size, server)), size) for size in sizes]
        rows = []
        for name in filled[0].requests():
            calls = {str(each.size): _checked(each.requests()[name]) for each in filled}
            times = [1e3 * seconds for seconds in compare(calls, repeats=repeats, clock=clock).values()]
            rows.append([name, *(f"{each:.1f} ms" for each in times), f"{times[-1] / times[0]:.2f}"])
        header = ["request", *(f"{size:,}" for size in sizes), f"{sizes[-1]:,} : {sizes[0]:,}"]
        database = "SQLite" if server is None else "PostgreSQL"
        remarks = [f"Median {kind} of {repeats} requests in this process, on {database}; the sizes take turns."]
        yield Section("Orders, lists and pages beside the number of releases", remarks, header, rows)
        yield _start(filled)


def _checked(request: Callable[[], Response]) -> Callable[[], object]:
    def call() -> None:
        reply = request()
        if not reply.is_success:
            raise RuntimeError(f"{reply.status_code}: {reply.text}")

    return call


def _start(filled: Sequence[Orders]) -> Section:
    rows = []
    for each in filled:
        database = each.api.service.database
        begin = time.process_time()
        Replay(database).refresh()
        taken = time.process_time() - begin
        gc.collect()
        tracemalloc.start()
        replay = Replay(database)
        replay.refresh()
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        rows.append([f"{each.size:,}", f"{replay.head.seq:,}", f"{taken:.2f} s", f"{held / each.size:,.0f}"])
    remarks = ["The walk over the ledger when a worker starts: CPU time. Memory is that of the books, per release."]
    return Section("Start and memory", remarks, ["releases", "entries", "start", "bytes a release"], rows)


def run() -> list[Section]:
    """The sections of the report."""
    with tempfile.TemporaryDirectory() as folder:
        return list(measure(Path(folder), chosen(SIZES[:-1], SIZES), chosen(REPEATS // 2, REPEATS)))


def main() -> None:
    """The same with sizes of one's own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=chosen(SIZES[:-1], SIZES)[-1], help="leave out larger sizes")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--postgresql", action="store_true", help="on a PostgreSQL of its own in place of SQLite")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running_postgresql()) if given.postgresql else None
        sizes = [size for size in SIZES if size <= given.most]
        publish(list(measure(folder, sizes, given.repeats, server)), "orders")


if __name__ == "__main__":
    main()
