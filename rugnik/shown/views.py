"""What is shown of each type of reply: the table of views, and the view of a type that has none of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rugnik import wire
from rugnik.shown import answers, clusters, records, statistics
from rugnik.shown.view import Table, View
from rugnik.wire.base import Reply, field_names

MOST_ROWS = 20  # of a table that has no view of its own

VIEWS: Mapping[type[Reply], Callable[[Any], View]] = {
    wire.Count: answers.count_view,
    wire.Counts: answers.counts_view,
    wire.Marginal: answers.marginal_view,
    wire.Quantiles: answers.quantiles_view,
    wire.Moments: answers.moments_view,
    wire.Regression: statistics.regression_view,
    wire.Components: statistics.components_view,
    wire.Conditional: statistics.conditional_view,
    wire.Information: statistics.information_view,
    wire.Hotspots: statistics.hotspots_view,
    wire.Rows: answers.rows_view,
    wire.Synopsis: answers.synopsis_view,
    wire.Clusters: clusters.clusters_view,
    wire.Scan: clusters.scan_view,
    wire.Assignment: clusters.assignment_view,
    wire.Dataset: records.dataset_view,
    wire.Release: records.release_view,
    wire.Plan: records.plan_view,
    wire.Key: records.key_view,  # a NewKey as well: its secret is not shown
    wire.LedgerPage: records.ledger_view,
    wire.Card: records.card_view,
}


def view_of(reply: Reply) -> View:
    """What is shown of a reply."""
    if isinstance(reply, wire.Grouped):
        return answers.grouped_view(reply, view_of)
    own = next((VIEWS[kind] for kind in type(reply).__mro__ if kind in VIEWS), any_view)
    view = own(reply)
    if not isinstance(reply, wire.Answer):
        return view
    return View(view.title, view.line, view.charts, view.tables, (*view.remarks, *answers.about(reply)))


def text(reply: Reply) -> str:
    """A reply in one line."""
    return f"{type(reply).__name__}({view_of(reply).line})"


def any_view(reply: Reply) -> View:
    """The fields of a reply by their names, and its lists as tables: for types of a newer service, too."""
    common = field_names(wire.Answer) if isinstance(reply, wire.Answer) else ()
    held = {name: getattr(reply, name) for name in field_names(reply) if name not in common}
    lists = {name: each for name, each in held.items() if _is_list(each)}
    plain = [(name, records.in_short(each)) for name, each in held.items() if name not in lists and each is not None]
    tables = [Table(("", ""), tuple(plain), len(plain))] if plain else []
    for name, each in lists.items():
        names = field_names(each[0])
        rows = [[records.in_short(getattr(row, column)) for column in names] for row in each[:MOST_ROWS]]
        tables.append(Table((names[0] if name in names else f"{name}: {names[0]}", *names[1:]), tuple(rows), len(each)))
    line = ", ".join(f"{name}={words}" for name, words in plain[:4]) or ", ".join(
        f"{len(each)} {name}" for name, each in lists.items()
    )
    return View(type(reply).__name__, line, tables=tuple(tables))


def _is_list(given: Any) -> bool:
    return isinstance(given, tuple) and bool(given) and all(isinstance(each, Reply) for each in given)
