"""`rugnik log …`: the key that signs the ledger's log. Runs beside the service, on its settings."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.exits import Code, fail
from app.cli.output import note

log = typer.Typer(no_args_is_help=True, help="The signed log of the ledger: its key.")


@log.command()
def key() -> None:
    """Print the policy lines of this log: its name and verifier key, and its witnesses. Publish them.

    \b
    Example:
      rugnik log key
    """
    from app.errors import CannotStart
    from app.log.checkpoints import policy_text
    from app.main import make_service
    from app.operations.server import settings_in_use

    try:
        service = make_service(settings_in_use())
    except CannotStart as error:
        fail(f"{error} Away from the service, its address followed by /log/policy has the same lines.", Code.USAGE)
    typer.echo(policy_text(service), nl=False)
    service.database.dispose()


@log.command()
def rotate(
    lost: Annotated[
        bool, typer.Option("--lost", help="The old key is lost: only the new one signs from now on.")
    ] = False,
) -> None:
    """Put a new key of the log on record, and sign with it from the next start on. Stop the service first.

    The old key signs as well until its file, which ends in .previous, is
    removed: wait until everybody's policy has the new key. Old receipts stay
    valid for whoever keeps the old key in a policy. If the command was
    interrupted, run it again: it finishes what was begun.

    \b
    Example:
      rugnik log rotate
    """
    from app.log.rotation import finish, is_begun
    from app.log.rotation import rotate as rotate_key
    from app.main import make_service
    from app.operations.server import settings_in_use
    from app.operations.start_checks import database_errors, serving_alone
    from app.storage.database import Database, closing_all

    settings, verifier = settings_in_use(), None
    if is_begun(settings):
        database = Database(settings.url)
        with closing_all(database), database_errors(database), serving_alone(database):
            verifier = finish(settings, database)
    if verifier is None:
        service = make_service(settings, lost_key=lost)
        with closing_all(service.database), serving_alone(service.database):
            verifier = rotate_key(service)
    typer.echo(f"log {verifier}")
    note("This key is on record. Publish the line above, and start every service of this database again.")
