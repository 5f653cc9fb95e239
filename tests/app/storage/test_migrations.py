"""Migrations build the declared schema, atomically, by one process or two at once, on each kind of database."""

from __future__ import annotations

import gc
import re
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import event, inspect, text
from sqlalchemy.exc import DatabaseError, OperationalError
from typer.testing import CliRunner

from app.cli import main
from app.errors import CannotStart
from app.main import make_service
from app.settings.settings import Settings
from app.storage.database import Database, alembic_config
from app.storage.tables import metadata
from tests.support.databases.migrating import two_at_once
from tests.support.leaks.dumps import constraint_names
from tests.support.processes.server import environment
from tests.support.service.api import frozen_clock


@pytest.fixture(params=["sqlite", "postgresql"])
def unmigrated(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    url: str = request.getfixturevalue("postgresql_url")
    return url


def check(database: Database) -> None:
    """`alembic check`, on a connection of ours."""
    with database.engine.connect().execution_options(rugnik_writes=True) as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.check(config)


def test_the_migrations_build_what_the_code_expects(unmigrated: str) -> None:
    """`alembic check` finds no difference, and a second run changes nothing."""
    database = Database(unmigrated)
    assert database.pending_migrations()
    for _ in range(2):
        database.migrate()
        check(database)
        assert not database.pending_migrations()
    with database.read_only() as tx:
        assert set(inspect(tx).get_table_names()) == {*metadata.tables, "alembic_version"}
        assert tx.execute(text("SELECT count(*) FROM ledger_lock")).scalar_one() == 1
    database.dispose()


def test_two_runners_at_once_both_succeed(unmigrated: str) -> None:
    """One builds, the other waits and finds it built: several workers may start, or deploy, together."""
    rounds = 3
    urls = [unmigrated]
    if unmigrated.startswith("sqlite"):
        urls = [unmigrated.replace("empty.db", f"{number}.db") for number in range(rounds)]
    assert two_at_once(urls) == [0, 0]
    for url in urls:
        database = Database(url)
        check(database)
        with database.read_only() as tx:
            assert tx.execute(text("SELECT count(*) FROM ledger_lock")).scalar_one() == 1
        database.dispose()


def test_a_migration_that_fails_leaves_nothing(unmigrated: str) -> None:
    """All of it or none of it, also where the database fails at the last trigger; the next run starts over."""
    database = Database(unmigrated)

    def fail(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "TRIGGER ledger_in_order" in statement:
            raise OSError("the disk is full")

    event.listen(database.engine, "before_cursor_execute", fail)
    with pytest.raises(OSError, match="disk is full"):
        database.migrate()
    event.remove(database.engine, "before_cursor_execute", fail)
    with database.read_only() as tx:
        assert set(inspect(tx).get_table_names()) <= {"alembic_version"}
    database.migrate()
    check(database)
    database.dispose()


def test_periods_of_the_log_keep_their_order(unmigrated: str) -> None:
    """One that a clock far ahead has begun is the last, and further ones come after it; none is ever changed."""
    database = Database(unmigrated)
    with database.engine.connect().execution_options(rugnik_writes=True) as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0008")
    with database.transaction() as tx:
        tx.execute(text("INSERT INTO periods (start, size) VALUES (9000, 7), (3600, 2), (7200, 2)"))
    database.migrate()
    with database.transaction() as tx:
        tx.execute(text("INSERT INTO periods (start, size) VALUES (7200, 7)"))
    with database.read_only() as tx:
        rows = tx.execute(text("SELECT number, start, size FROM periods ORDER BY number")).all()
    assert [tuple(row) for row in rows] == [(1, 3600, 2), (2, 7200, 2), (3, 9000, 7), (4, 7200, 7)]
    edits = ["UPDATE periods SET size = 0", "DELETE FROM periods"]
    if database.is_sqlite:
        edits.append("INSERT OR REPLACE INTO periods (number, start, size) VALUES (1, 0, 0)")
    for edit in edits:
        with pytest.raises(DatabaseError), database.transaction() as tx:
            tx.execute(text(edit))
    database.dispose()


def test_every_constraint_has_a_name(unmigrated: str) -> None:
    """One that a later migration can drop, and that an error message can be recognised by; the same on both."""
    database = Database(unmigrated)
    database.migrate()
    with database.read_only() as tx:
        by_table = constraint_names(tx)
        indices = [index["name"] for table in metadata.tables for index in inspect(tx).get_indexes(table)]
    database.dispose()
    by_table.pop("alembic_version")
    declared = {
        table.name: sorted(str(constraint.name) for constraint in table.constraints) for table in metadata.sorted_tables
    }
    assert {table: sorted(map(str, names)) for table, names in by_table.items()} == declared
    for table, names in declared.items():
        for name in names:
            assert re.fullmatch(rf"(pk|fk|uq|ck)_{table}(_\w+)?", name)
    assert {index.name for table in metadata.sorted_tables for index in table.indexes} <= set(indices)


def test_there_is_one_line_of_dated_migrations() -> None:
    """No branches: there is one newest schema, and the files sort as they were written."""
    scripts = ScriptDirectory.from_config(alembic_config())
    assert len(scripts.get_heads()) == 1
    oldest_first = [Path(script.path).name for script in reversed(list(scripts.walk_revisions()))]
    assert oldest_first == sorted(oldest_first)
    for name in oldest_first:
        assert re.fullmatch(r"\d{4}_\d{2}_\d{2}_\d{4}_[a-z0-9_]+\.py", name)


def refused(settings: Settings) -> str:
    """Why the service does not start; a connection that it left open would be complained of here."""
    with pytest.raises(CannotStart) as caught:
        make_service(settings, frozen_clock)
    reason = str(caught.value)
    del caught
    gc.collect()
    return reason


def test_an_unmigrated_postgresql_is_refused_with_the_command_that_helps(
    tmp_path: Path, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`rugnik serve` ends at once and names `rugnik migrate`; after that the same settings do."""
    monkeypatch.delattr("uvicorn.run")  # it must not come to that
    settings = Settings(data_dir=tmp_path / "data", database_url=postgresql_url, log_level="warning")
    assert "rugnik migrate" in refused(settings)
    run = CliRunner()
    ended = run.invoke(main, ["serve", "--port", "0"], env=environment(settings))
    assert ended.exit_code == 2
    assert "rugnik migrate" in ended.output
    del ended
    gc.collect()
    migrated = run.invoke(main, ["migrate"], env=environment(settings))
    assert migrated.exit_code == 0, migrated.output
    make_service(settings, frozen_clock).database.dispose()


def test_a_database_of_another_version_is_refused(settings: Settings) -> None:
    """A newer rugnik has migrated it: an older one must not guess what the tables mean."""
    service = make_service(settings, frozen_clock)
    with service.database.transaction() as tx:
        tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    service.database.dispose()
    assert "version" in refused(settings)


def test_sqlite_is_migrated_by_itself(sqlite_settings: Settings) -> None:
    """A laptop needs no second command; the data folder is for its owner alone."""
    make_service(sqlite_settings, frozen_clock).database.dispose()
    assert sqlite_settings.data_dir.stat().st_mode & 0o077 == 0
    database = Database(sqlite_settings.url)
    assert not database.pending_migrations()
    database.dispose()


def test_two_connections_may_open_a_new_sqlite_database_at_the_same_time(tmp_path: Path) -> None:
    """Both make it a WAL database: SQLite refuses one of them about once in seven times, and it tries again."""
    refused: list[Exception] = []

    def connect(url: str, both: Barrier) -> None:
        both.wait()
        database = Database(url)
        try:
            with database.engine.connect():
                pass
        except OperationalError as error:
            refused.append(error)
        finally:
            database.dispose()

    for number in range(100):
        both = Barrier(2)
        pair = [Thread(target=connect, args=(f"sqlite:///{tmp_path}/{number}.db", both)) for _ in range(2)]
        for thread in pair:
            thread.start()
        for thread in pair:
            thread.join()
    assert refused == []
