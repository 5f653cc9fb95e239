"""Real services to torture: `rugnik serve` in processes of its own, on SQLite or on a PostgreSQL of its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx

from app.settings.settings import Settings
from app.storage.database import Database
from tests.support.databases.postgresql import new_database, running_postgresql
from tests.support.processes.server import Server, running_server
from torture.model import Broken, Model
from torture.signed_tree import SeenLog

DATABASES = ("SQLite", "PostgreSQL")
ADMIN_KEY = "rugnik_admin_" + "t" * 43
ATTRIBUTES = [{"name": "age", "lower": 0, "upper": 100}, {"name": "income", "lower": 0, "upper": 1000}]
ROWS = b"age,income\n" + b"".join(b"%d,%d\n" % (i % 100, (7 * i) % 1000) for i in range(500))


@dataclass
class Place:
    """Where a service lives: its settings, which outlast each of its processes, and the keys of its callers."""

    settings: Settings
    folder: Path
    curator: str = ""
    seen: SeenLog = field(default_factory=SeenLog)

    def start(self, workers: int = 1, module: list[str] | None = None) -> Server:
        """A process that is ready, of `rugnik serve` or another module; the first one issues the curator's key."""
        server = running_server(self.settings, workers=workers, log=self.folder / "server.log", module=module)
        if not self.curator:
            self.curator = server.issue_key("curator", ADMIN_KEY)
        return server

    def client(self, server: Server, key: str | None = None) -> httpx.Client:
        """A client with the curator's key, or another."""
        headers = {"Authorization": f"Bearer {key or self.curator}"}
        return httpx.Client(base_url=server.url, headers=headers, timeout=60)

    def checked(self, server: Server) -> Model:
        """The ledger by the independent model.

        Broken unless the service's own walk, every balance, the checkpoint that it shows and the one in its witness
        file agree with it.
        """
        with self.client(server, ADMIN_KEY) as admin:
            verification = admin.get("/v1/ledger/verify").json()
            if not verification.get("valid"):
                raise Broken(f"The service finds its ledger invalid: {verification}")
            witnessed, shown = self.settings.witness_path.read_text(), admin.get("/log/checkpoint").text
            model = Model.of(admin.get("/v1/ledger/export").text.splitlines())
            log_key = admin.get("/log/policy").text.split()[1]
            self.seen.require_shown(shown, log_key, model.hashes)
            if self.seen.require_signed(witnessed, log_key, model.hashes) < verification["entries"]:
                raise Broken("The witness file is behind the ledger.")
            for name, granted in model.granted.items():
                budget = admin.get(f"/v1/datasets/{name}").json()["budget"]
                spent = model.spent[name]
                balances = [Decimal(budget[each]) for each in ("granted", "spent", "remaining")]
                if balances != [granted, spent, granted - spent]:
                    raise Broken(f"The budget of {name} is {budget}; the ledger gives {granted} and {spent}.")
        return model


@contextmanager
def place(database: str) -> Iterator[Place]:
    """A new, empty place for a service on this kind of database."""
    with places(database) as fresh:
        yield fresh()


@contextmanager
def places(database: str) -> Iterator[Callable[[], Place]]:
    """A function that makes new, empty places, on one PostgreSQL if that is the kind of database."""
    with folder() as made, ExitStack() as stack:
        server = stack.enter_context(running_postgresql()) if database == "PostgreSQL" else None
        empty = None if server is None else migrated(new_database(server))

        def fresh() -> Place:
            own = Path(tempfile.mkdtemp(dir=made))
            return Place(settings(own, None if server is None else new_database(server, like=empty)), own)

        yield fresh


@contextmanager
def folder() -> Iterator[Path]:
    """A new folder that other users may enter: under root, PostgreSQL runs as another one."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


def migrated(url: str) -> str:
    """The address of a database, with rugnik's tables in it."""
    database = Database(url)
    database.migrate()
    database.dispose()
    return url


def settings(made: Path, url: str | None = None, **own: object) -> Settings:
    """A service in this folder, on SQLite unless a database is named; `own` are settings of its own."""
    given: dict[str, Any] = {"data_dir": made / "data", "log_level": "warning", "max_open_orders": 100_000, **own}
    if url is not None:
        given["database_url"] = url
    return Settings(admin_key=ADMIN_KEY, **given)


def times(usual: int) -> int:
    """How often to try something: `usual`, or what TIMES in the environment says."""
    return int(os.environ.get("TIMES", usual))
