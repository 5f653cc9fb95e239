"""Records: one batch of rows as codes, a column per attribute. They live for one release and are never written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from core.domain.attribute import Codes
from core.domain.domain import Domain
from core.errors import InvalidRecords


class OutOfRange(StrEnum):
    """What becomes of a row with a value outside the public bounds: the curator's choice, in the order."""

    CLIP = "clip"
    DROP = "drop"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Records:
    """Rows inside the domain: `columns[x]` has a code for each row (`core.domain.attribute`), read-only."""

    columns: tuple[Codes, ...]

    def __repr__(self) -> str:
        return "Records(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Records are private: they are counted where they are read, never sent or stored.")

    def __len__(self) -> int:
        return len(self.columns[0])


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Intake:
    """What became of a batch: its Records and how many rows were read, dropped and clipped. Private, all of it.

    `kept` marks the rows of the batch that became records; None where all did.
    """

    records: Records
    rows_read: int
    rows_dropped: int
    rows_clipped: int
    kept: NDArray[np.bool_] | None


def take_in(columns: Sequence[NDArray[Any]], domain: Domain, out_of_range: OutOfRange) -> Intake:
    """The rows of a batch, a column for each attribute as its `column_type` says. Each row is judged alone.

    A row with a value that its attribute drops is dropped; a row out of bounds is clipped to them or dropped. Nothing
    here looks at two rows together, so one row more or less changes one record at most.
    """
    if len(columns) != domain.dimensions or any(c.ndim != 1 or len(c) != len(columns[0]) for c in columns):
        raise InvalidRecords(f"A batch has one column for each of the {domain.dimensions} attributes.")
    clip = OutOfRange(out_of_range) is OutOfRange.CLIP
    pairs = zip(domain.attributes, columns, strict=True)
    encoded = [attribute.encode(column, clip=clip) for attribute, column in pairs]
    dropped, outside = (_any([getattr(each, mask) for each in encoded]) for mask in ("dropped", "outside"))
    kept = None if dropped is None else ~dropped
    codes = [each.codes if kept is None else each.codes[kept] for each in encoded]
    for column in codes:
        column.flags.writeable = False
    clipped = 0 if outside is None else int(np.count_nonzero(outside if kept is None else outside & kept))
    return Intake(
        records=Records(tuple(codes)),
        rows_read=len(columns[0]),
        rows_dropped=0 if dropped is None else int(np.count_nonzero(dropped)),
        rows_clipped=clipped,
        kept=kept,
    )


def _any(masks: list[NDArray[np.bool_] | None]) -> NDArray[np.bool_] | None:
    """The rows that any of the masks marks; None for none."""
    given = [mask for mask in masks if mask is not None]
    return np.logical_or.reduce(given) if given else None
