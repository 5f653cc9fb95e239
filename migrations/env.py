"""How migrations run: one runner at a time, with timeouts, on the connection that `app.storage.database` hands over."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, text

from app.storage.tables import metadata

# Any number will do as long as every rugnik uses the same one.
_ADVISORY_LOCK = 728_474_545


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        transactional_ddl=True,  # SQLite can, though Alembic does not assume it: all of a migration or none of it
        compare_type=True,
    )
    with context.begin_transaction():
        if connection.dialect.name == "postgresql":
            # Give up rather than queue behind a long reader and block everybody else; a second runner waits here.
            connection.execute(text("SET LOCAL statement_timeout = '60s'"))
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})"))
            connection.execute(text("SET LOCAL lock_timeout = '4s'"))
        context.run_migrations()


_run(context.config.attributes["connection"])
