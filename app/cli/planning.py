"""`rugnik plan`: what an order would give, and the rules for the grid side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.curator import Clusters, Dataset_, Declared, EpsilonOption, Estimate, OffsetsOption, OutOfRange, Rule, Use
from app.cli.exits import Code, fail
from app.cli.naming import naming
from app.cli.options import URL, AsJson, Key, Url, connect
from app.cli.output import figure, note, show_fields, show_json, show_table

if TYPE_CHECKING:
    from rugnik.wire import Plan, Prediction


def plan(
    dataset: Dataset_,
    clusters: Clusters,
    epsilon: EpsilonOption = None,
    count_error: Annotated[
        float | None, typer.Option(help="In place of epsilon: the error of a typical count.", show_default=False)
    ] = None,
    guess: Annotated[
        int | None, typer.Option(min=1, help="About how many rows; for predictions alone.", show_default=False)
    ] = None,
    declared: Declared = None,
    estimate: Estimate = None,
    rule: Rule = None,
    offsets: OffsetsOption = None,
    purpose: Annotated[
        str | None,
        typer.Option(help="What to recommend a rule for: clusters or counts.", show_default="clusters"),
    ] = None,
    out_of_range: OutOfRange = None,
    use: Use = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Preview an order: its grid, noise and expected errors, and the rules side by side. Free, and no data is read.

    \b
    Example:
      rugnik plan bike-trips --epsilon 0.5 --clusters 5 --guess 3000
      rugnik plan bike-trips --epsilon 0.5 --clusters 5 --guess 3000 --purpose counts
      rugnik plan bike-trips --count-error 50 --clusters 5 --guess 3000
    """
    if (epsilon is None) == (count_error is None):
        fail("Give either --epsilon or --count-error.", Code.USAGE)
    if count_error is not None and not (math.isfinite(count_error) and count_error > 0):
        fail("--count-error is a number of rows above zero.", Code.USAGE)
    if declared is not None and (estimate is not None or guess is not None):
        fail("Give either --declared, or --estimate and --guess.", Code.USAGE)
    with connect(url, key) as client, naming(client, dataset):
        preview = client.plan(
            dataset,
            clusters=clusters,
            epsilon=epsilon,
            count_error=count_error,
            purpose=purpose,
            attributes=use or None,
            declared=declared,
            estimate=estimate,
            guess=guess,
            rule=rule,
            offsets=offsets,
            out_of_range=out_of_range,
        )
    if as_json:
        show_json(preview.raw)
        return
    _show_plan(preview)


def _show_plan(preview: Plan) -> None:
    fields = [("epsilon", preview.order["epsilon"])]
    if preview.budget is not None:
        after = (
            "too little for this order" if preview.budget.after is None else f"{preview.budget.after} after this order"
        )
        fields.append(("budget left", f"{preview.budget.remaining} now, {after}"))
    fields.append(("noise of a cell (sd)", figure(preview.noise.cell_sd)))
    if preview.grid is not None:
        in_all = "" if preview.grid.layered else f": {preview.grid.cells:,}"
        fields.append(("grid", f"{preview.grid.sentence}{in_all}"))
    if preview.predicted is not None:
        fields.append(("a cell is off by, at 95 %", figure(preview.predicted.cell_error)))
        fields.append(("a typical count is off by, at 95 %", figure(preview.predicted.count_error)))
    if preview.threshold is not None:
        fields.append(("released are cells with a noisy count of", f"{preview.threshold} or more"))
    if preview.noise.epsilon_offsets is not None:
        shares = f"{preview.noise.epsilon_histogram} and {preview.noise.epsilon_offsets}"
        fields.append(("epsilon of the counts and of the offsets", shares))
    show_fields(fields)
    if preview.note is not None:
        note(preview.note)
    for cost in preview.attributes:
        note(cost.note)
    if preview.people:
        rows = [(each.max_rows, figure(each.cell_sd), figure(each.count_error)) for each in preview.people]
        show_table(("rows per person", "noise of a cell (sd)", "a typical count is off by"), rows)
    _show_alternatives(preview)
    for warning in preview.warnings:
        note(f"Note: {warning}")


def _show_alternatives(preview: Plan) -> None:
    """The rules side by side, and the recommendation in words."""
    rows = [
        (
            each.title,
            "everywhere" if prediction.occupied == 1 else f"1/{1 / prediction.occupied:.0f} of the space",
            prediction.cells,
            *(_count_words(prediction, place) for place in range(2)),
            None if prediction.expected_deviation is None else f"{prediction.expected_deviation:.3g}",
        )
        for each in preview.alternatives
        for prediction in each.predictions
    ]
    columns = ("rule", "if rows lie", "cells", "a 1 % count is off by", "a 10 % count is off by", "k-means deviation")
    if rows:
        show_table(columns, rows)
    for each in preview.alternatives:
        if each.note is not None:
            note(f"{each.title}: {each.note}")
    if preview.recommendation is not None:
        typer.echo(preview.recommendation.reason)
        note(preview.recommendation.assumption)


def _count_words(prediction: Prediction, place: int) -> str | None:
    """The error of a count with its parts; None where it is not predicted."""
    if prediction.counts is None or place >= len(prediction.counts):
        return None
    count = prediction.counts[place]
    return f"{count.error:,.3g} (noise {count.noise:,.3g}, cut cells {count.discretisation:,.3g})"
