"""`rugnik check` and `rugnik release`: a file of rows becomes a published synopsis."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.curator import Clusters, Declared, Estimate, FileArgument, OutOfRange, Rule, Use
from app.cli.schema import AttributeOption, Schema, SchemaOption, find_schema, stem
from app.cli.shared import URL, AsJson, Code, Key, Url, connect, fail, note, show_fields, show_json

if TYPE_CHECKING:
    from app.client import Client
    from app.client.objects import Dataset, Release
    from app.ingest.upload import Ingest

DatasetOption = Annotated[
    str | None, typer.Option(help="The dataset; else the schema's name, else the file's.", show_default=False)
]
MediaOption = Annotated[
    str | None, typer.Option(help="What the file is, where its name does not tell: text/csv, …", show_default=False)
]


def check(
    file: FileArgument,
    dataset: DatasetOption = None,
    attribute: AttributeOption = None,
    schema: SchemaOption = None,
    out_of_range: OutOfRange = None,
    media_type: MediaOption = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Read a file as the service would, here and now: rows read, dropped, clipped. Nothing is sent or spent.

    The numbers are exact, so they are for you alone. Bounds come from -a,
    from a schema file, or from the dataset.

    \b
    Example:
      rugnik check examples/bike-trips.csv
      rugnik check rows.parquet -a age:0..100 -a income:0..5000
    """
    bounds = find_schema(file, attribute, schema)
    if bounds is None:
        with connect(url, key) as client:
            bounds = _bounds_of(client.dataset(dataset) if dataset else _guessed(client, file))
    ingest = check_locally(file, bounds.attributes, out_of_range=out_of_range, media_type=media_type)
    fields = [(name, getattr(ingest, name)) for name in ("rows_read", "rows_dropped", "rows_clipped")]
    if as_json:
        show_json(dict(fields))
    else:
        show_fields([(name.replace("_", " "), value) for name, value in fields])


def release(
    file: FileArgument,
    epsilon: Annotated[str, typer.Option(help="How much epsilon to spend, such as 0.5.", show_default=False)],
    clusters: Clusters,
    dataset: DatasetOption = None,
    attribute: AttributeOption = None,
    schema: SchemaOption = None,
    budget: Annotated[
        str | None, typer.Option(help="For a dataset that is registered now: its budget.", show_default=False)
    ] = None,
    use: Use = None,
    declared: Declared = None,
    estimate: Estimate = None,
    rule: Rule = None,
    out_of_range: OutOfRange = None,
    media_type: MediaOption = None,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress on the way.")] = False,
    checked: Annotated[
        bool, typer.Option("--check/--no-check", help="Read the file here before epsilon is spent.")
    ] = True,
    order: Annotated[
        str | None, typer.Option(help="Upload to this order, which is paid for already.", show_default=False)
    ] = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Publish a file: register the dataset if it is missing, order, upload, done. Epsilon is spent.

    The dataset must exist, or its public bounds and budget be given: by -a
    and --budget, or by a JSON schema beside the file. A file that cannot be
    read is refused before epsilon is spent; what its rows say never decides.

    \b
    Example:
      rugnik release examples/bike-trips.csv --epsilon 0.5 --clusters 5
      rugnik release rows.csv --epsilon 1 --clusters 5 --budget 2 -a age:0..100
    """
    if declared is not None and estimate is not None:
        fail("Give either --declared or --estimate.", Code.USAGE)
    stated = find_schema(file, attribute, schema)
    with connect(url, key) as client:
        registered = _dataset(client, dataset or (stated and stated.name) or stem(file), stated, budget)
        if checked:
            known = _bounds_of(registered).attributes
            names = use or list(known)
            bounds = {name: known[name] for name in names if name in known}
            check_locally(file, bounds, out_of_range=out_of_range, media_type=media_type)
        paid = order or _order(
            client,
            registered.name,
            epsilon=epsilon,
            clusters=clusters,
            attributes=use or None,
            declared=declared,
            estimate=estimate,
            rule=rule,
            out_of_range=out_of_range,
        )
        with _kept_open(paid):
            # Before the upload: a request right after it would tell the log when it ended, and so how long it took.
            left = client.dataset(registered.name).budget.remaining
            published = _upload(client, paid, file, media_type=media_type, gzip=gzip)
    if as_json:
        show_json(published.raw)
    else:
        _show(published, left)


def check_locally(
    file: Path, bounds: dict[str, tuple[float, float]], *, out_of_range: str | None, media_type: str | None
) -> Ingest:
    """The service's own readers on a local file; a fault of the file ends the command."""
    from app.client.bodies import body_of
    from app.config import Settings
    from app.ingest.errors import IngestError
    from app.ingest.formats import MediaType
    from app.ingest.upload import check_upload
    from core.domain import Attribute, Domain
    from core.errors import InvalidDomain
    from core.records import OutOfRange as Choice

    try:
        limits = Settings().limits
    except ValueError:
        from app.serving import read_settings

        limits = read_settings().limits
    body = body_of(file, media_type=media_type)
    try:
        return check_upload(
            body.read(),
            media_type=MediaType(body.media_type),
            gzip=body.gzip,
            domain=Domain(tuple(Attribute(name, lower, upper) for name, (lower, upper) in bounds.items())),
            out_of_range=Choice(out_of_range or "clip"),
            limits=limits,
        )
    except InvalidDomain as error:
        fail(str(error), Code.USAGE)
    except IngestError as error:
        fail(f"{file}: {error}", Code.UNFIT_FILE)
    except ValueError:
        kinds = ", ".join(kind.value for kind in MediaType)
        fail(f"Give clip or drop to --out-of-range, and one of these to --media-type: {kinds}.", Code.USAGE)


def _guessed(client: Client, file: Path) -> Dataset:
    """The dataset that bears the file's name."""
    from app.client import errors

    try:
        return client.dataset(stem(file))
    except errors.NotFound:
        fail(
            f"There is no dataset '{stem(file)}' (from the file's name): give --dataset, or bounds with -a.",
            Code.REFUSED,
        )


def _dataset(client: Client, name: str, stated: Schema | None, budget: str | None) -> Dataset:
    """The dataset, registered now if it is missing; never with other bounds than were stated."""
    from app.client import errors

    try:
        found = client.dataset(name)
    except errors.NotFound:
        return _register(client, name, stated, budget)
    if stated is not None and _bounds_of(found).attributes != stated.attributes:
        theirs = ", ".join(f"{a.name}:{a.lower:g}..{a.upper:g}" for a in found.attributes)
        fail(
            f"{name} is registered with other bounds ({theirs}) than {stated.source} states. Bounds never change: "
            "use those, or another --dataset.",
            Code.USAGE,
        )
    return found


def _register(client: Client, name: str, stated: Schema | None, budget: str | None) -> Dataset:
    if stated is None:
        fail(
            f"There is no dataset '{name}' yet, and its bounds are not read off the file, because that would reveal "
            "rows. State them with -a name:lower..upper for each attribute and --budget, or in a JSON file beside the "
            f"rows ({name}.json); or name another --dataset.",
            Code.USAGE,
        )
    if budget is None and stated.name not in (None, name):  # perhaps a slip of the pen, and no reason for a new budget
        fail(
            f"There is no dataset '{name}' yet; {Path(stated.source).name} is for '{stated.name}'. Give --budget to "
            "register it.",
            Code.USAGE,
        )
    amount = budget or stated.budget
    if amount is None:
        fail(f"There is no dataset '{name}' yet: give its --budget, the most epsilon it may ever lose.", Code.USAGE)
    made = client.register_dataset(name, stated.attributes, budget=amount, description=stated.description)
    note(f"Registered {name} with a budget of {made.budget.granted}; bounds from {stated.source}.")
    return made


def _bounds_of(dataset: Dataset) -> Schema:
    return Schema({a.name: (a.lower, a.upper) for a in dataset.attributes}, f"the dataset {dataset.name}")


def _order(client: Client, dataset: str, **terms: Any) -> str:
    ordered = client.order(dataset, **terms)
    note(f"Ordered {ordered.id}: epsilon {ordered.charge.epsilon} is charged.")
    return ordered.id


def _upload(client: Client, order: str, file: Path, *, media_type: str | None, gzip: bool) -> Release:
    with _progress_bar() as progress:
        return client.upload(order, file, media_type=media_type, gzip=gzip, progress=progress)


@contextmanager
def _kept_open(order: str) -> Iterator[None]:
    """Whatever ends the block, the order that is paid for is not lost."""
    from app.client import errors

    try:
        yield
    except errors.ReleaseEnded:
        raise
    except (errors.RugnikError, KeyboardInterrupt):
        note(
            f"The order {order} is paid for and still open: repeat this command with '--order {order}', or get its "
            f"epsilon back with 'rugnik void {order}'."
        )
        raise


@contextmanager
def _progress_bar() -> Iterator[Any]:
    """A bar on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("Uploading"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("upload", total=None)
        yield lambda sent, total: bar.update(task, completed=sent, total=total)


def _show(published: Release, left: str) -> None:
    grid = published.plan.grid
    fields: list[tuple[str, Any]] = [
        ("release", published.id),
        ("state", published.state),
        ("epsilon", f"{published.charge.epsilon} spent, {left} left"),
        ("grid", None if grid is None else f"{grid.cells_per_axis} cells on each of {grid.dimensions} axes"),
        ("synopsis", published.synopsis and published.synopsis.digest),
    ]
    if published.ingest is not None:
        rows = published.ingest
        told = f"{rows.rows_read:,} read, {rows.rows_dropped:,} dropped, {rows.rows_clipped:,} clipped"
        fields.append(("rows, for you alone", told))
    show_fields(fields)
    note(f"Ask for ever: rugnik query clusters {published.id} --k {published.plan.order['clusters']}")
