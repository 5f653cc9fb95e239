"""`rugnik datasets …` and `rugnik void`: the curator's commands that need no rows. `rugnik plan`: app.cli.planning."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.exits import Code, fail
from app.cli.naming import naming
from app.cli.options import URL, AsJson, Key, Url, connect
from app.cli.output import note, show_fields, show_json, show_list, show_table
from app.cli.schema import AttributeOption, PersonOption, SchemaOption, find_schema, part_of

if TYPE_CHECKING:
    from rugnik.wire import About, Dataset, ReleaseSummary

datasets = typer.Typer(no_args_is_help=True, help="Datasets: their bounds, budgets and releases.")

Dataset_ = Annotated[str, typer.Argument(metavar="DATASET", help="The dataset's name.", show_default=False)]
EpsilonOption = Annotated[str | None, typer.Option(help="How much epsilon to spend, such as 0.5.", show_default=False)]
Clusters = Annotated[int, typer.Option(min=1, help="The number of clusters that the grid is made for.")]
Declared = Annotated[
    int | None,
    typer.Option(min=1, help="The number of rows, if it is public anyway. Outside the guarantee.", show_default=False),
]
Estimate = Annotated[
    str | None,
    typer.Option(help="The share of epsilon for a noisy number of rows.", show_default="0.05"),
]
Rule = Annotated[
    str | None, typer.Option(help="How the grid is chosen: rugnik, eugkm or adaptive.", show_default="rugnik")
]
OutOfRange = Annotated[str | None, typer.Option(help="Rows out of bounds: clip or drop.", show_default="clip")]
OffsetsOption = Annotated[
    bool | None,
    typer.Option(
        "--offsets/--no-offsets",
        help="Buy where rows lie within cells: for clusters, from four attributes on.",
        show_default="from seven ordered attributes on",
    ),
]
Use = Annotated[list[str] | None, typer.Option(help="Use this attribute only; repeat for more.", show_default="all")]
FileArgument = Annotated[Path, typer.Argument(help="CSV, NDJSON, Parquet or Arrow, also .gz.", show_default=False)]


@datasets.command("list")
def list_datasets(url: Url = URL, key: Key = None, as_json: AsJson = False) -> None:
    """List the datasets that your key may see.

    \b
    Example:
      rugnik datasets list
    """
    with connect(url, key) as client:
        visible = client.datasets()
    columns = ("dataset", "state", "granted", "spent", "remaining", "releases", "newest published")
    show_list(visible, columns, _row, as_json=as_json)


def _row(dataset: Dataset) -> tuple[Any, ...]:
    newest = dataset.newest.id if dataset.newest else None
    budget = dataset.budget
    state, count = dataset.state, dataset.release_count
    return dataset.name, state, budget.granted, budget.spent, budget.remaining, count, newest


@datasets.command()
def show(dataset: Dataset_, url: Url = URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show one dataset: bounds, budget, and its newest 100 releases.

    \b
    Example:
      rugnik datasets show bike-trips
    """
    with connect(url, key) as client, naming(client, dataset):
        described = client.dataset(dataset)
    if as_json:
        show_json(described.raw)
        return
    budget = described.budget
    show_fields(
        [
            ("name", described.name),
            ("description", described.description or None),
            ("state", described.state),
            ("budget", f"{budget.spent} of {budget.granted} spent, {budget.remaining} left"),
            ("protects", described.unit.sentence),
            *([("two persons above", described.two_persons_above)] if described.two_persons_above else []),
            *(_about_fields(described.about) if described.about else []),
        ]
    )
    rows = [(each.name, each.kind, part_of(each), each.missing) for each in described.attributes]
    show_table(("attribute", "kind", "bounds or values", "missing values"), rows)
    show_table(_RELEASE_COLUMNS, map(_release_row, described.releases))
    if described.earlier_releases:
        note(f"{described.earlier_releases:,} earlier releases: rugnik datasets releases {described.name}")


def _about_fields(about: About) -> list[tuple[str, str]]:
    """What the curator says of a dataset, for the card of its releases."""
    from rugnik.wire.about import TITLES
    from rugnik.wire.base import json_fields

    return [(TITLES[name].lower(), text) for name, text in json_fields(about).items()]


@datasets.command()
def releases(dataset: Dataset_, url: Url = URL, key: Key = None, as_json: AsJson = False) -> None:
    """List all releases of a dataset, newest last.

    \b
    Example:
      rugnik datasets releases bike-trips
    """
    with connect(url, key) as client, naming(client, dataset):
        listed = list(client.releases(dataset))
    show_list(listed, _RELEASE_COLUMNS, _release_row, as_json=as_json)


_RELEASE_COLUMNS = ("release", "label", "state", "day", "epsilon", "synopsis")


def _release_row(release: ReleaseSummary) -> tuple[Any, ...]:
    digest = release.synopsis.digest if release.synopsis else None
    return release.id, release.label, release.state, release.day, release.epsilon, digest


@datasets.command()
def new(
    name: Annotated[
        str | None, typer.Argument(help="Its name, which is never free again; by default the schema's.")
    ] = None,
    attribute: AttributeOption = None,
    schema: SchemaOption = None,
    person: PersonOption = None,
    budget: Annotated[
        str | None, typer.Option(help="The most epsilon that may ever be spent on it.", show_default=False)
    ] = None,
    description: Annotated[str | None, typer.Option(help="A sentence about it.", show_default=False)] = None,
    two_persons_above: Annotated[
        str | None,
        typer.Option(help="Orders, grants and voids above this epsilon take two keys.", show_default="no rule"),
    ] = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Register a dataset: its public bounds, and its budget, the most epsilon that may ever be spent on it.

    \b
    Example:
      rugnik datasets new survey --budget 2 -a age:0..100 -a income:0..5000
      rugnik datasets new visits --budget 2 --person patient:3 -a age:integer:0..110 -a sex:category:f,m,x
    """
    stated = find_schema(None, attribute, schema, person=person)
    if stated is None:
        fail("Attributes are needed: -a name:lower..upper for each of them, or --schema FILE.", Code.USAGE)
    dataset_name, granted = name or stated.name, budget or stated.budget
    if dataset_name is None or granted is None:
        fail("A name and a --budget are needed.", Code.USAGE)
    with connect(url, key) as client:
        registered = client.register_dataset(
            dataset_name,
            stated.attributes.values(),
            budget=granted,
            description=description or stated.description,
            unit=stated.unit,
            two_persons_above=two_persons_above,
            about=stated.about,
        )
    if as_json:
        show_json(registered.raw)
    else:
        typer.echo(f"Registered {registered.name} with a budget of {registered.budget.granted}.")


@datasets.command()
def close(
    dataset: Dataset_,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: it cannot be undone.")] = False,
    url: Url = URL,
    key: Key = None,
) -> None:
    """Close a dataset for good: no more grants, orders or uploads. Published releases can still be asked.

    \b
    Example:
      rugnik datasets close survey --yes
    """
    if not yes:
        typer.confirm(f"Close {dataset} for good? This cannot be undone.", abort=True)
    with connect(url, key) as client, naming(client, dataset):
        client.close_dataset(dataset)
    typer.echo(f"{dataset} is closed.")


@datasets.command()
def grant(
    dataset: Dataset_,
    epsilon: Annotated[str, typer.Argument(help="How much epsilon to add, such as 0.5.", show_default=False)],
    reason: Annotated[str, typer.Option(help="Why; the ledger records it.", show_default=False)],
    url: Url = URL,
    key: Key = None,
) -> None:
    """Raise a budget; the ledger records it. Needs an admin key.

    \b
    Example:
      rugnik datasets grant survey 0.5 --reason "board decision 12"
    """
    with connect(url, key) as client, naming(client, dataset):
        budget = client.grant(dataset, epsilon, reason=reason).budget
    typer.echo(f"{dataset} has {budget.granted} in all, {budget.remaining} of it left.")


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
        dataset = client.void(release).dataset
        budget = client.dataset(dataset).budget
    typer.echo(f"{release} is void; {dataset} has {budget.remaining} left.")
