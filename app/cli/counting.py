"""`rugnik release` for files that are counted where they lie: on this machine's cores, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.checking import limits_here
from app.cli.exits import Code, fail
from app.cli.output import progress_bar
from app.cli.schema import Schema

if TYPE_CHECKING:
    from app.engines.counting import Engine
    from app.ingest.upload import Ingest
    from rugnik import Client
    from rugnik.wire import Published

_ENGINES = ("local", "dask")


@dataclass(frozen=True, slots=True)
class Place:
    """Where rows are counted: on the cluster of this scheduler, or on this machine if it is None."""

    scheduler: str | None


def chosen_engine(file: str, engine: str | None, scheduler: str | None) -> Place | None:
    """Where to count the rows of a file; None if the file itself is uploaded. Ends the command if it is unclear."""
    if engine is not None and engine not in _ENGINES:
        fail(f"--engine is one of: {', '.join(_ENGINES)}.", Code.USAGE)
    if (engine == "dask") != (scheduler is not None):
        fail("Give --engine dask and its --scheduler together.", Code.USAGE)
    if engine is None and "://" not in file and (Path(file).is_file() or not _may_be_many(file)):
        return None
    return Place(scheduler)


def _may_be_many(file: str) -> bool:
    return Path(file).is_dir() or bool(set("*?[") & set(file))


def check_files(
    place: Place, files: str, schema: Schema, *, out_of_range: str | None, media_type: str | None
) -> Ingest:
    """The numbers of rows of all files, counted where they lie; ends the command if a file is unfit."""
    with _opened(place, files, schema, out_of_range, media_type, title="Reading") as engine:
        return engine.check()


def count_and_send(
    client: Client,
    order: str,
    files: str,
    place: Place,
    schema: Schema,
    *,
    media_type: str | None,
    is_continued: bool,
) -> Published:
    """Count all files for each step of an order, and send the counts. `is_continued` as in `send_all`."""
    from app.engines.people import key_of
    from app.engines.sending import send_all
    from rugnik.wire import Published

    terms = client.release(order).plan.order
    chosen = Schema({name: schema.attributes[name] for name in terms["attributes"]}, schema.source, unit=schema.unit)
    opened = _opened(
        place, files, chosen, terms["out_of_range"], media_type, title="Counting", person_key=key_of(order)
    )
    with opened as engine:
        return Published.of(send_all(client, order, engine, is_continued=is_continued).raw)


@contextmanager
def _opened(
    place: Place,
    files: str,
    schema: Schema,
    out_of_range: str | None,
    media_type: str | None,
    *,
    title: str,
    person_key: bytes | None = None,
) -> Iterator[Engine]:
    from app.engines.counting import open_engine
    from app.engines.dask_cluster import UnfitCluster
    from app.engines.files import NoFiles
    from app.ingest.errors import IngestError
    from app.ingest.formats import MediaType
    from core.domain.domain import Domain
    from core.domain.kinds import attribute_of
    from core.errors import InvalidDomain
    from core.records import OutOfRange
    from core.unit import Unit

    try:
        stated: Mapping[str, Any] = {
            "domain": Domain(tuple(attribute_of(each) for each in schema.attributes.values())),
            "unit": Unit.from_json(schema.unit),
            "out_of_range": OutOfRange(out_of_range or "clip"),
            "media_type": None if media_type is None else MediaType(media_type),
            "person_key": person_key,
        }
    except InvalidDomain as error:
        fail(str(error), Code.USAGE)
    except ValueError:
        media_types = ", ".join(MediaType)
        fail(f"Give clip or drop to --out-of-range, and one of these to --media-type: {media_types}.", Code.USAGE)
    try:
        with (
            progress_bar(title, counted="parts") as progress,
            open_engine(
                [files], limits=limits_here(), scheduler=place.scheduler, progress=progress, **stated
            ) as engine,
        ):
            yield engine
    except NoFiles as error:
        fail(str(error), Code.USAGE)
    except UnfitCluster as error:
        fail(str(error), Code.UNFIT_FILE)
    except IngestError as error:
        fail(f"{files}: {error}", Code.UNFIT_FILE)
