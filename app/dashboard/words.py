"""Numbers and ledger entries in words: what an epsilon means, how a budget stands, what an entry says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf
from typing import Any

from app.ledger.history import BudgetHistory
from app.releases.datasets import Summary
from core.budget import Epsilon
from core.domain.attribute import Attribute
from core.domain.dates import Datetime
from core.ledger.entry import LedgerEntry
from rugnik.wire.kinds import KINDS

_PRIORS = (0.5, 0.1, 0.01)
_MOMENT = re.compile(r"(\d{4})-(0[1-9]|1[0-2])-(\d\d)(?:T(\d\d:\d\d):\d\d(?:\.\d+)?Z)?", re.ASCII)
_OVERFLOW = 700  # e^710 is more than a float can say


@dataclass(frozen=True, slots=True)
class Guess:
    """How sure somebody could be before and, at most, after seeing everything that was released."""

    before: float
    presence: float
    value: float


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an epsilon bounds: odds grow at most by `factor`, or by its square for what a record says."""

    epsilon: Epsilon
    factor: float
    guesses: tuple[Guess, ...]
    verdict: str


def meaning(epsilon: Epsilon) -> Meaning:
    """The bound e^epsilon on odds, with examples.

    Neighbours differ by one record more or less, so presence is bounded by epsilon; to turn one value into another is
    to remove a record and add one, so what a record says is bounded by 2 epsilon.
    """
    loss = float(epsilon)
    guesses = tuple(Guess(p, _after(p, loss), _after(p, 2 * loss)) for p in _PRIORS)
    return Meaning(epsilon=epsilon, factor=_factor(loss), guesses=guesses, verdict=_verdict(loss))


def _factor(loss: float) -> float:
    return exp(loss) if loss < _OVERFLOW else inf


def _after(before: float, loss: float) -> float:
    """Odds times e^loss, as a probability; written so that a large loss cannot overflow."""
    return before / (before + (1 - before) * exp(-loss))


def _verdict(loss: float) -> str:
    if loss == 0:
        return "Nothing has been spent: nothing about anybody can be learned here."
    if loss <= 1:
        return "By a common rule of thumb, 1 or less is strong protection."
    if loss <= 10:
        return "By a common rule of thumb, 1 to 10 is a real bound, though a weak one for the worst case."
    if _factor(loss) > 1e6:
        return "A factor of more than a million is practically no protection."
    return "Above 10, the bound by itself promises little for the worst case."


@dataclass(frozen=True, slots=True)
class Bar:
    """A budget as shares of what was granted, in percent."""

    spent: float
    ordered: float
    remaining: float


def bar(dataset: Summary) -> Bar:
    """Spent on what was drawn, held by open orders, and left."""
    granted = dataset.budget.granted.nano or 1
    spent, ordered = (100 * part.nano / granted for part in (dataset.drawn, dataset.ordered))
    return Bar(spent=spent, ordered=ordered, remaining=max(0.0, 100 - spent - ordered))


def said(entry: LedgerEntry) -> str:
    """What an entry records, as a phrase."""
    return entry.kind.description.phrase


def why(entry: LedgerEntry) -> str:
    """The reason or the terms that an entry carries, in one line; it depends on the fields of `detail` alone."""
    detail = entry.detail
    if entry.kind.description.about_keys:
        return _about_key(detail)
    if "terms" in detail:
        return _asked(detail)
    if "requested_by" in detail:
        return f"{_reason(entry)}; asked for by {detail['requested_by']}".removeprefix("; ")
    return _reason(entry)


def _reason(entry: LedgerEntry) -> str:
    detail = entry.detail
    if "order" in detail:
        return _order(detail["order"])
    if "above" in detail:
        return _rule(detail["above"])
    if "digest" in detail:
        return f"digest {detail['digest']}"
    return str(detail.get("reason", entry.kind.description.remark)) + _of_persons(detail)


def _asked(detail: Mapping[str, Any]) -> str:
    """What a request asks for: its kind, its epsilon and its terms."""
    terms = detail["terms"] if isinstance(detail["terms"], Mapping) else {}
    asked = _rule(terms["above"]) if "above" in terms else _order(terms.get("order")) or str(terms.get("reason", ""))
    amount = "" if detail.get("epsilon") == "0" else f" of {detail.get('epsilon')}"
    release = f" for {detail['release']}" if detail.get("release") else ""
    return f"{detail.get('kind')}{amount}{release}: {asked}".removesuffix(": ")


def _rule(above: Any) -> str:
    return "no two-person rule" if above is None else f"two persons above {above}"


def _about_key(detail: Mapping[str, Any]) -> str:
    """A revoked key by its id; an issued key with its name, role and datasets."""
    if "role" not in detail:
        return f"[{detail.get('id', '')}]"
    names = detail.get("datasets")
    limit = "every dataset" if names is None else ", ".join(map(str, names))
    return f"{detail.get('name', '')} [{detail.get('id', '')}], {detail.get('role', '')}, {limit}"


def _order(order: Any) -> str:
    """The label of an order, if it has one, and its terms."""
    label = order.get("label") if isinstance(order, dict) else None
    return _terms(order) if label is None else f"{label}: {_terms(order)}"


def terms(charge: LedgerEntry) -> str:
    """The terms of a charge without its label, where that stands beside the release; who asked for it, if another."""
    asker = charge.detail.get("requested_by")
    return _terms(charge.detail.get("order")) + (f"; asked for by {asker}" if asker else "")


def _terms(order: Any) -> str:
    if not isinstance(order, dict) or not order:
        return ""
    size = order.get("size", {})
    stated = f"size {size['declared']:,} declared" if "declared" in size else "size estimated"
    names = ", ".join(map(str, order.get("attributes", [])))
    return f"{names}; {order.get('clusters')} clusters; {stated}{_of_persons(order)}"


def _of_persons(detail: Mapping[str, Any]) -> str:
    """The unit of an entry where it is a person; entries about records say nothing of it."""
    stated = detail.get("unit")
    is_person = isinstance(stated, Mapping) and stated.get("kind") == "person"
    return f"; {unit(stated)}" if is_person else ""


def unit(stated: Mapping[str, Any] | None) -> str:
    """Whose presence a dataset or a release protects, as a phrase; None, as in entries of version 0.1, is a record."""
    if stated is None or stated.get("kind") != "person":
        return "protects records: each row by itself"
    rows = stated.get("max_rows")
    return f"protects persons: column {stated.get('column')}, at most {rows} {'row' if rows == 1 else 'rows'} each"


_NAMED = 12  # values of a category in a table


def kind(attribute: Attribute) -> str:
    """The kind of an attribute, in words."""
    return KINDS[attribute.kind].title


def bounds(attribute: Attribute) -> str:
    """The public bounds or values that an attribute declares, in words."""
    declared = attribute.declaration()
    if "values" not in declared:
        return " to ".join(_end(attribute, declared[end]) for end in ("lower", "upper"))
    values = declared["values"]
    more = [f"{len(values) - _NAMED:,} more"] * (len(values) > _NAMED) + ["all others together"] * ("other" in declared)
    return ", ".join([*values[:_NAMED], *more])


def _end(attribute: Attribute, value: float | str) -> str:
    if isinstance(attribute, Datetime):
        return str(value).replace("T", " ").replace("Z", " UTC")
    return value if isinstance(value, str) else number(value, 6)


def sentence(phrase: str) -> str:
    """A phrase with a capital letter."""
    return phrase[:1].upper() + phrase[1:]


def steps(history: BudgetHistory) -> dict[str, Sequence[Any]]:
    """A dataset's epsilon after each entry, for the step chart.

    Entries of version 0.1 have the second and later ones the day, so times are made non-decreasing.
    """
    granted, spent = history.granted_before.nano, history.spent_before.nano
    points: list[dict[str, Any]] = []
    drawn_at = ""
    for entry in history.entries:
        granted += entry.kind.description.granted_sign * entry.epsilon.nano
        spent += entry.kind.description.spent_sign * entry.epsilon.nano
        drawn_at = max(drawn_at, entry.at)
        points.append(
            {
                "seq": entry.seq,
                "at": drawn_at,
                "told": entry.at,
                "kind": entry.kind.value,
                "epsilon": str(entry.epsilon),
                "actor": entry.actor,
                "said": said(entry),
                "why": why(entry),
                "granted": granted / 1e9,
                "spent": spent / 1e9,
            }
        )
    return {"points": points}


def number(value: float, digits: int = 3) -> str:
    """A number with as many digits as mean something."""
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN
        return "—"
    if abs(value) >= 10**digits or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def percent(share: float) -> str:
    """A probability in percent, never rounded up to certainty."""
    if share > 0.999:
        return "over 99.9 %"
    return f"{100 * share:.3g} %"


def either(names: Sequence[str]) -> str:
    """Names as a choice: "analyst, curator or auditor"."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def order_of(charge: LedgerEntry) -> Mapping[str, Any]:
    """The order that a charge has on record; empty where it cannot be read."""
    order = charge.detail.get("order")
    return order if isinstance(order, Mapping) else {}


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def day(at: str) -> str:
    """A time of a record as pages show it: "18 Nov 2026", with the time of day where it is kept (as in format.js).

    `at` is a day, 2026-11-18, or a moment in UTC, 2026-11-18T14:05:00Z. Any other text is returned as it is.
    """
    match = _MOMENT.fullmatch(at)
    if match is None:
        return at
    year, month, number, time = match.groups()
    return f"{int(number)} {_MONTHS[int(month) - 1]} {year}" + (f", {time} UTC" if time else "")
