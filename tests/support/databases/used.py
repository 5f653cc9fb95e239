"""Used: a service with something in every table, copied for each attempt to meddle with it; what it does, and would do.

On SQLite and on PostgreSQL. Whoever meddles writes behind the triggers' back: `behind_triggers`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from httpx import Response
from sqlalchemy import Connection, text

from app.access.keys import issue_key
from app.access.permissions import Role
from app.main import create_app
from app.settings.settings import Settings
from app.storage.database import Database
from app.storage.tables import metadata
from core.log.policy import Policy
from core.log.receipt import Receipt
from tests.support.browser.visitors import visitor
from tests.support.databases.postgresql import new_database
from tests.support.service.api import ROWS, Api, frozen_clock
from tests.support.service.counting import COUNTS, counts_body

Deeds = dict[str, tuple[int, Any]]
COLUMNS = sorted((table.name, column.name) for table in metadata.sorted_tables for column in table.columns)
COLUMNS.append(("alembic_version", "version_num"))
_USUAL = [200] * 4 + [401, 200, 404, 200, 200, 201, 409] + [200] * 5


class Used:
    """The service, made once in a folder. `server` is a PostgreSQL that it has a database on; on SQLite there is none.

    With a `template`, a database that is migrated, it need not migrate its own.
    """

    def __init__(self, folder: Path, server: str | None = None, template: str | None = None) -> None:
        self.folder = folder
        self.server = server
        self.url = None if server is None else new_database(server, like=template)
        settings = self.settings(folder, self.url)
        with Api(create_app(settings, frozen_clock)) as api:
            self.keys = api.keys
            api.register(budget="1")
            self.release, other = (api.published(epsilon="0.1") for _ in range(2))
            self.open = str(api.order(epsilon="0.1", headers={"Idempotency-Key": "once"}).json()["id"])
            for release in (self.release, other):
                api.analyst("GET", f"/v1/releases/{release}/clusters?k=2&method=projected")
            ended, self.ended = issue_key(api.service, name="ended", role=Role.ADMIN, datasets=None)
            api.admin("DELETE", f"/v1/keys/{ended.principal.id}")
            self.limited = issue_key(api.service, name="l", role=Role.ANALYST, datasets=frozenset({"other"}))[1]
            self.cookie = visitor(api, Role.ANALYST).cookie
            api.auditor("POST", "/v1/ledger/verifications")
            api.register("last", budget="9")
            counted = api.order("last", rule="adaptive", epsilon="9", clusters=1).json()["id"]
            self.counted = counted
            sent = {"content": counts_body(api, counted), "headers": COUNTS}
            assert api.curator("PUT", f"/v1/releases/{counted}/counts", **sent).json()["state"] == "counting"
            assert api.analyst("GET", f"/v1/releases/{self.release}/receipt").status_code == 200
            with api.service.database.transaction() as tx:
                tx.execute(text("INSERT INTO datasets (name, description) VALUES ('old', 'of version 0.1')"))
                cosignature = "INSERT INTO cosignatures (size, signer, line) VALUES (5, 'w', :line)"
                tx.execute(text(cosignature), {"line": "— w AAAAAAAAAAA="})

    @staticmethod
    def settings(folder: Path, url: str | None = None) -> Settings:
        """A data folder with its witness beside it."""
        given = {} if url is None else {"database_url": url}
        return Settings(data_dir=folder / "data", log_level="error", **given)

    def copy(self, folder: Path) -> Settings:
        """The same service in another folder, and, on PostgreSQL, in another database."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return self.settings(folder, None if self.server is None else new_database(self.server, like=self.url))

    def opened(self, settings: Settings) -> Api:
        """The service with the keys that it had."""
        return Api(create_app(settings, frozen_clock), keys=self.keys)

    def deeds(self, api: Api) -> Deeds:
        """Who gets in, what is answered, charged, refused, left and published."""
        api.forget_answers()
        analyst, curator = api.analyst, api.curator
        done = {f"as {role}": api.call(role, "GET", "/v1/datasets/last") for role in Role}
        done["by a revoked key"] = api.call_with(self.ended, "GET", "/v1/keys")
        done["by a cookie"] = api.call(None, "GET", "/v1/datasets/last", headers={"Cookie": self.cookie})
        done["by a limited key"] = api.call_with(self.limited, "GET", f"/v1/releases/{self.release}")
        done["clusters"] = analyst("GET", f"/v1/releases/{self.release}/clusters?k=2&method=projected")
        done["count"] = analyst("GET", f"/v1/releases/{self.release}/count")
        done["the same order"] = api.order(epsilon="0.1", headers={"Idempotency-Key": "once"})
        done["too much"] = api.order(epsilon="0.71")
        done["dataset"] = curator("GET", "/v1/datasets/city")
        done["counts"] = curator("GET", f"/v1/releases/{self.counted}/counts")
        receipt = analyst("GET", f"/v1/releases/{self.release}/receipt")
        done["upload"] = api.upload(self.open, ROWS)
        done["left"] = curator("GET", "/v1/datasets/city")
        told = {name: (reply.status_code, reply.json()) for name, reply in done.items()}
        told["receipt"] = (receipt.status_code, shown_by(receipt, api) if receipt.status_code == 200 else None)
        digest = told["upload"][1].get("synopsis", {}).get("digest")
        return json.loads(json.dumps(told).replace(str(digest), "the digest")) if digest else told


def shown_by(receipt: Response, api: Api) -> Any:
    """What a receipt shows to somebody who trusts the log's key."""
    policy = Policy.parse(api.call(None, "GET", "/log/policy").text)
    facts = Receipt.parse(receipt.text).require(policy)
    return [facts.dataset, facts.release, str(facts.epsilon), facts.digest, facts.publish_seq]


def require_usual(done: Deeds) -> None:
    """What is done where nobody meddled has the statuses that it should have."""
    assert [status for status, _ in done.values()] == _USUAL, done


def refused(done: Deeds) -> list[str]:
    """What was refused: with 503, or with 401 because the session is gone."""
    return [name for name, (status, _) in done.items() if status == 503 or (name, status) == ("by a cookie", 401)]


def differing(done: Deeds, untouched: Deeds) -> list[str]:
    """What was neither as it would have been, nor refused."""
    expected = dict(untouched)
    if done["upload"][0] == 503:  # nothing was published
        expected["left"] = untouched["dataset"]
    others = done.keys() - set(refused(done))
    return sorted(name for name in others if list(done[name]) != list(expected[name]))


@contextmanager
def behind_triggers(settings: Settings) -> Iterator[Connection]:
    """A connection whose edits no trigger and no check stops; they are committed at the end.

    On SQLite the triggers are gone afterwards, as for an intruder with the file; on PostgreSQL they
    are on again.
    """
    database = Database(settings.url)
    try:
        with database.engine.connect() as connection:
            if database.is_sqlite:
                for pragma in ("foreign_keys = OFF", "ignore_check_constraints = ON"):
                    connection.exec_driver_sql(f"PRAGMA {pragma}")
                connection.rollback()
                triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
                for name in connection.exec_driver_sql(triggers).scalars().all():
                    connection.exec_driver_sql(f"DROP TRIGGER {name}")
                yield connection
            else:
                triggers = "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal"
                names = connection.exec_driver_sql(triggers).all()
                for table, name in names:
                    connection.exec_driver_sql(f"ALTER TABLE {table} DISABLE TRIGGER {name}")
                yield connection
                for table, name in names:
                    connection.exec_driver_sql(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}")
            connection.commit()
    finally:
        database.dispose()
