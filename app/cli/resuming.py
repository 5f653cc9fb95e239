"""Which order a command belongs to, so that a command that was interrupted and is repeated never charges twice.

Nothing is kept on this machine. The dataset's releases tell: an order with the same terms that is open, published or
burnt may come from an earlier run of the same command. Then a person says whether another one is wanted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from app.cli.exits import Code, fail
from app.cli.output import note

if TYPE_CHECKING:
    from rugnik import Client
    from rugnik.wire import Dataset, Plan, Release, ReleaseSummary

_OPEN = ("ordered", "counting")


def resume(
    client: Client, dataset: Dataset, terms: Mapping[str, Any], source: str, *, new_order: bool
) -> tuple[Release | None, str | None]:
    """The order that a command goes on with, None for a new one; and the Idempotency-Key of a new one, if any.

    `source` says where the rows come from. Ends the command if a new order cannot be paid.
    """
    plan = _plan(client, dataset.name, terms)
    wanted = _on_record(plan, terms.get("label"))
    resumed = None if new_order else _order_to_resume(client, dataset, wanted)
    if resumed is not None:
        return client.release(resumed), None
    _require_payable(plan, dataset)
    return None, None if new_order else _shared_key(dataset, wanted, source)


def source_of(file: str) -> str:
    """Where rows come from, in the same words for the same file: the whole path of one on this machine."""
    return file if "://" in file else str(Path(file).resolve())


def _plan(client: Client, dataset: str, terms: Mapping[str, Any]) -> Plan:
    """The plan of an order with these terms; a label is no part of it."""
    return client.plan(dataset, **{name: value for name, value in terms.items() if name != "label"})


def _on_record(plan: Plan, label: str | None) -> Mapping[str, Any]:
    """The terms as an order has them on record."""
    return {**plan.order, **({} if label is None else {"label": label})}


def _require_payable(plan: Plan, dataset: Dataset) -> None:
    """End the command if the order of a plan would be refused for lack of budget, or because the dataset is closed."""
    if dataset.state == "closed":
        fail(f"{dataset.name} is closed: it takes no more orders. Nothing was spent.", Code.REFUSED)
    if plan.budget is not None and plan.budget.after is None:
        fail(
            f"Not enough epsilon: {plan.order['epsilon']} is asked for, {plan.budget.remaining} is left of "
            f"{dataset.name}. No row was read, and nothing was spent.",
            Code.NO_BUDGET,
        )


def require_within(budget: str, epsilon: str) -> None:
    """End the command if a dataset that is still to be registered could not pay for its first order."""
    try:
        is_within = Decimal(epsilon) <= Decimal(budget)
    except InvalidOperation:
        return  # the service says what is wrong with it
    if not is_within:
        fail(
            f"Not enough epsilon: {epsilon} is asked for, and the budget is to be {budget}. Nothing was registered or "
            "spent.",
            Code.NO_BUDGET,
        )


def _order_to_resume(client: Client, dataset: Dataset, wanted: Mapping[str, Any]) -> str | None:
    """The id of the open order that this command goes on with; None if it shall place a new one.

    Asks on a terminal if there is an order of the same terms. Elsewhere ends the command.
    """
    _require_none_waiting(client, dataset, wanted)
    earlier = _same_terms(client, dataset, wanted)
    if earlier is None:
        return None
    is_open, more = earlier.state in _OPEN, f"epsilon {wanted['epsilon']} more"
    sentence = _sentence(earlier, dataset.name)
    if not sys.stdin.isatty() or earlier.state == "counting":
        further = f"For another one, which spends {more}: '--new-order'."
        go_on = f" Go on with it: '--order {earlier.id}'." if is_open else ""
        fail(f"{sentence} Nothing was spent now.{go_on} {further}", Code.REFUSED)
    if is_open and typer.confirm(f"{sentence} Go on with it?", default=True, err=True):
        return earlier.id
    typer.confirm(f"{'' if is_open else f'{sentence} '}Spend {more} on another one?", abort=True, err=True)
    return None


def _shared_key(dataset: Dataset, wanted: Mapping[str, Any], source: str) -> str | None:
    """The Idempotency-Key of two commands that see the same releases and want the same of one file: they pay once.

    A command may read its file for long between its look at the releases and its order. None where two persons decide:
    a request that was refused may be asked for again.
    """
    if dataset.two_persons_above is not None:
        return None
    seen = [dataset.name, dataset.release_count, dict(wanted), source]
    return sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


def _sentence(earlier: Release, dataset: str) -> str:
    if earlier.state == "counting":
        return (
            f"There is an open order {earlier.id} of {dataset} with the same terms. A part of it is counted already, "
            "perhaps by this command before it was interrupted, and the rest must be counted from the same files."
        )
    if earlier.state in _OPEN:
        return (
            f"There is an open order {earlier.id} of {dataset} with the same terms. It is paid for, perhaps by this "
            "command before it was interrupted."
        )
    became = "is published already" if earlier.state == "published" else "is burnt: its epsilon is spent"
    return f"A release {earlier.id} of {dataset} with the same terms {became}, perhaps from this command."


def require_same_terms(order: Release, dataset: str | None, typed: Mapping[str, Any]) -> None:
    """End the command if an option contradicts the order that it goes on with."""
    terms = order.plan.order
    if dataset is not None and dataset != order.dataset:
        fail(f"The order {order.id} is one of '{order.dataset}', not of '{dataset}'.", Code.USAGE)
    size = terms["size"]
    held = {**terms, "declared": size.get("declared"), "estimate": size.get("estimate")}
    held["offsets"] = terms.get("offsets", False)  # on record only where there are any
    for name, value in typed.items():
        if value is None or _equal(held.get(name), value):
            continue
        fail(
            f"{_option(name, value)} contradicts the order {order.id}, which has {_words(held.get(name))}. Leave "
            "it out: the order has its terms.",
            Code.USAGE,
        )


def require_open(order: Release) -> bool:
    """Whether an order still takes rows; False if it is published. Ends the command if it takes none for good."""
    if order.state in _OPEN:
        return True
    if order.state != "published":
        ended = "voided" if order.state == "void" else "burnt: its epsilon is spent"
        fail(f"The order {order.id} is {ended}, and takes no rows. Place a new one, without --order.", Code.REFUSED)
    note(f"{order.id} is published already: no row was sent now.")
    return False


def _require_none_waiting(client: Client, dataset: Dataset, wanted: Mapping[str, Any]) -> None:
    """End the command if the same order waits for a second person."""
    if dataset.two_persons_above is None:
        return
    for request in client.requests(dataset=dataset.name, state="waiting"):
        if request.kind == "charge" and request.content.get("order") == wanted:
            fail(
                f"The same order waits for a second person already, as {request.id}. Nothing was asked for again. Once "
                f"it is approved, go on with '--order {request.release}'. For another one: '--new-order'.",
                Code.WAITING,
            )


def _same_terms(client: Client, dataset: Dataset, wanted: Mapping[str, Any]) -> Release | None:
    """A release of a dataset with the same terms that is not void: an open one if there is one, else the newest."""
    listed: list[ReleaseSummary] = list(client.releases(dataset.name) if dataset.earlier_releases else dataset.releases)
    epsilon, label = Decimal(wanted["epsilon"]), wanted.get("label")
    alike = [each for each in reversed(listed) if Decimal(each.epsilon) == epsilon and each.label == label]
    possible = [each for each in alike if each.state != "void"]
    for each in sorted(possible, key=lambda summary: summary.state not in _OPEN):
        release = client.release(each.id)
        if dict(release.plan.order) == dict(wanted):
            return release
    return None


def _equal(held: Any, typed: Any) -> bool:
    if isinstance(typed, str) and isinstance(held, str):
        try:
            return Decimal(held) == Decimal(typed)
        except InvalidOperation:
            return held == typed
    return bool(held == typed)


def _option(name: str, value: Any) -> str:
    """An option as it was typed."""
    if isinstance(value, bool):
        return f"--{'' if value else 'no-'}{name}"
    option = "use" if name == "attributes" else name.replace("_", "-")
    return f"--{option} {_words(value)}"


def _words(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "them" if value else "none"
    return ", ".join(value) if isinstance(value, list) else str(value)
