"""`rugnik rule`, `requests`, `approve` and `refuse`: what takes two keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.curator import Dataset_
from app.cli.exits import Code, fail
from app.cli.options import URL, AsJson, Key, Url, connect
from app.cli.output import note, show_json, show_list

if TYPE_CHECKING:
    from rugnik.wire import ApprovalRequest

RequestId = Annotated[str, typer.Argument(metavar="ID", help="The request's id, such as q17.", show_default=False)]


def rule(
    dataset: Dataset_,
    above: Annotated[
        str | None, typer.Option(help="More epsilon than this takes two keys; 0 is all.", show_default=False)
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Remove the rule.")] = False,
    url: Url = URL,
    key: Key = None,
) -> None:
    """Set the two-person rule of a dataset: above it, one key asks and another approves.

    It is about orders, grants and voids, each by itself. One key sets or
    lowers it. To raise or to remove it takes two keys as well.

    \b
    Example:
      rugnik rule survey --above 0.5
    """
    if (above is None) != off:
        fail("Give either --above EPSILON or --off.", Code.USAGE)
    with connect(url, key) as client:
        client.set_rule(dataset, above)
    typer.echo(f"{dataset} has no two-person rule." if off else f"{dataset}: more than epsilon {above} takes two keys.")


def requests(
    dataset: Annotated[str | None, typer.Option(help="Requests of this dataset only.", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", help="Those that were decided as well.")] = False,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List what waits for a second person.

    \b
    Example:
      rugnik requests
    """
    with connect(url, key) as client:
        listed = list(client.requests(dataset=dataset, state=None if every else "waiting"))
    columns = ("id", "state", "dataset", "kind", "epsilon", "release", "asked by", "on", "terms")
    show_list(listed, columns, _row, as_json=as_json)


def approve(
    request: RequestId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: you know what it asks for.")] = False,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Approve what another key asked for. Shows all of it first, and asks.

    \b
    Example:
      rugnik approve q17
    """
    with connect(url, key) as client:
        if not yes:
            _show(client.request(request))
            typer.confirm(f"Approve {request}? This cannot be undone.", abort=True, err=True)
        decided = client.approve(request)
    if as_json:
        show_json(decided.raw)
        return
    typer.echo(f"{decided.id} is approved: {_sentence(decided)}.")
    if decided.kind == "charge":
        note(f"Rows go to it with: rugnik release FILE … --order {decided.release}")


def refuse(
    request: RequestId,
    reason: Annotated[str, typer.Option(help="Why; the ledger records it.", show_default=False)] = "",
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Refuse a request for good, or withdraw one of your own.

    \b
    Example:
      rugnik refuse q17 --reason "more than was agreed"
    """
    with connect(url, key) as client:
        decided = client.refuse(request, reason=reason)
    if as_json:
        show_json(decided.raw)
    else:
        typer.echo(f"{decided.id} is refused.")


def _row(request: ApprovalRequest) -> tuple[Any, ...]:
    return (
        request.id,
        request.state,
        request.dataset,
        request.kind,
        request.epsilon,
        request.release,
        request.requested_by,
        request.requested_on,
        json.dumps(request.content, ensure_ascii=False),
    )


def _show(request: ApprovalRequest) -> None:
    """Everything that would be approved, as remarks."""
    note(f"{request.id} asks for: {_sentence(request)}.")
    note(f"Asked by {request.requested_by} on {request.requested_on}. The terms:")
    note(json.dumps(request.content, indent=2, ensure_ascii=False))


def _sentence(request: ApprovalRequest) -> str:
    match request.kind:
        case "charge":
            return f"order {request.release} of {request.dataset} for epsilon {request.epsilon}"
        case "grant":
            return f"epsilon {request.epsilon} more for {request.dataset}"
        case "void":
            return f"void {request.release} of {request.dataset}, which gives back epsilon {request.epsilon}"
        case _:
            above = request.content.get("above")
            threshold = "no two-person rule" if above is None else f"two persons above {above}"
            return f"{threshold} for {request.dataset}"
