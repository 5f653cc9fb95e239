"""`rugnik query …`: questions to a published release, as tables, JSON or files. None of them costs epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.asking import (
    Asked,
    Level,
    Release,
    Seed,
    Table,
    Where,
    about_part,
    asked_release,
    ends,
    form_of,
    prefix,
    query,
    question,
    sides,
    span,
)
from app.cli.options import URL, AsJson, Key, Output, Url
from app.cli.output import figure, note, rounded, show_json, show_table

if TYPE_CHECKING:
    from rugnik.wire import Clusters, Count, LayerCells, Marginal, Moments, Quantiles, Scan, Synopsis


@query.command()
@question
def count(
    asked: Asked,
    snap: Annotated[
        bool, typer.Option("--snap", help="Move the ends to the nearest cell edges, so that no cell is cut.")
    ] = False,
    level: Level = 0.95,
) -> None:
    """Count the rows in a box, with the interval of its whole error: noise and cut cells together.

    \b
    Example:
      rugnik query count bike-trips --where hour:7..9 --where x:..4
    """
    from rugnik.wire import Count

    for value, answer in asked.show(Count, _count_table, level=level, snap=snap or None):
        if not asked.as_table:
            return
        whole, cells = answer.interval, answer.discretisation
        cut = "noise and cut cells together" if cells.low != cells.high else "the box cuts no cell"
        group = prefix(value)
        between = f"Between {round(whole.low):,} and {round(whole.high):,} rows"
        note(f"{group}{between} with {100 * level:g} % probability: {cut}.")
        for name, moved in (answer.snapped or {}).items():
            start, end = rounded((moved.low, moved.high), moved.low, moved.high, digits=3)
            note(f"{name} was counted from {start} to {end}, the nearest cell edges.")
        if answer.size_weight is not None:
            note(f"{group}The bought number of rows makes it more precise, with weight {answer.size_weight:.2f}.")


def _count_table(answer: Count) -> Table:
    whole, noise, cells = answer.interval, answer.noise, answer.discretisation
    values = (answer.count, whole.low, whole.high, noise.low, noise.high, cells.low, cells.high)
    row = rounded(values, whole.low, whole.high)
    return ("count", "low", "high", "noise low", "noise high", "without cut cells", "with cut cells"), [row]


@query.command()
@question
def marginal(
    asked: Asked,
    attributes: Annotated[list[str], typer.Argument(help="One attribute or more.", show_default=False)],
    counts: Annotated[str, typer.Option(help="raw, or nonnegative with the same sum.")] = "raw",
    level: Level = 0.95,
) -> None:
    """The histogram of some attributes, cell by cell.

    \b
    Example:
      rugnik query marginal bike-trips hour
    """
    from rugnik.wire import Marginal

    asked.show(Marginal, _marginal_table, attributes=",".join(attributes), level=level, counts=counts)


def _marginal_table(answer: Marginal) -> Table:
    return (*sides(answer.attributes), "count", "low", "high"), [
        (*ends(answer.attributes, box), *rounded(values, *values[1:])) for box, *values in answer.cells()
    ]


@query.command()
@question
def quantiles(
    asked: Asked,
    attribute: Annotated[str, typer.Argument(help="One attribute.", show_default=False)],
    q: Annotated[list[float] | None, typer.Option("--q", help="A share between 0 and 1; repeat for more.")] = None,
    level: Level = 0.95,
) -> None:
    """Quantiles of one attribute, with intervals.

    \b
    Example:
      rugnik query quantiles bike-trips hour --q 0.5 --q 0.9
    """
    from rugnik.wire import Quantiles

    def table(answer: Quantiles) -> Table:
        rows = [
            (
                each.q,
                *rounded(
                    (
                        each.value,
                        *(end for ends in (each.interval, each.discretisation) for end in (ends.low, ends.high)),
                    ),
                    each.interval.low,
                    each.interval.high,
                ),
            )
            for each in answer.quantiles
        ]
        return ("q", attribute, "low", "high", "cell from", "cell to"), rows

    asked.show(Quantiles, table, attribute=attribute, q=q or [0.25, 0.5, 0.75], level=level)
    if asked.as_table:
        note("low to high covers noise and grid; the cell is what the grid alone leaves open.")


@query.command()
@question
def moments(
    asked: Asked,
    level: Level = 0.95,
) -> None:
    """Size, means, variances, covariances and correlations, with intervals.

    \b
    Example:
      rugnik query moments bike-trips
    """
    from rugnik.wire import Moments

    asked.show(Moments, _moments_table, level=level)
    if asked.as_table:
        note(
            "low to high covers the noise. The grid can add at most what its column says, where there is such a bound."
        )


def _moments_table(answer: Moments) -> Table:
    rows = [
        (
            name,
            of,
            *rounded((each.value, each.interval.low, each.interval.high), each.interval.low, each.interval.high),
            figure(shift),
        )
        for (name, of, each), shift in zip(answer.estimates(), answer.shifts(), strict=True)
    ]
    return ("moment", "of", "value", "low", "high", "grid adds up to"), rows


@query.command()
@question
def clusters(
    asked: Asked,
    k: Annotated[
        int,
        typer.Option(
            "--k", "-k", min=1, help="How many clusters; `query scan` recommends a number.", show_default=False
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(help="posterior, projected, thresholded or lloyd.", show_default="the service's choice"),
    ] = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Cluster centres in the attributes' own units, the largest cluster first, each number with its reach.

    \b
    Example:
      rugnik query clusters bike-trips --k 5
    """
    from rugnik.wire import Clusters

    for value, answer in asked.show(Clusters, _clusters_table, k=k, level=level, seed=seed, method=method):
        if not asked.as_table:
            return
        group = prefix(value)
        for merge in answer.merges:
            pair = " and ".join(str(number + 1) for number in merge.clusters)
            note(f"{group}Clusters {pair} may be one, with probability {merge.probability:.2f}.")
        note(f"{group}method {answer.method}, stability {answer.stability:.2f}, inertia {answer.inertia:.4g}")
        if answer.method_reason and value is None:
            note(answer.method_reason)
    if asked.as_table:
        note("Intervals cover the noise; ± is what the grid can add to a centre at most.")


def _clusters_table(answer: Clusters) -> Table:
    judged = any(certain.noise_probability is not None for certain in answer.uncertainty)
    rows = []
    for i, (center, size, certain) in enumerate(zip(answer.centers, answer.sizes, answer.uncertainty, strict=True)):
        parts = zip(center, certain.center, answer.shift(i), strict=True)
        spans = [span(value, each.low, each.high, shift) for value, each, shift in parts]
        chance = None if certain.noise_probability is None else f"{certain.noise_probability:.2g}"
        between = f"{certain.size.low:,.0f} to {certain.size.high:,.0f}"
        rows.append((round(size), between, *spans, *[chance] * judged))
    return ("size", "size between", *answer.attributes, *["noise alone"] * judged), rows


@query.command()
@question
def scan(
    asked: Asked,
    low: Annotated[int, typer.Option("--from", min=1, help="The smallest k.")] = 2,
    high: Annotated[int, typer.Option("--to", min=1, help="The largest k.")] = 10,
    seed: Seed = 0,
) -> None:
    """Inertia and stability for several k: which number of clusters the synopsis supports.

    \b
    Example:
      rugnik query scan bike-trips --from 2 --to 8
    """
    from rugnik.wire import Scan

    for value, answer in asked.show(Scan, _scan_table, k=f"{low}..{high}", seed=seed):
        if not asked.as_table:
            return
        group = prefix(value)
        if answer.recommended is not None:
            note(f"{group}Recommended: k = {answer.recommended.k}. {answer.recommended.reason}")
        note(f"{group}Every k by the method {answer.method}, to compare them; `query clusters` may take another.")


def _scan_table(answer: Scan) -> Table:
    return ("k", "inertia", "stability"), [
        (line.k, figure(line.inertia), figure(line.stability)) for line in answer.scan
    ]


@query.command()
def rows(
    release: Release,
    count: Annotated[int, typer.Option(min=1, help="How many rows.")] = 10,
    seed: Seed = 0,
    where: Where = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Synthetic rows; with -o as a file: .csv, .parquet or .json.

    \b
    Example:
      rugnik query rows bike-trips --count 1000 --seed 1 -o rows.parquet
    """
    part = where or ()
    with asked_release(release, url, key) as (client, asked):
        if output is not None:
            client.download_rows(asked, output, count=count, seed=seed, format=form_of(output), where=part)
            note(f"Written to {output}.")
            return
        answer = client.rows(asked, count, seed=seed, where=part)
    if as_json:
        show_json(answer.raw)
    else:
        show_table(answer.attributes, answer.rows)
        about_part(answer)


@query.command()
def synopsis(
    release: Release,
    where: Where = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """The whole noisy histogram; with -o as a file: .csv, .parquet, .arrow or .json.

    \b
    Example:
      rugnik query synopsis bike-trips -o cells.csv
    """
    part = where or ()
    with asked_release(release, url, key) as (client, asked):
        if output is not None:
            client.download_synopsis(asked, output, format=form_of(output), where=part)
            note(f"Written to {output}.")
            return
        answer = client.synopsis(asked, where=part)
    if as_json:
        show_json(answer.raw)
        return
    if answer.layers is not None:
        _show_leaves(answer, answer.layers.leaf)
        return
    cells = [(*ends(answer.attributes, box), count) for box, count in zip(answer.boxes(), answer.counts, strict=True)]
    show_table((*sides(answer.attributes), "count"), cells)
    about_part(answer)
    if answer.threshold is not None:
        note(f"Only cells whose noisy count is {answer.threshold} or more were released.")


def _show_leaves(answer: Synopsis, leaf: LayerCells) -> None:
    """The leaves of an adaptive release with their estimates."""
    columns = zip(answer.boxes(), leaf.counts, leaf.estimates or (), leaf.sd or (), strict=True)
    rows = [
        (*ends(answer.attributes, box), count, *rounded((estimate, sd), estimate - sd, estimate + sd))
        for box, count, estimate, sd in columns
    ]
    show_table((*sides(answer.attributes), "count", "estimate", "sd"), rows)
    note("These are the leaves. A file (-o) and --json also have the layers that decided their cuts.")
