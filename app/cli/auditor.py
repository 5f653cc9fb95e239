"""`rugnik ledger …`: list, verify, export and follow the ledger, and verify an export without a service."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.exits import Code, fail
from app.cli.options import URL, AsJson, Key, Output, Url, connect, read_policy
from app.cli.output import note, show_json, show_list
from core.ledger.kinds import Kind

if TYPE_CHECKING:
    from core.ledger.entry import LedgerEntry

ledger = typer.Typer(no_args_is_help=True, help="The ledger: every charge of epsilon, verifiable.")


@ledger.command("list")
def list_entries(
    dataset: Annotated[str | None, typer.Option(help="Entries of this dataset only.", show_default=False)] = None,
    kind: Annotated[
        str | None,
        typer.Option(help=f"Entries of this kind only: {', '.join(Kind)}.", show_default=False),
    ] = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List the entries that your key may see, newest last.

    \b
    Example:
      rugnik ledger list --dataset bike-trips
    """
    with connect(url, key) as client:
        entries = list(client.ledger_entries(dataset=dataset, kind=kind))
    show_list(
        entries,
        ("seq", "at", "kind", "dataset", "release", "epsilon", "actor", "hash"),
        lambda e: (e.seq, e.at, e.kind, e.dataset, e.release, e.epsilon, e.actor, e.hash[:12]),
        as_json=as_json,
    )


@ledger.command()
def verify(
    file: Annotated[
        Path | None, typer.Argument(help="An export to verify on this machine, without the service.")
    ] = None,
    head: Annotated[
        str | None, typer.Option(help="A hash that you noted earlier; the ledger must contain it.", show_default=False)
    ] = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Verify every entry: numbers, hashes, balances. The exit code is 5 if the ledger is not valid.

    Without FILE the service verifies its own ledger, and compares it with its
    witness. With FILE no service is asked. A head that you noted earlier also
    shows whether the ledger was cut short or replaced as a whole.

    \b
    Example:
      rugnik ledger verify
      rugnik ledger verify ledger.ndjson
    """
    if file is not None:
        outcome, holds_head = _verify_file(file, head)
    else:
        with connect(url, key) as client:
            answer = client.verify_ledger()
            holds_head = head is None or any(entry.hash == head for entry in client.ledger_entries())
        outcome = dict(answer.raw)
    if as_json:
        show_json(outcome | {"holds_head": holds_head})
    if not outcome["valid"]:
        fail(f"The ledger is not valid from entry {outcome['first_bad']} on: {outcome['reason']}", Code.LEDGER_BROKEN)
    if not holds_head:
        fail("Every entry holds, but the head you noted is not among them.", Code.LEDGER_BROKEN)
    if not as_json:
        typer.echo(f"All {outcome['entries']} entries hold. The head is {outcome['head']['hash']}.")


@ledger.command()
def export(output: Output = None, url: Url = URL, key: Key = None) -> None:
    """Export the whole ledger as NDJSON, one entry per line.

    \b
    Example:
      rugnik ledger export -o ledger.ndjson
    """
    with connect(url, key) as client:
        if output is None:
            client.export_ledger(sys.stdout.buffer)
        else:
            client.export_ledger(output)
            note(f"Written to {output}.")


@ledger.command()
def follow(
    state: Annotated[Path, typer.Argument(help="File that keeps what you have seen. Made by the first visit.")],
    policy: Annotated[
        Path | None,
        typer.Option(help="Policy file with the log's key and the witnesses that you trust.", show_default=False),
    ] = None,
    url: Url = URL,
    key: Key = None,
) -> None:
    """Fetch the new entries, and check that nothing before them changed. The exit code is 5 if something did.

    Run it every day. It checks the signature, the hashes of the new entries,
    and that the ledger of your last visit is the beginning of this one. Only
    `rugnik ledger verify` checks budgets.

    \b
    Example:
      rugnik ledger follow ledger.state
      rugnik ledger follow ledger.state --policy policy.txt
    """
    from app.witnessing.follow_state import DamagedState
    from app.witnessing.following import LogBroken, evidence_path
    from app.witnessing.following import follow as visit

    trusted = None if policy is None else read_policy(policy)
    with connect(url, key) as client:
        try:
            followed = visit(client, state, trusted)
        except DamagedState as error:
            fail(str(error), Code.REFUSED)
        except LogBroken as broken:
            kept = f" Both signed checkpoints are in {evidence_path(state)}." if len(broken.evidence) > 1 else ""
            fail(f"{broken}{kept}", Code.LEDGER_BROKEN)
    if followed.is_first_seen:
        note(f"First visit. The log's key is taken from the service itself, and kept from now on:\n{followed.key}")
        note("Compare it with the key that its operator published, or give --policy.")
    typer.echo(f"{followed.new} new entries hold. The log has {followed.checkpoint.size}, and only grew.")
    if trusted is not None:
        typer.echo(f"Witnesses that signed it: {', '.join(followed.cosigners) or 'none'}.")
    note("Budgets were not checked: only `rugnik ledger verify` walks the whole ledger.")


@ledger.command()
def restore(
    file: Annotated[Path, typer.Argument(help="An export of the ledger (NDJSON).", show_default=False)],
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Where the witness file is lost: a checkpoint of the export, signed by this log.", show_default=False
        ),
    ] = None,
) -> None:
    """Put entries back that an old copy of the database lacks. Runs on the service's settings; stop it first.

    Nothing is changed unless the export has, entry by entry, the root that the
    witness file saw, and no entry after that. Without a witness file, give a
    checkpoint of exactly these entries with --checkpoint: the log's key, beside
    the witness, has to have signed it. Synopses that were published after the copy are lost, and
    the epsilon that they cost stays spent.

    \b
    Example:
      rugnik ledger restore ledger.ndjson
      rugnik ledger restore ledger.ndjson --checkpoint ledger.checkpoint
    """
    from app.ledger.restoring import restore_entries
    from app.ledger.witness import Witness
    from app.log.signing import own_checkpoint
    from app.operations import server
    from app.operations.start_checks import database_errors, serving_alone
    from app.storage.database import Database, closing_all

    settings = server.read_settings()
    database = Database(settings.url)
    with closing_all(database), database_errors(database), serving_alone(database), file.open("rb") as lines:
        signed = None if checkpoint is None else own_checkpoint(checkpoint, database, settings)
        seen = Witness(settings.witness_path).seen()
        restored = restore_entries(database, seen, lines, signed)
    as_known = ""
    if restored.entries == seen.size:
        as_known = ", as the witness saw it"
    elif signed is not None and restored.entries == signed.size:
        as_known = ", as the signed checkpoint says"
    typer.echo(f"{restored.added} entries were put back. The ledger has {restored.entries}{as_known}.")
    if restored.lost:
        note(f"Their synopses are lost: {', '.join(restored.lost)}.")


def _verify_file(path: Path, head: str | None) -> tuple[dict[str, Any], bool]:
    """The result of verifying an export, with the service's field names; and whether it has the noted head, if any."""
    from core.ledger.chain import verify as verify_chain

    hashes: set[str] = set()
    with path.open("rb") as lines:
        outcome = verify_chain(_entries(lines, hashes))
    fields = {
        "valid": outcome.valid,
        "entries": outcome.entries,
        "head": {"seq": outcome.head.seq, "hash": outcome.head.hash},
        "first_bad": outcome.first_bad,
        "reason": outcome.reason,
    }
    return fields, head is None or head in hashes


def _entries(lines: Iterable[bytes], hashes: set[str]) -> Iterator[LedgerEntry | None]:
    """Yield the entries of an export, None for a line that is none; adds the hash of each to `hashes`."""
    from core.ledger.entry import LedgerEntry

    for line in lines:
        entry = LedgerEntry.from_line(line.rstrip(b"\n"))
        if entry is not None:
            hashes.add(entry.hash)
        yield entry
