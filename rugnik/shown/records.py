"""Views of what is on record: datasets, releases, plans, keys, the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rugnik import wire
from rugnik.shown.digits import NONE, between, rows, short, value
from rugnik.shown.view import Table, View
from rugnik.wire.base import Reply, field_names

_NEWEST = 10


def dataset_view(dataset: wire.Dataset) -> View:
    """Attributes, budget and newest releases."""
    body = tuple(
        (each.name, each.kind, _domain(each), "kept" if each.missing == "keep" else "dropped")
        for each in dataset.attributes
    )
    budget = dataset.budget
    spent = f"epsilon {budget.remaining} of {budget.granted} left"
    line = f"{dataset.name}, {dataset.state}: {len(dataset.attributes)} attributes, {_releases(dataset)}, {spent}"
    listed = releases_view("", dataset.releases).tables if dataset.releases else ()
    remarks = [*filter(None, [dataset.description]), f"Protected: {dataset.unit.sentence}."]
    table = Table(("attribute", "kind", "bounds or values", "missing"), body, len(body))
    return View("Dataset", line, tables=(table, *listed), remarks=tuple(remarks))


def _releases(dataset: wire.Dataset) -> str:
    count = dataset.release_count
    return f"{count:,} release{'' if count == 1 else 's'}"


def _domain(attribute: wire.Attribute) -> str:
    if attribute.values is not None:
        return short(", ".join([*attribute.values, *(["(other)"] if attribute.other else [])]), 80)
    return f"{value(attribute.lower)} … {value(attribute.upper)}"


def releases_view(title: str, listed: Sequence[wire.ReleaseSummary]) -> View:
    """The newest releases, newest first."""
    body = tuple(
        (each.id, each.label or "", each.state, each.epsilon, _digest(each.synopsis))
        for each in list(reversed(listed))[:_NEWEST]
    )
    columns = ("release", "label", "state", "epsilon", "synopsis")
    return View(title, f"{len(listed):,}", tables=(Table(columns, body, len(listed)),))


def _digest(synopsis: wire.SynopsisReference | None) -> str:
    return NONE if synopsis is None else f"{synopsis.digest[:12]}…"


def release_view(release: wire.Release) -> View:
    """What was ordered, and where it stands."""
    plan, label = release.plan, release.plan.order.get("label")
    named = f"{release.id} of {release.dataset}" + (f", {label}" if isinstance(label, str) else "")
    facts = [
        ("attributes", ", ".join(release.attributes)),
        ("cells", NONE if plan.grid is None else plan.grid.sentence),
        ("rows", NONE if plan.size is None else f"about {rows(plan.size)}"),
        ("noise of a cell", f"standard deviation {plan.noise.cell_sd:.3g}"),
        ("charged", f"epsilon {release.charge.epsilon}, entry {release.charge.seq} of the ledger"),
        ("synopsis", _digest(release.synopsis)),
    ]
    if isinstance(release, wire.Published) and release.ingest is not None:
        ingest = release.ingest
        facts.append(("rows read", f"{rows(ingest.rows_read)}, of which {rows(ingest.rows_dropped)} were dropped"))
    line = f"{named}: {release.state}, epsilon {release.charge.epsilon}, {', '.join(release.attributes)}"
    return View("Release", line, tables=(_facts(facts),), remarks=tuple(filter(None, [plan.note])))


def plan_view(plan: wire.Plan) -> View:
    """What an order would give, and what it would cost."""
    predicted, order = plan.predicted, plan.order
    facts = [
        ("cells", NONE if plan.grid is None else plan.grid.sentence),
        ("noise of a cell", f"standard deviation {plan.noise.cell_sd:.3g}"),
    ]
    if predicted is not None:
        facts.append(("cells are off by", f"{predicted.cell_error:,} rows or less, 95 % of them"))
        if predicted.count_error is not None:
            error = f"{rows(predicted.count_error)} rows or less by noise, 95 % of them"
            facts.append(("counts are off by", error))
    if plan.budget is not None:
        after = plan.budget.after or "not enough"
        facts.append(("budget", f"epsilon {plan.budget.remaining} now, {after} after it"))
    tables = [_facts(facts)]
    if plan.attributes:
        costs = tuple((each.name, f"{each.cells:,}", each.note) for each in plan.attributes)
        tables.append(Table(("attribute", "cells", ""), costs, len(costs)))
    advice = [] if plan.recommendation is None else [plan.recommendation.reason]
    line = f"epsilon {order.get('epsilon')}, {order.get('rule')}: {facts[0][1]}, noise {plan.noise.cell_sd:.3g}"
    return View("Plan", line, tables=tuple(tables), remarks=(*plan.warnings, *advice))


def _facts(facts: Sequence[tuple[str, str]]) -> Table:
    return Table(("", ""), tuple(facts), len(facts))


def key_view(key: wire.Key) -> View:
    """A key without its secret."""
    over = "all datasets" if key.datasets is None else ", ".join(key.datasets)
    ended = "" if key.revoked_at is None else f", revoked on {key.revoked_at}"
    hidden = ("Its secret is in .key, and is not shown.",) if isinstance(key, wire.NewKey) else ()
    return View(type(key).__name__, f"{key.name}, {key.id}: {key.role} of {over}{ended}", remarks=hidden)


def ledger_view(page: wire.LedgerPage) -> View:
    """Entries, the last ones first."""
    body: tuple[Any, ...] = tuple(
        (str(each.seq), each.at, each.kind, each.dataset or "", each.release or "", each.epsilon, each.actor)
        for each in list(reversed(page.entries))[:_NEWEST]
    )
    line = f"{len(page.entries):,} entries" + ("" if page.next is None else f", more after {page.next}")
    columns = ("entry", "on", "kind", "dataset", "release", "epsilon", "key")
    return View("LedgerPage", line, tables=(Table(columns, body, len(page.entries)),))


def card_view(card: wire.Card) -> View:
    """The parts of a card, each in short."""
    parts = tuple((str(name), in_short(each)) for name, each in card.predicate.items())
    release, dataset, privacy = (card.predicate.get(part) or {} for part in ("release", "dataset", "privacy"))
    unit = (privacy.get("unit") or {}).get("kind", NONE)
    terms = (
        f"epsilon {privacy.get('epsilon', NONE)}, protects each {unit}, published on {release.get('published', NONE)}"
    )
    stands = "on record" if card.on_record else "not on record"
    line = f"release {release.get('id', NONE)} of {dataset.get('name', NONE)}: {terms}, {stands}"
    return View("Card", line, tables=(Table(("", ""), parts, len(parts)),), remarks=("All of it is in .predicate.",))


def in_short(given: Any) -> str:
    """A field in a few words."""
    match given:
        case wire.Interval() | wire.ValueInterval() | wire.Ends() | wire.ValueEnds():
            return between(given.low, given.high)
        case wire.Estimate() | wire.ValueEstimate():
            low, high = given.interval.low, given.interval.high
            return f"{value(given.value, low, high)} ({between(low, high)})"
        case Reply():
            parts = [f"{name} {in_short(getattr(given, name))}" for name in field_names(given)]
            return short(", ".join(parts), 80)
        case tuple() | list():
            return short(", ".join(map(in_short, given[:8])) + (", …" if len(given) > 8 else ""), 80)
        case Mapping():
            return short(", ".join(f"{name}: {in_short(each)}" for name, each in given.items()), 80)
    return short(value(given), 80)
