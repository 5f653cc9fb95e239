"""`rugnik serve` and `rugnik migrate`: running the service."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

from app import serving
from app.errors import CannotStart


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
) -> None:
    """Serve the API. SQLite is migrated by itself; PostgreSQL needs `rugnik migrate` first."""
    try:
        serving.serve(serving.read_settings(), host=host, port=port, workers=workers, show_key=_show_key)
    except CannotStart as error:
        _fail(str(error))


def migrate() -> None:
    """Bring the database to this version of rugnik. Safe to run twice, and by two at once."""
    try:
        serving.migrate(serving.read_settings())
    except CannotStart as error:
        _fail(str(error))
    typer.echo("The database is up to date.")


def _show_key(key: str) -> None:
    typer.echo(f"First start. The admin key, shown this once:\n\n    {key}\n", err=True)


def _fail(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code=2)
