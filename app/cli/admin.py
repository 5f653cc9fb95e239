"""`rugnik keys …`: who may do what. Takes an admin key."""

from __future__ import annotations

from typing import Annotated

import typer

from app.access.permissions import Role
from app.cli.shared import URL, AsJson, Key, Url, connect, note, show_json, show_table

keys = typer.Typer(no_args_is_help=True, help="Keys for people; takes an admin key.")


@keys.command()
def new(
    name: Annotated[str, typer.Argument(help="Whose key it is; the ledger names it.", show_default=False)],
    role: Annotated[str, typer.Option(help=f"{', '.join(Role)}.", show_default=False)],
    dataset: Annotated[
        list[str] | None, typer.Option(help="Limit it to this dataset; repeat for more.", show_default="no limit")
    ] = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Issue a key. The secret goes to standard output, alone and this once.

    \b
    Example:
      rugnik keys new "statistics desk" --role analyst --dataset bike-trips
    """
    with connect(url, key) as client:
        made = client.issue_key(name, role, datasets=dataset or None)
    if as_json:
        show_json(made.raw)
        return
    typer.echo(made.key)
    note(f"This is key {made.id} of role {made.role}. It is not shown again.")


@keys.command("list")
def list_keys(url: Url = URL, key: Key = None, as_json: AsJson = False) -> None:
    """List every key ever issued, without secrets.

    \b
    Example:
      rugnik keys list
    """
    with connect(url, key) as client:
        found = client.keys()
    if as_json:
        show_json([one.raw for one in found])
        return
    rows = [
        (one.id, one.name, one.role, ", ".join(one.datasets) if one.datasets else "all", one.created_at, one.revoked_at)
        for one in found
    ]
    show_table(("id", "name", "role", "datasets", "created", "revoked"), rows)


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, not its secret.", show_default=False)],
    url: Url = URL,
    key: Key = None,
) -> None:
    """End a key. It stays listed, because the ledger names it.

    \b
    Example:
      rugnik keys revoke k0123abcd
    """
    with connect(url, key) as client:
        client.revoke_key(key_id)
    typer.echo(f"{key_id} is revoked.")
