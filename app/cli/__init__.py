"""`rugnik`: one command-line tool."""

from __future__ import annotations

import typer

from app.cli import service

main = typer.Typer(no_args_is_help=True, add_completion=True, help="A differential-privacy synopsis service.")
main.command()(service.serve)
main.command()(service.migrate)
