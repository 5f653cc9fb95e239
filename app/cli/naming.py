"""Names of datasets as a person types them: what was probably meant, where there is no dataset of a name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from app.cli.exits import Code, fail

if TYPE_CHECKING:
    from rugnik import Client


@contextmanager
def naming(client: Client, name: str, remark: str = "") -> Iterator[None]:
    """Ends the command if the block finds no dataset of this name, with the name that was probably meant.

    `remark` stands behind the name, without a full stop.
    """
    from rugnik import errors
    from rugnik.near import did_you_mean, nearest

    try:
        yield
    except errors.NotFound:
        names = [each.name for each in client.datasets()]
        if name in names:
            raise
        hint = did_you_mean(nearest(name, names)) or " `rugnik datasets list` shows those that your key may see."
        fail(f"There is no dataset '{name}'{remark}.{hint}", Code.REFUSED)


def require_order_id(order: str) -> None:
    """End the command if a text is no id of an order."""
    from rugnik.naming import is_id

    if not is_id(order):
        fail(
            f"'{order}' is not the id of an order: r and 16 hex digits, such as r0123456789abcdef. "
            "'rugnik datasets releases DATASET' lists them.",
            Code.USAGE,
        )


def near_name(client: Client, name: str) -> str | None:
    """The name of a visible dataset that this one is probably a misspelling of."""
    from rugnik.near import nearest

    return nearest(name, (each.name for each in client.datasets()))
