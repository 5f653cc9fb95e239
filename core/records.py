"""Records: one batch of rows as fixed-point numbers, alive for one release; no serialiser, no value in its repr."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from core.domain.domain import Domain
from core.errors import InvalidRecords

_SCALE = 2.0**32
_LARGEST = _SCALE - 1.0


class OutOfRange(StrEnum):
    """What becomes of a row with a value outside the public bounds: the curator's choice, in the order."""

    CLIP = "clip"
    DROP = "drop"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Records:
    """Rows inside the domain: `fixed[i, x]` is attribute x of row i in units of 2^-32 of its range.

    For t in [0, 1] the fixed-point number is q = min(ceil(t 2^32), 2^32 - 1), so that (q m) >> 32 is the row's cell
    on an axis of m cells (`core.domain.axis.Axis.cell_of`). ceil and not floor: an edge j/m that is no multiple of
    2^-32 would round down to a number below the edge, into the cell before the one it opens. A value less than 2^-32 of
    the range below an edge is counted in the next cell; that is a rounding of single rows, and no other row's cell
    depends on it.
    """

    fixed: NDArray[np.uint32]

    def __repr__(self) -> str:
        return "Records(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Records are private: they are counted where they are read, never sent or stored.")

    def __len__(self) -> int:
        return len(self.fixed)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Intake:
    """What became of a batch: its Records and how many rows were read, dropped and clipped. Private, all of it."""

    records: Records
    rows_read: int
    rows_dropped: int
    rows_clipped: int


def take_in(values: NDArray[np.float64], domain: Domain, out_of_range: OutOfRange) -> Intake:
    """Rows of a batch, one per line of `values`, each judged alone.

    A row with a value that is not finite is dropped; a row out of bounds is clipped to them or dropped. Nothing here
    looks at two rows together, so one row more or less changes one record at most.
    """
    if values.ndim != 2 or values.shape[1] != domain.dimensions:
        raise InvalidRecords(f"A batch has one column for each of the {domain.dimensions} attributes.")
    kept = values[np.isfinite(values).all(axis=1)]
    lower, upper, width = domain.lower, domain.upper, domain.width
    inside = ((kept >= lower) & (kept <= upper)).all(axis=1)
    outside = int(len(kept) - inside.sum())
    if OutOfRange(out_of_range) is OutOfRange.CLIP:
        kept = np.clip(kept, lower, upper)
        clipped = outside
    else:
        kept = kept[inside]
        clipped = 0
    fixed = np.minimum(np.ceil((kept - lower) / width * _SCALE), _LARGEST).astype(np.uint32)
    fixed.flags.writeable = False
    return Intake(
        records=Records(fixed), rows_read=len(values), rows_dropped=len(values) - len(kept), rows_clipped=clipped
    )
