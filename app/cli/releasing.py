"""`rugnik release`: publishes a synopsis of a file of rows."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.checking import DatasetOption, MediaOption, check_locally, confirm
from app.cli.counting import Place, check_files, chosen_engine, count_and_send
from app.cli.curator import Declared, EpsilonOption, Estimate, OffsetsOption, OutOfRange, Rule, Use
from app.cli.exits import Code, fail
from app.cli.naming import require_order_id
from app.cli.options import URL, AsJson, Key, Url, connect
from app.cli.output import is_quiet, named, note, progress_bar, show_fields, show_json
from app.cli.registering import new_schema, register, registered_schema, remark_budget
from app.cli.resuming import require_open, require_same_terms, require_within, resume, source_of
from app.cli.schema import AttributeOption, Declaration, PersonOption, Schema, SchemaOption, find_schema, stem
from app.cli.terms import require_fit

if TYPE_CHECKING:
    from rugnik import Client
    from rugnik.wire import Ingest, Published, Release


def release(
    file: Annotated[
        str,
        typer.Argument(
            help="CSV, NDJSON, Parquet or Arrow, also .gz. Or a folder, a pattern in quotes, or an address such as "
            "s3://bucket/trips/*.parquet.",
            show_default=False,
        ),
    ],
    epsilon: EpsilonOption = None,
    clusters: Annotated[
        int | None,
        typer.Option(min=1, max=256, help="The number of clusters that the grid is made for.", show_default=False),
    ] = None,
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
    offsets: OffsetsOption = None,
    out_of_range: OutOfRange = None,
    label: Annotated[
        str | None,
        typer.Option(help="A public name for the release, such as 2026-Q3; on record for ever.", show_default=False),
    ] = None,
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
        str | None,
        typer.Option(
            help="Upload to this order, which is already paid for. Its terms are on record.", show_default=False
        ),
    ] = None,
    new_order: Annotated[
        bool, typer.Option("--new-order", help="Spend epsilon also if there is an order of the same terms.")
    ] = False,
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

    If it was interrupted, repeat the same command. It finds an order of the
    same terms and never pays twice by itself: it asks, and without a terminal
    it says what to add. --order goes on with an order; --new-order wants
    another one.

    Several files, or files elsewhere, are counted by this command itself, or on
    a Dask cluster. Then no row is sent, only exact counts, over https.

    \b
    Example:
      rugnik release examples/bike-trips.csv --epsilon 0.5 --clusters 5
      rugnik release rows.csv --epsilon 1 --clusters 5 --budget 2 -a age:0..100
      rugnik release rows.csv --order r0123456789abcdef
      rugnik release 'trips/*.parquet' --dataset trips --epsilon 1 --clusters 8
    """
    terms: dict[str, Any] = {
        "epsilon": epsilon,
        "clusters": clusters,
        "attributes": use or None,
        "declared": declared,
        "estimate": estimate,
        "rule": rule,
        "offsets": offsets,
        "out_of_range": out_of_range,
        "label": label,
    }
    if order is not None:
        require_order_id(order)
    _require_terms(order, terms)
    place = chosen_engine(file, engine, scheduler)
    path = Path(file)
    stated = find_schema(path if place is None else None, attribute, schema, person=person)
    with connect(url, key) as client:
        ordered = None if order is None else client.release(order)
        if ordered is not None:
            require_same_terms(ordered, dataset, terms)
            if not require_open(ordered):
                _show_release(ordered, as_json=as_json)
                return
        name = _name_of(ordered, dataset, stated, path if place is None else None)
        check = partial(_check, file, place, media_type=media_type, yes=yes) if checked else None
        ordered, again, bounds = _order_to_fill(
            client,
            name,
            stated,
            terms,
            ordered,
            source_of(file),
            person,
            budget=budget,
            new_order=new_order,
            check=check,
        )
        with _order_reminder(file, ordered) as reminder:
            paid = ordered.id if ordered is not None else _order(client, name, terms, again, reminder)
            # Before the upload: a request right after it would show in the log when the upload ended, and so how long
            # it took.
            left = client.dataset(name).budget.remaining
            if place is None:
                published = _upload(client, paid, path, media_type=media_type, gzip=gzip)
            else:
                published = count_and_send(
                    client, paid, file, place, bounds, media_type=media_type, is_continued=order is not None
                )
    _show_release(published, left, published.ingest, as_json=as_json)


def _require_terms(order: str | None, terms: Mapping[str, Any]) -> None:
    """End the command if the terms of a new order are not complete, or contradict one another."""
    if terms["declared"] is not None and terms["estimate"] is not None:
        fail("Give either --declared or --estimate.", Code.USAGE)
    if order is None and (terms["epsilon"] is None or terms["clusters"] is None):
        fail("Give --epsilon and --clusters; or --order, which has them.", Code.USAGE)


def _order_to_fill(
    client: Client,
    name: str,
    stated: Schema | None,
    terms: Mapping[str, Any],
    ordered: Release | None,
    source: str,
    person: str | None,
    *,
    budget: str | None,
    new_order: bool,
    check: Callable[[Schema, str | None], None] | None,
) -> tuple[Release | None, str | None, Schema]:
    """The order to upload to: `ordered`, or an interrupted one; None for a new one, which is still to be placed.

    Also the Idempotency-Key of a new one, if any, and the dataset's bounds.

    Registers the dataset if it is missing. `source` is where the rows come from. `check` reads them before anything is
    registered or charged, and ends the command if they are not to be published.
    """
    registered, again = registered_schema(client, name, stated, person), None
    bounds = new_schema(client, name, stated, budget) if registered is None else registered[1]
    if registered is None:
        require_within(bounds.budget or "", terms["epsilon"] or "")
        _chosen(bounds, terms["attributes"])  # names an attribute that is not there
        require_fit(bounds, terms)
    else:
        remark_budget(registered[0], budget)
    if registered is not None and ordered is None:
        ordered, again = resume(client, registered[0], terms, source, new_order=new_order)
    if check is not None:
        columns, choice = (terms["attributes"], terms["out_of_range"]) if ordered is None else _terms_of(ordered)
        check(replace(bounds, attributes=_chosen(bounds, columns)), choice)
    if registered is None:
        register(client, name, bounds)
    return ordered, again, bounds


def _check(
    file: str, place: Place | None, schema: Schema, out_of_range: str | None, *, media_type: str | None, yes: bool
) -> None:
    """Read all rows on this machine; ends the command if they are not to be published."""
    if place is None:
        losses = check_locally(file, schema, out_of_range=out_of_range, media_type=media_type)
        confirm(file, losses.ingest, losses, yes=yes)
    else:
        counted = check_files(place, file, schema, out_of_range=out_of_range, media_type=media_type)
        confirm(file, counted, None, yes=yes)


def _name_of(ordered: Release | None, dataset: str | None, stated: Schema | None, file: Path | None) -> str:
    """The dataset of the order, or the one that is named, the schema's, the file's; ends the command without any."""
    if ordered is not None:
        return ordered.dataset
    name = dataset or (stated and stated.name) or (stem(file) if file is not None else None)
    if name is None:
        fail("Name the --dataset: several files, and files elsewhere, do not tell it.", Code.USAGE)
    return name


def _terms_of(order: Release) -> tuple[list[str], str]:
    """The attributes of an order, and its choice for values out of range (clip or drop)."""
    terms = order.plan.order
    return list(terms["attributes"]), terms["out_of_range"]


def _chosen(schema: Schema, columns: list[str] | None) -> dict[str, Declaration]:
    """The chosen attributes; of all attributes if `columns` is None or empty."""
    unknown = [name for name in columns or () if name not in schema.attributes]
    if unknown:
        fail(f"There is no attribute '{unknown[0]}': {schema.source} has {', '.join(schema.attributes)}.", Code.USAGE)
    return {name: schema.attributes[name] for name in columns or schema.attributes}


def _order(client: Client, dataset: str, terms: Mapping[str, Any], again: str | None, reminder: _Reminder) -> str:
    """The id of a new order, which is charged now."""
    from rugnik import errors

    try:
        ordered = client.order(dataset, idempotency_key=again, **terms)
    except errors.NeedsApproval as waiting:
        note(
            f"No row was sent. Once {waiting.request.id} is approved, repeat this command with "
            f"'--order {waiting.request.release}'."
        )
        raise
    if ordered.dataset != dataset:
        fail(
            f"The service answered with an order of '{ordered.dataset}', not of '{dataset}'. No row was sent.",
            Code.REFUSED,
        )
    reminder.order = ordered.id
    note(f"Ordered {named(ordered.id, ordered.label)}: epsilon {ordered.charge.epsilon} is charged.")
    return ordered.id


def _upload(client: Client, order: str, file: Path, *, media_type: str | None, gzip: bool) -> Published:
    with progress_bar("Uploading") as progress:
        return client.upload(order, file, media_type=media_type, gzip=gzip, progress=progress)


@dataclass(slots=True)
class _Reminder:
    """The order that is paid for; None while it is being placed."""

    order: str | None


@contextmanager
def _order_reminder(file: str, ordered: Release | None) -> Iterator[_Reminder]:
    """If the block fails or is interrupted, print how to go on with its order, which may be paid for already."""
    from app.engines.sending import BegunElsewhere  # here: nothing may take long between the charge and the reminder
    from rugnik import errors

    reminder = _Reminder(None if ordered is None else ordered.id)
    try:
        yield reminder
    except (errors.ReleaseEnded, BegunElsewhere):
        raise
    except (errors.RugnikError, KeyboardInterrupt) as error:
        order = reminder.order
        if order is not None:
            note(
                f"The order {order} is paid for, and open unless all rows had arrived. Go on with 'rugnik release "
                f"{shlex.quote(file)} --order {order}', or get its epsilon back with 'rugnik void {order}'."
            )
        elif isinstance(error, errors.NotReached | KeyboardInterrupt):
            note(
                "It is not known whether the order was placed. Repeat the same command, without --new-order: it finds "
                "the order if it was, and pays once."
            )
        raise


def _show_release(published: Release, left: str | None = None, rows: Ingest | None = None, *, as_json: bool) -> None:
    """A published release; `left` is what is left of the budget, where that is known."""
    if as_json:
        show_json(published.raw)
        return
    if is_quiet():
        typer.echo(published.id)
        return
    grid = published.plan.grid
    fields: list[tuple[str, Any]] = [
        ("release", named(published.id, published.label)),
        ("state", published.state),
        ("epsilon", f"{published.charge.epsilon} spent" + ("" if left is None else f", {left} left")),
        ("grid", None if grid is None else grid.sentence),
        *([("rule", f"adaptive. {published.plan.note}")] if published.plan.note else []),
        ("synopsis", published.synopsis and published.synopsis.digest),
    ]
    if rows is not None:
        numbers = f"{rows.rows_read:,} read, {rows.rows_dropped:,} dropped, {rows.rows_clipped:,} clipped"
        if rows.rows_over_limit:
            numbers += f", {rows.rows_over_limit:,} beyond the limit of a person"
        fields.append(("rows, for you alone", numbers))
    show_fields(fields)
    note(f"Ask for ever: rugnik query clusters {published.id} --k {published.plan.order['clusters']}")
