"""The dataset that `rugnik release` publishes to: registered before, or to be registered with stated bounds."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.checking import bounds_of, require_unit
from app.cli.exits import Code, fail
from app.cli.naming import near_name
from app.cli.output import note
from app.cli.schema import Schema, parse_person, part_of

if TYPE_CHECKING:
    from rugnik import Client
    from rugnik.wire import Dataset


def registered_schema(
    client: Client, name: str, stated: Schema | None, person: str | None
) -> tuple[Dataset, Schema] | None:
    """A registered dataset and its schema, None if it is not registered.

    Ends the command if other bounds were stated, or another unit: by a schema, or by `person` alone (--person).
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
    if person is not None:
        require_unit(dataset, parse_person(person), "--person")
    elif stated is not None:
        require_unit(dataset, stated.unit, stated.source)
    return dataset, bounds


def remark_budget(dataset: Dataset, budget: str | None) -> None:
    """Say that a dataset keeps its budget, if another one was typed."""
    granted = dataset.budget.granted
    with suppress(InvalidOperation):
        if budget is None or Decimal(budget) == Decimal(granted):
            return
    note(f"{dataset.name} is registered already, with a budget of {granted}: --budget {budget} changes nothing.")


def new_schema(client: Client, name: str, stated: Schema | None, budget: str | None) -> Schema:
    """The schema and budget to register a new dataset with; ends the command if something is missing.

    A name that is one letter off that of a dataset is taken for a slip. Nothing is registered for it, because a name is
    taken for ever, with a budget of its own for the same people.
    """
    from rugnik.near import did_you_mean

    near = near_name(client, name)
    if near is not None:
        fail(
            f"There is no dataset '{name}'.{did_you_mean(near)} Nothing was registered. If it is a dataset of its own, "
            f"register it first: rugnik datasets new {name} …",
            Code.USAGE,
        )
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


def register(client: Client, name: str, schema: Schema) -> None:
    """Register a dataset, and say so."""
    dataset = client.register_dataset(
        name,
        schema.attributes.values(),
        budget=schema.budget or "",
        description=schema.description,
        unit=schema.unit,
        about=schema.about,
    )
    note(f"Registered {name} with a budget of {dataset.budget.granted}; bounds from {schema.source}.")
