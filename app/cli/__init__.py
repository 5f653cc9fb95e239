"""The command-line tool `rugnik`. Commands that speak to a service use the client library `rugnik`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

import app.cli.analyst  # adds commands to `rugnik query`
import app.cli.statistics  # noqa: F401 - as above
from app.cli import (
    admin,
    asking,
    auditor,
    cards,
    checking,
    copies,
    curator,
    deciding,
    demo,
    doctor,
    drafting,
    log,
    planning,
    releasing,
    serve,
    taking,
    verifying,
    witness,
)
from app.cli.exits import CODES, ExplainingGroup
from app.cli.output import set_quiet

HELP = """Upload once, ask for ever, audit every billionth of epsilon.

\b
Try it:     rugnik demo
Publish:    rugnik release rows.csv --epsilon 0.5 --clusters 5
Ask:        rugnik query clusters bike-trips --k 5
Audit:      rugnik ledger verify
Check:      rugnik verify bike-trips.csv --policy city.policy

Commands that speak to a service take its address and your key from
RUGNIK_URL and RUGNIK_KEY, or --url and --key."""

main = typer.Typer(
    name="rugnik",
    cls=ExplainingGroup,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,  # its frames could show a key
    help=HELP,
    epilog=CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rugnik {version('rugnik')}")
        raise typer.Exit


@main.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print the result alone, no remarks. May stand anywhere in the line.")
    ] = False,
) -> None:
    set_quiet(quiet)


RUNNING, CURATING, DECIDING, ASKING = "Run the service", "Curate", "Decide as a second person", "Ask and audit"
for run in (demo.demo, serve.serve, serve.migrate, doctor.doctor, copies.backup, copies.restore, witness.witness):
    main.command(rich_help_panel=RUNNING)(run)
main.add_typer(admin.keys, name="keys", rich_help_panel=RUNNING)
main.add_typer(log.log, name="log", rich_help_panel=RUNNING)
main.add_typer(curator.datasets, name="datasets", rich_help_panel=CURATING)
main.command(rich_help_panel=CURATING)(planning.plan)
main.command(rich_help_panel=CURATING)(drafting.init)
main.command(rich_help_panel=CURATING)(checking.check)
main.command(rich_help_panel=CURATING)(releasing.release)
main.command(rich_help_panel=CURATING)(curator.void)
for decide in (deciding.rule, deciding.requests, deciding.approve, deciding.refuse):
    main.command(rich_help_panel=DECIDING)(decide)
for take in (cards.card, taking.bundle, taking.receipt):
    main.command(rich_help_panel=ASKING)(take)
main.add_typer(asking.query, name="query", rich_help_panel=ASKING)
main.command(rich_help_panel=ASKING)(verifying.verify)
main.add_typer(auditor.ledger, name="ledger", rich_help_panel=ASKING)
