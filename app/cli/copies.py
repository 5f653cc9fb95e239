"""`rugnik backup` and `rugnik restore`: a verified copy of the database, and a new database from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.options import read_log_key
from app.cli.output import note, progress_bar


def backup(
    file: Annotated[Path, typer.Argument(help="The new file.", show_default=False)],
) -> None:
    """Copy the database to an SQLite file while the service runs, verify the copy, and sign what it holds.

    It works for SQLite and PostgreSQL, takes RUGNIK_… as `serve` does, and
    writes FILE and FILE.checkpoint. The copy has no sessions and no stored
    answers. The witness file and the log's key are not part of it: keep them
    elsewhere.

    \b
    Example:
      rugnik backup /backups/rugnik-2026-11-18.db
    """
    from app.main import make_service
    from app.operations.copies import back_up
    from app.operations.server import settings_in_use
    from app.storage.database import closing_all

    service = make_service(settings_in_use())
    with closing_all(service.database), progress_bar("Copying", counted="rows") as progress:
        checkpoint = back_up(service, file, progress)
    size = str(checkpoint).split("\n")[1]
    typer.echo(f"{file}: {size} entries, all of which hold.")
    note(f"{file}.checkpoint is the signed checkpoint of this copy: keep it with the copy.")


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `rugnik backup` wrote.", show_default=False)],
    log_key: Annotated[
        str | None,
        typer.Option(
            help="Where the log's key is not on this machine: its verifier key, NAME+ID+BASE64.", show_default=False
        ),
    ] = None,
) -> None:
    """Fill an empty database from a copy. The service starts on it if it holds all that the witness saw.

    RUGNIK_DATABASE_URL or RUGNIK_DATA_DIR name the new database; it is migrated
    first. FILE.checkpoint has to be signed by the log's key, the file beside the
    witness; elsewhere, give the published key with --log-key. An older copy is
    refused by `serve`: put the missing entries back with `rugnik ledger restore`,
    or answer questions from it with --read-only.

    \b
    Example:
      rugnik restore /backups/rugnik-2026-11-18.db
      RUGNIK_DATA_DIR=new-data rugnik restore /backups/rugnik-2026-11-18.db --log-key "$LOG_KEY"
    """
    from app.operations import server
    from app.operations.copies import CHECKPOINT_SUFFIX
    from app.operations.copies import restore as fill
    from app.operations.start_checks import database_errors
    from app.storage.database import Database, closing_all

    settings, trusted = server.read_settings(), None if log_key is None else read_log_key(log_key)
    if not file.is_file():
        raise FileNotFoundError(2, "there is no such file", str(file))
    server.migrate(settings)
    source, target = Database(f"sqlite:///{file.resolve()}"), Database(settings.url)
    with closing_all(source, target), database_errors(target), progress_bar("Restoring", counted="rows") as progress:
        beside = file.with_name(file.name + CHECKPOINT_SUFFIX)
        entries = fill(source, target, beside, progress, settings=settings, log_key=trusted)
    typer.echo(f"The database has the {entries} entries of {file}.")
