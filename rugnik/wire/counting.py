"""Counting elsewhere: what a release waits for, where the curator's own process counts its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from rugnik.wire.base import Body, Reply
from rugnik.wire.limits import Doc, Limits, one_of

Step = Annotated[
    str,
    one_of("size", "base", "coarse", "leaves", "cells"),
    Doc("What is counted: all records (size), records per cell (cells), or those of one layer of an adaptive release."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeBody(Body):
    """The exact number of records, from which a noisy one is drawn, once."""

    rows: Annotated[
        int,
        Limits(ge=0, le=10**12, strict=True),
        Doc("How many records are counted: rows without those dropped and those beyond the limit of a person."),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited(Reply):
    """What a release waits for. The cells to count follow from these numbers (`core.counting.next_target`)."""

    release: str
    dataset: str
    step: Step
    order: Mapping[str, Any]
    attributes: Annotated[tuple[Any, ...], Doc("Those of the order, as the ledger has them.")]
    max_cells: Annotated[int, Doc("The most cells of a grid or layer, as it was when the order was charged.")]
    size: Annotated[int | None, Doc("The bought size, once it is drawn; null for a declared one.")]
    base: Annotated[tuple[int, ...] | None, Doc("The noisy counts of the base, once they are drawn.")] = None
    coarse: Annotated[tuple[int, ...] | None, Doc("The noisy counts of coarse cells, once they are drawn.")] = None
