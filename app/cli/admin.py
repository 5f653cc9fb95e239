"""`rugnik keys …`: issue, list and revoke keys. Needs an admin key."""

from __future__ import annotations

from typing import Annotated

import typer

from app.access.permissions import Role
from app.cli.options import URL, AsJson, Key, Url, connect
from app.cli.output import note, show_json, show_list

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
        issued = client.issue_key(name, role, datasets=dataset or None)
    if as_json:
        show_json(issued.raw)
        return
    typer.echo(issued.key)
    note(f"This is key {issued.id} of role {issued.role}. It is not shown again.")


@keys.command("list")
def list_keys(url: Url = URL, key: Key = None, as_json: AsJson = False) -> None:
    """List every key ever issued, without secrets.

    \b
    Example:
      rugnik keys list
    """
    with connect(url, key) as client:
        show_list(
            client.keys(),
            ("id", "name", "role", "datasets", "created", "revoked"),
            lambda k: (
                k.id,
                k.name,
                k.role,
                ", ".join(k.datasets or ["all"]),
                k.created_at,
                k.revoked_at,
            ),
            as_json=as_json,
        )


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
