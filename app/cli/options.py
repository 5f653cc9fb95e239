"""Options that most commands share, and the client that they connect with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.exits import Code, fail

if TYPE_CHECKING:
    from core.log.note import VerifierKey
    from core.log.policy import Policy
    from rugnik import Client

URL = "http://127.0.0.1:8000"

Url = Annotated[
    str, typer.Option("--url", envvar="RUGNIK_URL", help="The address of the service.", rich_help_panel="Service")
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        envvar="RUGNIK_KEY",
        show_default=False,
        help="Your key. The variable is safer: other users of a machine can see options.",
        rich_help_panel="Service",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the service's JSON instead of a table.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file instead.", show_default=False)]


def connect(url: str, key: str | None) -> Client:
    """A client with a short retry: three attempts, about a second in all, if nothing listens at the address.

    Ends the command if there is no key or if the address is not one of HTTP.
    """
    from rugnik import Client, Retries

    if not key:
        fail("A key is needed: set RUGNIK_KEY, or give --key.", Code.KEY)
    if not url.lower().startswith(("http://", "https://")):
        fail("An address begins with http:// or https://. Check --url or RUGNIK_URL.", Code.NOT_REACHED)
    return Client(url, key, retries=Retries(attempts=3, first_wait=0.3))


def read_log_key(text: str) -> VerifierKey:
    """The verifier key of a log, as --log-key gives it. Ends the command where it is none."""
    from core.log.note import InvalidNote, SignatureType, VerifierKey

    try:
        key = VerifierKey.parse(text)
    except InvalidNote as error:
        fail(f"--log-key: {error}", Code.USAGE)
    if key.type is not SignatureType.LOG:
        fail("--log-key: this is the key of a witness, not that of a log.", Code.USAGE)
    return key


def read_policy(path: Path) -> Policy:
    """The policy in a file. Ends the command where the file is no policy."""
    from core.log.policy import InvalidPolicy, Policy

    try:
        return Policy.parse(path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError:
        fail(f"{path} is not UTF-8.", Code.USAGE)
    except InvalidPolicy as error:
        fail(f"{path}: {error}", Code.USAGE)
