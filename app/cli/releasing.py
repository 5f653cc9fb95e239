"""`rugnik release`: publishes a synopsis of a file of rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.checking import DatasetOption, MediaOption, bounds_of, check_locally, confirm, progress_bar
from app.cli.counting import check_files, chosen_engine, count_and_send
from app.cli.curator import Clusters, Declared, Estimate, OutOfRange, Rule, Use
from app.cli.exits import Code, fail
from app.cli.options import URL, AsJson, Key, Url, connect
from app.cli.output import note, show_fields, show_json
from app.cli.schema import AttributeOption, Declaration, PersonOption, Schema, SchemaOption, find_schema, part_of, stem

if TYPE_CHECKING:
    from rugnik import Client
    from rugnik.wire import Published


def release(
    file: Annotated[
        str,
        typer.Argument(
            help="CSV, NDJSON, Parquet or Arrow, also .gz. Or a folder, a pattern in quotes, or an address such as "
            "s3://bucket/trips/*.parquet.",
            show_default=False,
        ),
    ],
    epsilon: Annotated[str, typer.Option(help="How much epsilon to spend, such as 0.5.", show_default=False)],
    clusters: Clusters,
    dataset: DatasetOption = None,
    attribute: AttributeOption = None,
    schema: SchemaOption = None,
    person: PersonOption = None,
    budget: Annotated[
        str | None, typer.Option(help="The budget, if the dataset is not registered yet.", show_default=False)
    ] = None,
    use: Use = None,
    declared: Declared = None,
    estimate: Estimate = None,
    rule: Rule = None,
    out_of_range: OutOfRange = None,
    media_type: MediaOption = None,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress the upload.")] = False,
    checked: Annotated[
        bool, typer.Option("--check/--no-check", help="Read the file on this machine before epsilon is spent.")
    ] = True,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask, even if many rows would be lost.")] = False,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Count the rows where they lie and send only counts: local (all cores of this machine) or dask.",
            show_default="local, unless it is one file of this machine",
        ),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="The scheduler of the Dask cluster, such as tls://host:8786.", show_default=False)
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="Upload to this order, which is already paid for.", show_default=False)
    ] = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Publish a file: register the dataset if it is missing, order, upload. This spends epsilon.

    The dataset must exist, or you give its public bounds and budget: with -a
    and --budget, or in a JSON schema beside the file. The file is first read on
    this machine. If many rows would be dropped or clipped, you are asked; if no
    row would be kept, nothing is spent. The service itself never decides by
    rows; use --no-check in a script that must not do so either.

    Several files, or files elsewhere, are counted by this command itself, or on
    a Dask cluster. Then no row is sent, only exact counts, over https.

    \b
    Example:
      rugnik release examples/bike-trips.csv --epsilon 0.5 --clusters 5
      rugnik release rows.csv --epsilon 1 --clusters 5 --budget 2 -a age:0..100
      rugnik release 'trips/*.parquet' --dataset trips --epsilon 1 --clusters 8
    """
    if declared is not None and estimate is not None:
        fail("Give either --declared or --estimate.", Code.USAGE)
    place = chosen_engine(file, engine, scheduler)
    path = Path(file)
    stated = find_schema(path if place is None else None, attribute, schema, person=person)
    with connect(url, key) as client:
        name = dataset or (stated and stated.name) or (stem(path) if place is None else None)
        if name is None:
            fail("Name the --dataset: several files, and files elsewhere, do not tell it.", Code.USAGE)
        registered = _registered_schema(client, name, stated)
        bounds = registered or _new_schema(name, stated, budget)
        if checked:
            columns, choice = _terms_of(client, order) if order else (use, out_of_range)
            chosen = replace(bounds, attributes=_chosen(bounds, columns))
            look = check_locally if place is None else partial(check_files, place)
            confirm(file, look(file, chosen, out_of_range=choice, media_type=media_type), yes=yes)
        if registered is None:
            _register(client, name, bounds)
        paid = order or _order(
            client,
            name,
            epsilon=epsilon,
            clusters=clusters,
            attributes=use or None,
            declared=declared,
            estimate=estimate,
            rule=rule,
            out_of_range=out_of_range,
        )
        with _order_reminder(paid):
            # Before the upload: a request right after it would show in the log when the upload ended, and so how long
            # it took.
            left = client.dataset(name).budget.remaining
            if place is None:
                published = _upload(client, paid, path, media_type=media_type, gzip=gzip)
            else:
                published = count_and_send(client, paid, file, place, bounds, media_type=media_type)
    if as_json:
        show_json(published.raw)
    else:
        _show(published, left)


def _registered_schema(client: Client, name: str, stated: Schema | None) -> Schema | None:
    """The schema of a registered dataset, None if it is not registered.

    Ends the command if other bounds were stated.
    """
    from rugnik import errors

    try:
        dataset = client.dataset(name)
    except errors.NotFound:
        return None
    bounds = bounds_of(dataset)
    if stated is not None and bounds.attributes != stated.attributes:
        theirs = ", ".join(f"{each.name}:{part_of(each)}" for each in dataset.attributes)
        fail(
            f"{name} is registered with other bounds ({theirs}) than {stated.source} states. Bounds never change: "
            "use those, or another --dataset.",
            Code.USAGE,
        )
    if stated is not None and bounds.unit != stated.unit:
        fail(
            f"{name} protects another unit ({dataset.unit.sentence}) than {stated.source} states. It never changes: "
            "state that one, or another --dataset.",
            Code.USAGE,
        )
    return bounds


def _new_schema(name: str, stated: Schema | None, budget: str | None) -> Schema:
    """The schema and budget to register a new dataset with; ends the command if something is missing."""
    if stated is None:
        fail(
            f"There is no dataset '{name}' yet, and its bounds are not read off the file, because that would reveal "
            "rows. State them with -a name:lower..upper for each attribute and --budget, or in a JSON file beside the "
            f"rows ({name}.json); or name another --dataset.",
            Code.USAGE,
        )
    if budget is None and stated.name not in (None, name):  # perhaps a typing error in --dataset: register nothing
        fail(
            f"There is no dataset '{name}' yet; {Path(stated.source).name} is for '{stated.name}'. Give --budget to "
            "register it.",
            Code.USAGE,
        )
    if budget is None and stated.budget is None:
        fail(f"There is no dataset '{name}' yet: give its --budget, the most epsilon it may ever lose.", Code.USAGE)
    return replace(stated, budget=budget or stated.budget)


def _register(client: Client, name: str, schema: Schema) -> None:
    dataset = client.register_dataset(
        name,
        schema.attributes.values(),
        budget=schema.budget or "",
        description=schema.description,
        unit=schema.unit,
        about=schema.about,
    )
    note(f"Registered {name} with a budget of {dataset.budget.granted}; bounds from {schema.source}.")


def _terms_of(client: Client, order: str) -> tuple[list[str], str]:
    """The attributes of an order, and its choice for values out of range (clip or drop)."""
    terms = client.release(order).plan.order
    return list(terms["attributes"]), terms["out_of_range"]


def _chosen(schema: Schema, columns: list[str] | None) -> dict[str, Declaration]:
    """The chosen attributes; of all attributes if `columns` is None or empty."""
    unknown = [name for name in columns or () if name not in schema.attributes]
    if unknown:
        fail(f"There is no attribute '{unknown[0]}': {schema.source} has {', '.join(schema.attributes)}.", Code.USAGE)
    return {name: schema.attributes[name] for name in columns or schema.attributes}


def _order(client: Client, dataset: str, **terms: Any) -> str:
    from rugnik import errors

    try:
        ordered = client.order(dataset, **terms)
    except errors.NeedsApproval as waiting:
        note(
            f"No row was sent. Once {waiting.request.id} is approved, repeat this command with "
            f"'--order {waiting.request.release}'."
        )
        raise
    note(f"Ordered {ordered.id}: epsilon {ordered.charge.epsilon} is charged.")
    return ordered.id


def _upload(client: Client, order: str, file: Path, *, media_type: str | None, gzip: bool) -> Published:
    with progress_bar("Uploading") as progress:
        return client.upload(order, file, media_type=media_type, gzip=gzip, progress=progress)


@contextmanager
def _order_reminder(order: str) -> Iterator[None]:
    """If the block fails or is interrupted, print how to go on with the order, which is already paid for."""
    from rugnik import errors

    try:
        yield
    except errors.ReleaseEnded:
        raise
    except (errors.RugnikError, KeyboardInterrupt):
        note(
            f"The order {order} is paid for, and open unless all rows had arrived: repeat this command with "
            f"'--order {order}', or get its epsilon back with 'rugnik void {order}'."
        )
        raise


def _show(published: Published, left: str) -> None:
    grid = published.plan.grid
    fields: list[tuple[str, Any]] = [
        ("release", published.id),
        ("state", published.state),
        ("epsilon", f"{published.charge.epsilon} spent, {left} left"),
        ("grid", None if grid is None else grid.sentence),
        *([("rule", f"adaptive. {published.plan.note}")] if published.plan.note else []),
        ("synopsis", published.synopsis and published.synopsis.digest),
    ]
    if published.ingest is not None:
        rows = published.ingest
        numbers = f"{rows.rows_read:,} read, {rows.rows_dropped:,} dropped, {rows.rows_clipped:,} clipped"
        if rows.rows_over_limit:
            numbers += f", {rows.rows_over_limit:,} beyond the limit of a person"
        fields.append(("rows, for you alone", numbers))
    show_fields(fields)
    note(f"Ask for ever: rugnik query clusters {published.id} --k {published.plan.order['clusters']}")
