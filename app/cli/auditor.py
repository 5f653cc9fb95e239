"""`rugnik ledger …`: read it, let the service verify it, take it away, and verify a copy without any service."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.shared import URL, AsJson, Code, Key, Output, Url, connect, fail, note, show_json, show_table
from core.ledger.kinds import Kind

if TYPE_CHECKING:
    from core.ledger.entry import LedgerEntry

ledger = typer.Typer(no_args_is_help=True, help="Where every billionth of epsilon went.")


@ledger.command("list")
def list_entries(
    dataset: Annotated[str | None, typer.Option(help="Entries of this dataset only.", show_default=False)] = None,
    kind: Annotated[str | None, typer.Option(help=f"{', '.join(Kind)}.", show_default=False)] = None,
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
        found = list(client.ledger_entries(dataset=dataset, kind=kind))
    if as_json:
        show_json([entry.raw for entry in found])
        return
    rows = [(e.seq, e.at, e.kind, e.dataset, e.release, e.epsilon, e.actor, e.hash[:12]) for e in found]
    show_table(("seq", "at", "kind", "dataset", "release", "epsilon", "actor", "hash"), rows)


@ledger.command()
def verify(
    file: Annotated[Path | None, typer.Argument(help="An export to verify here, without the service.")] = None,
    head: Annotated[
        str | None, typer.Option(help="A hash that was noted earlier: the ledger must hold it.", show_default=False)
    ] = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Walk the whole chain: numbers, hashes, balances. Ends with 5 where it does not hold.

    Without FILE the service walks its own ledger, and compares it with its
    witness. With FILE nothing is asked of anybody. A head that you noted
    earlier tells, too, whether the ledger was cut short or replaced as a whole.

    \b
    Example:
      rugnik ledger verify
      rugnik ledger verify ledger.ndjson
    """
    if file is not None:
        found, holds = _verify_file(file, head)
    else:
        with connect(url, key) as client:
            answer = client.verify_ledger()
            holds = head is None or any(entry.hash == head for entry in client.ledger_entries())
        found = dict(answer.raw)
    if as_json:
        show_json(found | {"holds_head": holds})
    if not found["valid"]:
        fail(f"The ledger is not valid from entry {found['first_bad']} on: {found['reason']}", Code.LEDGER_BROKEN)
    if not holds:
        fail("Every entry holds, but the head you noted is not among them.", Code.LEDGER_BROKEN)
    if not as_json:
        typer.echo(f"All {found['entries']} entries hold. The head is {found['head']['hash']}.")


@ledger.command()
def export(output: Output = None, url: Url = URL, key: Key = None) -> None:
    """Take the whole ledger away as NDJSON, one entry a line.

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


def _verify_file(path: Path, head: str | None) -> tuple[dict[str, Any], bool]:
    """What walking an export gives, spelt as the service would, and whether the head that was noted is in it."""
    from core.ledger.chain import verify as walk

    seen: set[str] = set()
    with path.open("rb") as lines:
        found = walk(_entries(lines, seen))
    told = {
        "valid": found.valid,
        "entries": found.entries,
        "head": {"seq": found.head.seq, "hash": found.head.hash},
        "first_bad": found.first_bad,
        "reason": found.reason,
    }
    return told, head is None or head in seen


def _entries(lines: Iterable[bytes], seen: set[str]) -> Iterator[LedgerEntry | None]:
    from core.ledger.entry import LedgerEntry

    for line in lines:
        entry = LedgerEntry.from_line(line.rstrip(b"\n"))
        if entry is not None:
            seen.add(entry.hash)
        yield entry
