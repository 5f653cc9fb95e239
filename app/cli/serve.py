"""`rugnik serve` and `rugnik migrate`: running the service."""

from __future__ import annotations

from typing import Annotated

import typer


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Answer questions, and charge nothing: for an old copy of the database.")
    ] = False,
) -> None:
    """Serve the API. SQLite is migrated automatically; PostgreSQL needs `rugnik migrate` first.

    The first start prints an admin key, once. Settings are environment variables
    RUGNIK_…; `rugnik doctor` checks them.

    \b
    Example:
      rugnik serve --host 0.0.0.0 --port 8000 --workers 4
    """
    import os

    from app.operations import server

    if read_only:
        os.environ["RUGNIK_READ_ONLY"] = "true"  # workers read their settings themselves
    server.serve(server.read_settings(), host=host, port=port, workers=workers, show_key=_show_key)


def migrate() -> None:
    """Migrate the database to this version of rugnik. Safe to run twice, also at the same time.

    \b
    Example:
      RUGNIK_DATABASE_URL=postgresql+psycopg://rugnik@db/rugnik rugnik migrate
    """
    from app.operations import server

    server.migrate(server.read_settings())
    typer.echo("The database is up to date.")


def _show_key(key: str) -> None:
    typer.echo(f"First start. The admin key, shown this once:\n\n    {key}\n", err=True)
