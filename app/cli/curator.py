"""`rugnik datasets …`, `rugnik plan` and `rugnik void`: what a curator does without rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.schema import AttributeOption, SchemaOption, find_schema
from app.cli.shared import URL, AsJson, Code, Key, Url, connect, fail, note, show_fields, show_json, show_table

if TYPE_CHECKING:
    from rugnik.wire import Dataset

datasets = typer.Typer(no_args_is_help=True, help="Populations, their bounds, budgets and releases.")

Dataset_ = Annotated[str, typer.Argument(metavar="DATASET", help="The dataset's name.", show_default=False)]
EpsilonOption = Annotated[str | None, typer.Option(help="How much epsilon to spend, such as 0.5.", show_default=False)]
Clusters = Annotated[int, typer.Option(min=1, help="The number of clusters that the grid is made for.")]
Declared = Annotated[
    int | None,
    typer.Option(min=1, help="The number of rows, if it is public anyway. Outside the guarantee.", show_default=False),
]
Estimate = Annotated[
    str | None,
    typer.Option(help="The share of epsilon that buys a noisy number of rows; 0.05 without it.", show_default=False),
]
Rule = Annotated[str | None, typer.Option(help="How the grid is chosen: rugnik or eugkm.", show_default="rugnik")]
OutOfRange = Annotated[str | None, typer.Option(help="Rows out of bounds: clip or drop.", show_default="clip")]
Use = Annotated[list[str] | None, typer.Option(help="Use this attribute only; repeat for more.", show_default="all")]


@datasets.command("list")
def list_datasets(url: Url = URL, key: Key = None, as_json: AsJson = False) -> None:
    """List the datasets that your key may see.

    \b
    Example:
      rugnik datasets list
    """
    with connect(url, key) as client:
        found = client.datasets()
    if as_json:
        show_json([dataset.raw for dataset in found])
        return
    rows = [
        (d.name, d.state, d.budget.granted, d.budget.spent, d.budget.remaining, len(d.releases), _newest(d))
        for d in found
    ]
    show_table(("dataset", "state", "granted", "spent", "remaining", "releases", "newest published"), rows)


@datasets.command()
def show(dataset: Dataset_, url: Url = URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show one dataset: bounds, budget, releases.

    \b
    Example:
      rugnik datasets show bike-trips
    """
    with connect(url, key) as client:
        found = client.dataset(dataset)
    if as_json:
        show_json(found.raw)
        return
    show_fields(
        [
            ("name", found.name),
            ("description", found.description or None),
            ("state", found.state),
            ("budget", f"{found.budget.spent} of {found.budget.granted} spent, {found.budget.remaining} left"),
        ]
    )
    show_table(("attribute", "lower", "upper"), [(a.name, a.lower, a.upper) for a in found.attributes])
    releases = [(r.id, r.state, r.epsilon, r.synopsis.digest if r.synopsis else None) for r in found.releases]
    show_table(("release", "state", "epsilon", "synopsis"), releases)


@datasets.command()
def new(
    name: Annotated[str | None, typer.Argument(help="A name, taken for ever; or the schema's.")] = None,
    attribute: AttributeOption = None,
    schema: SchemaOption = None,
    budget: Annotated[str | None, typer.Option(help="The most epsilon it may ever lose.", show_default=False)] = None,
    description: Annotated[str | None, typer.Option(help="A line about it.", show_default=False)] = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Register a population: public bounds, and the most epsilon it may ever lose.

    \b
    Example:
      rugnik datasets new survey --budget 2 -a age:0..100 -a income:0..5000
    """
    found = find_schema(None, attribute, schema)
    if found is None:
        fail("Bounds are needed: -a name:lower..upper for each attribute, or --schema FILE.", Code.USAGE)
    called, amount = name or found.name, budget or found.budget
    if called is None or amount is None:
        fail("A name and a --budget are needed.", Code.USAGE)
    with connect(url, key) as client:
        made = client.register_dataset(
            called, found.attributes, budget=amount, description=description or found.description
        )
    if as_json:
        show_json(made.raw)
    else:
        typer.echo(f"Registered {made.name} with a budget of {made.budget.granted}.")


@datasets.command()
def close(
    dataset: Dataset_,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: it cannot be undone.")] = False,
    url: Url = URL,
    key: Key = None,
) -> None:
    """Close a dataset for good: no more grants, orders or uploads. Answers go on.

    \b
    Example:
      rugnik datasets close survey --yes
    """
    if not yes:
        typer.confirm(f"Close {dataset} for good? This cannot be undone.", abort=True)
    with connect(url, key) as client:
        client.close_dataset(dataset)
    typer.echo(f"{dataset} is closed.")


@datasets.command()
def grant(
    dataset: Dataset_,
    epsilon: Annotated[str, typer.Argument(help="How much more, such as 0.5.", show_default=False)],
    reason: Annotated[str, typer.Option(help="Why; it stands in the ledger.", show_default=False)],
    url: Url = URL,
    key: Key = None,
) -> None:
    """Raise a budget, on the record. Takes an admin key.

    \b
    Example:
      rugnik datasets grant survey 0.5 --reason "board decision 12"
    """
    with connect(url, key) as client:
        budget = client.grant(dataset, epsilon, reason=reason).budget
    typer.echo(f"{dataset} has {budget.granted} in all, {budget.remaining} of it left.")


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
    out_of_range: OutOfRange = None,
    use: Use = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """See what an order would give: grid, noise, what to expect. Free, and no data is touched.

    \b
    Example:
      rugnik plan bike-trips --epsilon 0.5 --clusters 5 --guess 3000
      rugnik plan bike-trips --count-error 50 --clusters 5 --guess 3000
    """
    if (epsilon is None) == (count_error is None):
        fail("Give either --epsilon or --count-error.", Code.USAGE)
    if declared is not None and (estimate is not None or guess is not None):
        fail("Give either --declared, or --estimate and --guess.", Code.USAGE)
    with connect(url, key) as client:
        found = client.plan(
            dataset,
            clusters=clusters,
            epsilon=epsilon,
            count_error=count_error,
            attributes=use or None,
            declared=declared,
            estimate=estimate,
            guess=guess,
            rule=rule,
            out_of_range=out_of_range,
        )
    if as_json:
        show_json(found.raw)
        return
    fields = [("epsilon", found.order["epsilon"]), ("noise of a cell (sd)", found.noise.cell_sd)]
    if found.grid is not None:
        grid = found.grid
        fields.append(("grid", f"{grid.cells_per_axis} cells on each of {grid.dimensions} axes: {grid.cells:,}"))
    if found.predicted is not None:
        fields.append(("a cell is off by, at 95 %", found.predicted.cell_error))
        fields.append(("a typical count is off by, at 95 %", found.predicted.count_error))
    if found.threshold is not None:
        fields.append(("released are cells with a noisy count of", f"{found.threshold} or more"))
    show_fields(fields)
    for warning in found.warnings:
        note(f"Note: {warning}")


def void(
    release: Annotated[str, typer.Argument(help="The id of an order that is not published.", show_default=False)],
    url: Url = URL,
    key: Key = None,
) -> None:
    """Void an order that was never published: its epsilon comes back.

    \b
    Example:
      rugnik void r0123456789abcdef
    """
    with connect(url, key) as client:
        found = client.void(release)
        budget = client.dataset(found.dataset).budget
    typer.echo(f"{release} is void; {found.dataset} has {budget.remaining} left.")


def _newest(dataset: Dataset) -> str | None:
    return dataset.newest.id if dataset.newest else None


FileArgument = Annotated[Path, typer.Argument(help="CSV, NDJSON, Parquet or Arrow, also .gz.", show_default=False)]
