"""Public bounds on the command line: from options, or from a JSON file with the body of `POST /v1/datasets`.

Bounds are never read from the rows: a minimum or maximum of the data is a value of one of its rows.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli.exits import Code, fail

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_ATTRIBUTE = re.compile(rf"([^:]+):({_NUMBER})\.\.({_NUMBER})", re.ASCII)

AttributeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--attribute",
        "-a",
        metavar="NAME:LOWER..UPPER",
        help="A column and its public bounds; repeat for more. Stated by you, never read off the file.",
        show_default=False,
    ),
]
SchemaOption = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        help="A JSON file with name, attributes and budget; without it, FILE's name ending in .json, if it is there.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Schema:
    """What a dataset is registered with; `source` says where it comes from, for messages."""

    attributes: dict[str, tuple[float, float]]
    source: str
    name: str | None = None
    budget: str | None = None
    description: str = ""


def stem(file: Path) -> str:
    """The name of a file without its suffixes: trips.csv.gz -> trips."""
    return file.name.removesuffix(".gz").rpartition(".")[0] or file.name


def parse_attributes(options: list[str]) -> dict[str, tuple[float, float]]:
    """Attribute name -> (lower, upper), from options such as `age:0..100`; raises BadParameter."""
    bounds: dict[str, tuple[float, float]] = {}
    for option in options:
        match = _ATTRIBUTE.fullmatch(option)
        if match is None:
            raise typer.BadParameter(f"'{option}': write it as name:lower..upper, such as age:0..100", param_hint="-a")
        bounds[match[1]] = (float(match[2]), float(match[3]))
    return bounds


def find_schema(file: Path | None, options: list[str] | None, path: Path | None) -> Schema | None:
    """The schema from the options, else from `path`, else from a JSON file beside `file`; None if there is none.

    Ends the command if a schema file cannot be read.
    """
    if options:
        return Schema(parse_attributes(options), "the --attribute options")
    if path is None and file is not None:
        beside = file.with_name(stem(file) + ".json")
        path = beside if beside.is_file() and beside != file else None
    return None if path is None else _read(path)


def _read(path: Path) -> Schema:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        attributes = {a["name"]: (float(a["lower"]), float(a["upper"])) for a in stored["attributes"]}
        return Schema(attributes, str(path), stored.get("name"), _text(stored, "budget"), stored.get("description", ""))
    except FileNotFoundError:
        fail(f"There is no schema file {path}.", Code.USAGE)
    except (AttributeError, KeyError, TypeError, ValueError):
        fail(
            f"{path} is not a schema. It should look like "
            '{"name": "survey", "budget": "2.0", "attributes": [{"name": "age", "lower": 0, "upper": 100}]}.',
            Code.USAGE,
        )


def _text(stored: dict[str, Any], name: str) -> str | None:
    value = stored.get(name)
    return None if value is None else str(value)
