"""Databases that are locked by somebody else, or that refuse transactions: deadlocks and serialization failures."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count

import psycopg

from app.storage.database import WAIT_SECONDS
from torture.faults.trial import Fault, Scene, Strike
from torture.services import Place, place

# One lock of ten lasts longer than the service waits, and it refuses; the others are gone before.
_SHORT, _LONG, _LONG_ONES = 0.5, WAIT_SECONDS + 1.0, 10
_CONFLICTS = 0.4  # seconds
_BEFORE_GIVING_UP = 20  # seconds, of whoever must not be the one that a deadlock is resolved at

# Raises what PostgreSQL raises by itself at higher isolation levels, as long as the table `conflicts` has a row: half
# of the time where an entry is inserted, and half of the time at the commit.
_CONFLICTING = """
CREATE TABLE conflicts (at int);
CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF EXISTS (SELECT FROM conflicts) AND random() < 0.5 THEN
    RAISE EXCEPTION 'could not serialize access' USING ERRCODE = 'serialization_failure';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER at_insert AFTER INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION conflict();
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON ledger DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION conflict();
"""


def _hold(scene: Scene, number: int) -> None:
    time.sleep(scene.chance.uniform(0, _SHORT) if number % _LONG_ONES else _LONG)


@contextmanager
def locked_sqlite() -> Iterator[tuple[Place, Strike]]:
    """Another process holds the write lock."""
    with place("SQLite") as here:
        numbers = count()

        def lock(scene: Scene) -> None:
            other = sqlite3.connect(here.settings.sqlite_path, isolation_level=None, timeout=60)
            with closing(other):
                other.execute("BEGIN IMMEDIATE")
                _hold(scene, next(numbers))

        yield here, lock


@contextmanager
def locked_postgresql() -> Iterator[tuple[Place, Strike]]:
    """Another session holds the tables."""
    with place("PostgreSQL") as here:
        numbers = count()

        def lock(scene: Scene) -> None:
            with _session(here) as other, other.transaction():
                other.execute(f"SET LOCAL deadlock_timeout = '{_BEFORE_GIVING_UP}s'")
                other.execute("LOCK TABLE datasets, ledger, ledger_lock IN ACCESS EXCLUSIVE MODE")
                _hold(scene, next(numbers))

        yield here, lock


@contextmanager
def deadlocks() -> Iterator[tuple[Place, Strike]]:
    """Another session has what the service waits for, and waits for what the service has."""
    with place("PostgreSQL") as here:
        with _session(here) as other:
            other.execute("ALTER SYSTEM SET deadlock_timeout = '50ms'")
            other.execute("SELECT pg_reload_conf()")

        def meet(_scene: Scene) -> None:
            with _session(here) as other, other.transaction():
                other.execute(f"SET LOCAL deadlock_timeout = '{_BEFORE_GIVING_UP}s'")
                other.execute("LOCK TABLE ledger IN SHARE MODE")  # the next entry waits, while it holds the other lock
                time.sleep(0.1)
                other.execute("SELECT id FROM ledger_lock FOR UPDATE")

        yield here, meet


@contextmanager
def conflicts() -> Iterator[tuple[Place, Strike]]:
    """Half of all transactions fail to serialize for a while, at a statement or at their commit."""
    with place("PostgreSQL") as here:
        with _session(here) as other:
            other.execute(_CONFLICTING)

        def refuse(_scene: Scene) -> None:
            with _session(here) as other:
                other.execute("INSERT INTO conflicts VALUES (1)")
                time.sleep(_CONFLICTS)
                other.execute("DELETE FROM conflicts")

        yield here, refuse


@contextmanager
def _session(here: Place) -> Iterator[psycopg.Connection]:
    url = here.settings.url.render_as_string(hide_password=False).replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


FAULTS = (
    Fault("database locked, SQLite", locked_sqlite),
    Fault("database locked, PostgreSQL", locked_postgresql),
    Fault("deadlock, PostgreSQL", deadlocks),
    Fault("serialization failures, PostgreSQL", conflicts),
)
