"""`rugnik witness`: a small witness for logs of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.options import read_policy


def witness(
    key_file: Annotated[
        Path, typer.Option("--key", help="File of the witness's key (Ed25519, PKCS#8 PEM). Made if it is missing.")
    ],
    policy: Annotated[Path, typer.Option(help="Policy file. Its `log` lines are the logs to sign for.")],
    state: Annotated[Path, typer.Option(help="Folder for what was signed. Never restore an old copy of it.")],
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the witness in its signatures. Default: the key file's name without its ending.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8100,
    address: Annotated[
        str | None,
        typer.Option(help="URL by which logs reach this witness, for the line that is printed.", show_default=False),
    ] = None,
) -> None:
    """Run a witness: it signs the checkpoints of logs as long as they only grow. Ctrl-C stops it.

    It prints the line that the operators of these logs put into their
    policies. GET / shows its key, and the newest size that it signed of each log.

    \b
    Example:
      rugnik witness --key witness.pem --policy policy.txt --state witness-state
    """
    from app.errors import CannotStart
    from app.http.witness_server import serve_witness
    from app.operations.start_checks import require_free
    from app.witnessing.witness import Witness
    from app.witnessing.witness_key import witness_key

    logs = read_policy(policy).logs
    if not logs:
        raise CannotStart(f"{policy} has no line that begins with log, so there is nothing to sign for.")
    require_free(host, port)
    key = witness_key(key_file, name)
    running = Witness(key, logs, state)
    shown = f"[{host}]" if ":" in host else host
    typer.echo(f"witness {key.name} {key.verifier} {address or f'http://{shown}:{port}'}")
    serve_witness(running, host=host, port=port)
