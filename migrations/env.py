"""Runs the migrations: one process at a time, with timeouts, on the connection that `app.storage.database` passes."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, text

from app.storage.tables import metadata

# An arbitrary number; every version of rugnik must use the same one.
_ADVISORY_LOCK = 728_474_545


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        transactional_ddl=True,  # SQLite supports it too, which Alembic does not assume: a migration is atomic
        compare_type=True,
    )
    with context.begin_transaction():
        if connection.dialect.name == "postgresql":
            # A migration gives up after 4 s instead of waiting for a long reader, because all other requests would wait
            # behind it. A second process that migrates waits at the advisory lock, for up to 60 s.
            connection.execute(text("SET LOCAL statement_timeout = '60s'"))
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})"))
            connection.execute(text("SET LOCAL lock_timeout = '4s'"))
        context.run_migrations()


_run(context.config.attributes["connection"])
