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
from core.workspace import Workspace, blocks


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


def take_in(
    columns: Sequence[NDArray[Any]], domain: Domain, out_of_range: OutOfRange, workspace: Workspace | None = None
) -> Intake:
    """The rows of a batch, a column for each attribute as its `column_type` says. Each row is judged alone.

    A row with a value that its attribute drops is dropped; a row out of bounds is clipped to them or dropped. Nothing
    here looks at two rows together, so one row more or less changes one record at most.

    With a workspace, the records lie in its memory: they are valid until the next call with the same workspace.
    """
    if len(columns) != domain.dimensions or any(c.ndim != 1 or len(c) != len(columns[0]) for c in columns):
        raise InvalidRecords(f"A batch has one column for each of the {domain.dimensions} attributes.")
    clip, rows = OutOfRange(out_of_range) is OutOfRange.CLIP, len(columns[0])
    space = Workspace() if workspace is None else workspace
    codes = [space.array(x, rows, attribute.code_type) for x, attribute in enumerate(domain.attributes)]
    dropped, outside = _Marked(rows), _Marked(rows)
    for block in blocks(rows):
        for attribute, column, target in zip(domain.attributes, columns, codes, strict=True):
            place = target[block]
            encoded = attribute.encode(column[block], clip=clip, workspace=space, out=place)
            if encoded.codes is not place:
                place[:] = encoded.codes
            dropped.mark(block, encoded.dropped)
            outside.mark(block, encoded.outside)
    kept = None if dropped.rows is None else ~dropped.rows
    if kept is not None:
        codes = [column[kept] for column in codes]
    for column in codes:
        column.flags.writeable = False
    return Intake(
        records=Records(tuple(codes)),
        rows_read=rows,
        rows_dropped=rows - len(codes[0]),
        rows_clipped=outside.number_in(kept),
        kept=kept,
    )


class _Marked:
    """The rows of a batch that any attribute marks. Takes no memory, and no time, while none is."""

    def __init__(self, rows: int) -> None:
        self._length = rows
        self.rows: NDArray[np.bool_] | None = None

    def mark(self, block: slice, mask: NDArray[np.bool_] | None) -> None:
        """Mark rows of a block; None marks none."""
        if mask is None:
            return
        if self.rows is None:
            self.rows = np.zeros(self._length, dtype=np.bool_)
        self.rows[block] |= mask

    def number_in(self, kept: NDArray[np.bool_] | None) -> int:
        """How many of the kept rows are marked; None keeps all."""
        if self.rows is None:
            return 0
        return int(np.count_nonzero(self.rows if kept is None else self.rows & kept))
