"""Public attributes on the command line: from options, or from a schema file (JSON or TOML) that states them.

A schema has the fields of `POST /v1/datasets`. Nothing in it is ever read from the rows: a minimum or a maximum of the
data is a value of one of its rows.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.exits import Code, fail

if TYPE_CHECKING:
    from rugnik.wire import Attribute

_DEFAULTS = {"kind": "number", "other": False, "missing": "drop", "values": None, "lower": None, "upper": None}
_FIELDS = ("name", "description", "budget", "unit", "about", "attributes")
_PERSON = {"kind", "column", "max_rows"}  # the fields of a unit that is a person
_EXAMPLES = "age:0..100, hour:integer:0..23, sex:category:f,m,x or arrived:date:2026-01-01..2026-12-31"

Declaration = Mapping[str, Any]

AttributeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--attribute",
        "-a",
        metavar="NAME:[KIND:]PART",
        # No example of a date: its kind between two colons would be drawn as an emoji.
        help="A column, its kind (number, integer, category, date, datetime) and its public bounds or values, such as "
        "age:0..100, hour:integer:0..23 or sex:category:f,m,x; repeat for more. With ',(missing)' at the end, missing "
        "values have a cell of their own; with ',(other)', so have other categories. Stated by you, never read off the "
        "file.",
        show_default=False,
    ),
]
PersonOption = Annotated[
    str | None,
    typer.Option(
        "--person",
        metavar="COLUMN:ROWS",
        help="Protect persons instead of rows: the column of their ids, and the most rows counted of each.",
        show_default=False,
    ),
]
SchemaOption = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        help="A JSON or TOML file with name, attributes and budget; without it, FILE's name ending in .json or .toml, "
        "if it is there. `rugnik init` writes one to fill in.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Schema:
    """What a dataset is registered with; `source` says where it comes from, for messages.

    `attributes` has the declaration of each attribute by name, without fields that have their default. `unit` is None
    where one row is protected. `about` has texts for the card of its releases, None where there are none.
    """

    attributes: dict[str, Declaration]
    source: str
    name: str | None = None
    budget: str | None = None
    description: str = ""
    unit: Declaration | None = None
    about: Declaration | None = None


def stem(file: Path) -> str:
    """The name of a file without its suffixes: trips.csv.gz -> trips."""
    return file.name.removesuffix(".gz").rpartition(".")[0] or file.name


def declared(fields: Mapping[str, Any]) -> Declaration:
    """A declaration without the fields that have their default, so that equal ones are equal."""
    kept = {name: value for name, value in fields.items() if name not in _DEFAULTS or value != _DEFAULTS[name]}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}


def parse_attributes(options: list[str]) -> dict[str, Declaration]:
    """Declarations by name, from options such as `age:0..100` or `sex:category:f,m`; raises BadParameter."""
    attributes = [_attribute(option) for option in options]
    return {attribute["name"]: attribute for attribute in attributes}


def fields_of(kind: str) -> tuple[str, ...]:
    """The fields that a declaration of this kind must have; bounds where there is no such kind."""
    from rugnik.wire.kinds import BOUNDS, KINDS

    return KINDS[kind].fields if kind in KINDS else BOUNDS


def _attribute(option: str) -> Declaration:
    from rugnik.wire.kinds import KINDS

    matched = re.fullmatch(rf"([^:]+):(?:({'|'.join(KINDS)}):)?(.+)", option)
    if matched is None:
        raise typer.BadParameter(f"'{option}': write it like {_EXAMPLES}", param_hint="-a")
    name, kind, rest = matched[1], matched[2] or "number", matched[3]
    if matched[2] is None and (other := re.match(r"([a-z]+):", rest)):
        raise typer.BadParameter(f"'{option}': '{other[1]}' is not a kind: {', '.join(KINDS)}", param_hint="-a")
    parts = rest.split(",")
    labels = {label for label in ("(missing)", "(other)") if label in parts}
    parts = [part for part in parts if part not in labels]
    fields: dict[str, Any] = {"name": name, "kind": kind, "missing": "keep" if "(missing)" in labels else "drop"}
    if "values" in fields_of(kind):
        return declared(fields | {"values": parts, "other": "(other)" in labels})
    lower, dots, upper = ",".join(parts).partition("..")
    if not dots or "(other)" in labels:
        raise typer.BadParameter(f"'{option}': write it like {_EXAMPLES}", param_hint="-a")
    try:
        ends = [_bound(end, kind) for end in (lower, upper)]
    except ValueError:
        raise typer.BadParameter(f"'{option}': the bounds of kind {kind} are numbers", param_hint="-a") from None
    return declared(fields | {"lower": ends[0], "upper": ends[1]})


def _bound(text: str, kind: str) -> float | int | str:
    if kind == "integer":
        return int(text)
    return float(text) if kind == "number" else text


def part_of(attribute: Attribute) -> str:
    """Bounds or values of a registered attribute, as an option writes them."""
    if attribute.values is not None:
        return ",".join([*attribute.values, *(["(other)"] if attribute.other else [])])
    ends = [f"{end:g}" if isinstance(end, float) else str(end) for end in (attribute.lower, attribute.upper)]
    return "..".join(ends)


def parse_person(option: str | None) -> Declaration | None:
    """The unit of `--person patient:3`; None without it."""
    if option is None:
        return None
    column, colon, rows = option.rpartition(":")
    if not colon or not column or not rows.isdecimal():
        raise typer.BadParameter(f"'{option}': write it like patient:3", param_hint="--person")
    return {"kind": "person", "column": column, "max_rows": int(rows)}


def find_schema(
    file: Path | None, options: list[str] | None, path: Path | None, *, person: str | None = None
) -> Schema | None:
    """The schema from the options, else from `path`, else from a file beside `file`; None if there is none.

    `person` goes before the unit of a file. Ends the command if a schema file cannot be read.
    """
    if options:
        return Schema(parse_attributes(options), "the --attribute options", unit=parse_person(person))
    if path is None and file is not None:
        beside = [file.with_name(stem(file) + suffix) for suffix in (".json", ".toml")]
        path = next((each for each in beside if each.is_file() and each != file), None)
    if path is None:
        return None
    stated, unit = _read(path), parse_person(person)
    return stated if unit is None else replace(stated, unit=unit)


def _read(path: Path) -> Schema:
    from rugnik.near import did_you_mean, nearest

    try:
        text = path.read_text(encoding="utf-8")
        stored = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        unknown = [name for name in stored if name not in _FIELDS]
        attributes = {each["name"]: declared(_dates_as_text(each)) for each in stored["attributes"]}
        unit = dict(stored.get("unit") or {"kind": "record"})
        schema = Schema(
            attributes=attributes,
            source=str(path),
            name=stored.get("name"),
            budget=_text(stored, "budget"),
            description=stored.get("description", ""),
            unit=None if unit == {"kind": "record"} else unit,
            about=_about(path, stored.get("about")),
        )
    except FileNotFoundError:
        fail(f"There is no schema file {path}.", Code.USAGE)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        fail(f"{path} is not {'TOML' if path.suffix == '.toml' else 'JSON'}: {error}.", Code.USAGE)
    except (AttributeError, KeyError, TypeError, ValueError):
        fail(
            f"{path} is not a schema. It should look like "
            '{"name": "survey", "budget": "2.0", "attributes": [{"name": "age", "lower": 0, "upper": 100}]}.',
            Code.USAGE,
        )
    if unknown:
        hint = did_you_mean(nearest(unknown[0], _FIELDS)) or f" It has {', '.join(_FIELDS)}."
        fail(f"{path}: a schema has no field '{unknown[0]}'.{hint}", Code.USAGE)
    _require_filled_in(schema)
    return schema


def _about(path: Path, stated: Any) -> Declaration | None:
    """The texts of `about` that are filled in; ends the command where they are none of those that there are."""
    from rugnik.wire.about import about_body
    from rugnik.wire.base import json_fields

    if stated is None:
        return None
    try:
        texts = json_fields(about_body(dict(stated)))
    except ValueError as error:
        fail(f"{path}: {error}", Code.USAGE)
    return {name: text for name, text in texts.items() if text} or None


def _dates_as_text(attribute: Mapping[str, Any]) -> dict[str, Any]:
    """TOML has dates of its own; the service takes them as text."""
    written = {name: value.isoformat() for name, value in attribute.items() if hasattr(value, "isoformat")}
    return {**attribute, **written}


def _require_filled_in(schema: Schema) -> None:
    """End the command if bounds or values are still to be filled in, or a kind or a unit is none; and say where."""
    from rugnik.wire.kinds import KINDS

    if schema.unit is not None and set(schema.unit) != _PERSON:
        fail(f'{schema.source}: a unit is kind = "record", or it has {", ".join(sorted(_PERSON))} alone.', Code.USAGE)
    for attribute in schema.attributes.values():
        kind = attribute.get("kind", "number")
        if kind not in KINDS:
            name, kinds = attribute["name"], ", ".join(KINDS)
            fail(
                f"{schema.source}: the attribute '{name}' has the kind '{kind}', which is none of: {kinds}.", Code.USAGE
            )
        wanted = fields_of(kind)
        lacking = [field for field in wanted if attribute.get(field) in (None, [])]
        if lacking:
            fail(f"{schema.source}: the attribute '{attribute['name']}' needs {' and '.join(lacking)}.", Code.USAGE)


def _text(stored: dict[str, Any], name: str) -> str | None:
    value = stored.get(name)
    return None if value in (None, "") else str(value)
