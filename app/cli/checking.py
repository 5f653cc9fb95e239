"""`rugnik check`: reads a file locally with the service's own readers, and asks the curator whether to publish it.

The service publishes whatever rows it gets, because a refusal would reveal something about them. Whether a file is
worth its epsilon is the curator's decision. So the curator is asked here, before anything is registered, ordered or
sent.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from app.cli.curator import FileArgument, OutOfRange
from app.cli.drafting import typed_columns
from app.cli.exits import Code, fail
from app.cli.header import advice, header_names
from app.cli.losses import hints, show_losses, worst_words
from app.cli.naming import naming
from app.cli.options import URL, AsJson, Key, Url, connect
from app.cli.output import note, progress_bar, show_json, show_table
from app.cli.schema import (
    AttributeOption,
    Declaration,
    PersonOption,
    Schema,
    SchemaOption,
    declared,
    find_schema,
    parse_person,
    stem,
)

if TYPE_CHECKING:
    from app.ingest.limits import Limits
    from app.ingest.losses import Losses
    from app.ingest.upload import Ingest
    from app.settings.settings import Settings
    from core.domain.domain import Domain
    from rugnik.wire import Dataset

_ASKED_PERCENT = 5  # of the rows: if more would be dropped or clipped, the curator is asked

DatasetOption = Annotated[
    str | None, typer.Option(help="The dataset; by default the schema's name, else the file's.", show_default=False)
]
MediaOption = Annotated[
    str | None,
    typer.Option(help="The file's media type, if its name does not show it: text/csv, …", show_default=False),
]


def check(
    file: FileArgument,
    dataset: DatasetOption = None,
    attribute: AttributeOption = None,
    schema: SchemaOption = None,
    person: PersonOption = None,
    out_of_range: OutOfRange = None,
    media_type: MediaOption = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Read a file as the service would, on this machine, and say which rows would be lost and why. Nothing is spent.

    The numbers are exact, so they are for you alone: nothing is sent or
    stored. Bounds come from -a, from a schema file, or from the dataset. Where persons are protected, it
    also tells how many rows other limits on rows per person would keep. The
    exit code is 7 for a file of which no row would be kept.

    \b
    Example:
      rugnik check examples/bike-trips.csv
      rugnik check rows.parquet -a age:0..100 -a income:0..5000
    """
    bounds = find_schema(file, attribute, schema, person=person)
    if bounds is None:
        remark = "" if dataset else " (from the file's name): give --dataset, or bounds with -a"
        name = dataset or stem(file)
        with connect(url, key) as client, naming(client, name, remark):
            registered = client.dataset(name)
        bounds = bounds_of(registered)
        if person is not None:
            require_unit(registered, parse_person(person), "--person")
    losses = check_locally(file, bounds, out_of_range=out_of_range, media_type=media_type)
    ingest = losses.ingest
    kept = [{"max_rows": limit, "rows_kept": rows} for limit, rows in _by_limit(ingest, bounds)]
    if as_json:
        names = ["rows_read", "rows_dropped", "rows_clipped", *(["rows_over_limit"] if bounds.unit else [])]
        show_json({name: getattr(ingest, name) for name in names} | ({"limits": kept} if kept else {}))
    else:
        show_losses(losses, file, names_of(file, media_type))
        if kept:
            show_table(("rows per person", "rows kept"), [(each["max_rows"], each["rows_kept"]) for each in kept])
    _require_rows(str(file), ingest, losses)


def _by_limit(ingest: Ingest, schema: Schema) -> list[tuple[int, int]]:
    """(limit, rows kept) for some limits on rows per person, the schema's own among them; nothing for records."""
    if schema.unit is None:
        return []
    return sorted({*ingest.rows_kept_by, (int(schema.unit["max_rows"]), ingest.rows_kept)})


def confirm(file: str, ingest: Ingest, losses: Losses | None, *, yes: bool) -> None:
    """Print the numbers of rows; return if the file shall be published, else end the command.

    Asks on a terminal if more than _ASKED_PERCENT of the rows would be lost, unless `yes`. Ends with UNFIT_FILE if no
    row would be kept, or if there is no terminal to ask on. `losses` are None where files are counted where they lie.
    """
    read, dropped, clipped = ingest.rows_read, ingest.rows_dropped, ingest.rows_clipped
    beyond = f", {ingest.rows_over_limit:,} beyond a person's limit" if ingest.rows_over_limit else ""
    numbers = f"{read:,} rows read, {dropped:,} dropped, {clipped:,} clipped{beyond}"
    note(f"{Path(file).name}: {numbers}. The numbers are for you alone.")
    _require_rows(file, ingest, losses, "; or publish noise with --no-check")
    if yes or 100 * (dropped + clipped) <= _ASKED_PERCENT * read:
        return
    if losses is not None:
        for hint in hints(losses, Path(file)):
            note(hint)
    columns = "" if losses is None else worst_words(losses)
    lost = f"More than {_ASKED_PERCENT} % of the rows would be dropped or clipped{columns and f', by {columns}'}"
    if not sys.stdin.isatty():
        fail(
            f"{lost}. Nothing was spent. Mend the file or the bounds ('rugnik check' tells more), or give --yes to "
            "publish it all the same.",
            Code.UNFIT_FILE,
        )
    typer.confirm(f"{lost}. Publish it all the same?", abort=True, err=True)


def _require_rows(file: str, ingest: Ingest, losses: Losses | None, otherwise: str = "") -> None:
    if ingest.rows_dropped == ingest.rows_read:
        columns = "" if losses is None or not ingest.rows_read else worst_words(losses)
        because = f" Rows are dropped by {columns}." if columns else ""
        fail(
            f"No row of {Path(file).name} would be kept.{because} Look at its columns and at the bounds{otherwise}.",
            Code.UNFIT_FILE,
        )
    if losses is not None and losses.has_no_value:
        fail(
            f"{Path(file).name} has no value for any column: every one is missing or unreadable. No row of it would "
            f"tell anything. Look at the names of its columns{otherwise}.",
            Code.UNFIT_FILE,
        )


def check_locally(file: str | Path, schema: Schema, *, out_of_range: str | None, media_type: str | None) -> Losses:
    """What an upload of a local file would lose, by the service's own readers; ends the command if it is unfit."""
    from app.ingest.errors import IngestError, MissingColumns
    from app.ingest.formats import MediaType
    from app.ingest.losses import LossCounter
    from app.ingest.upload import check_upload
    from core.errors import InvalidDomain
    from core.records import OutOfRange as Choice
    from core.unit import Unit
    from rugnik.bodies import body_of, metered
    from rugnik.errors import UnfitSource

    wanted = [*schema.attributes, *([schema.unit["column"]] if schema.unit else [])]
    try:
        body = body_of(file, media_type=media_type)
        domain = domain_of(schema)
        choice, unit = Choice(out_of_range or "clip"), Unit.from_json(schema.unit)
        counter = LossCounter(domain, choice, unit)
        with progress_bar("Reading") as progress:
            ingest = check_upload(
                (metered(body, progress) if progress else body).read(),
                media_type=MediaType(body.media_type),
                gzip=body.gzip,
                domain=domain,
                unit=unit,
                out_of_range=choice,
                limits=limits_here(),
                explainer=counter,
            )
        return counter.losses(ingest)
    except InvalidDomain as error:
        fail(f"{schema.source}: {error}", Code.USAGE)
    except UnfitSource as error:
        message = str(error).replace("give media_type", "give --media-type")
        advised = advice(Path(file), wanted) if Path(file).is_file() else []
        fail("\n".join([*advised, message]), Code.UNFIT_FILE)  # an odd name has an odd content: that is said first
    except IngestError as error:
        lacking = error.names if isinstance(error, MissingColumns) else ()
        _fail_with_advice(Path(file), f"{file}: {error}", wanted, lacking)
    except ValueError:
        media_types = ", ".join(MediaType)
        typed = ", ".join(f"'{each}'" for each in (out_of_range, media_type) if each is not None)
        fail(
            f"{typed}: give clip or drop to --out-of-range, and one of these to --media-type: {media_types}.",
            Code.USAGE,
        )


def domain_of(schema: Schema) -> Domain:
    """The attributes of a schema; ends the command with the name of the one that is none."""
    from core.domain.domain import Domain
    from core.domain.kinds import attribute_of
    from core.errors import InvalidDomain

    attributes = []
    for name, declaration in schema.attributes.items():
        try:
            attributes.append(attribute_of(declaration))
        except InvalidDomain as error:
            fail(f"{schema.source}: the attribute '{name}': {error}", Code.USAGE)
    return Domain(tuple(attributes))


def _fail_with_advice(file: Path, message: str, wanted: Sequence[str], lacking: Sequence[str]) -> NoReturn:
    """End the command with a message about a file, and with what its first bytes say about the cause."""
    advised = advice(file, wanted, lacking=lacking) if file.is_file() else []
    fail("\n".join([message, *advised]), Code.UNFIT_FILE)


def names_of(file: Path, media_type: str | None) -> list[str] | None:
    """The columns of a file that was read; None for a format without a header."""
    from rugnik.bodies import ARROW, CSV, PARQUET, kind_of

    kind, gzip = kind_of(file.name)
    kind = media_type or kind
    if kind == CSV:
        return header_names(file, gzip=gzip, errors="replace")
    if gzip or kind not in (PARQUET, ARROW):
        return None
    return [each.name for each in typed_columns(file, is_parquet=kind == PARQUET)]


def limits_here() -> Limits:
    """The limits of an upload by the settings of this machine; CannotStart if they cannot be read."""
    return settings_here().limits


def settings_here() -> Settings:
    """The settings of this machine; CannotStart if they cannot be read."""
    from app.settings.settings import Settings

    try:
        return Settings()
    except ValueError:
        from app.operations.server import read_settings

        return read_settings()


def require_unit(dataset: Dataset, stated: Declaration | None, source: str) -> None:
    """End the command if `source` states another unit than a dataset protects; None is one row."""
    if stated != bounds_of(dataset).unit:
        fail(
            f"{dataset.name} protects another unit ({dataset.unit.sentence}) than {source} states. It never changes: "
            "state that one, or another --dataset.",
            Code.USAGE,
        )


def bounds_of(dataset: Dataset) -> Schema:
    """The public attributes and the unit of a dataset."""
    attributes = {each["name"]: declared(each) for each in dataset.raw["attributes"]}
    unit = dataset.raw.get("unit", {"kind": "record"})
    return Schema(attributes, f"the dataset {dataset.name}", unit=None if unit == {"kind": "record"} else unit)
