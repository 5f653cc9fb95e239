"""Axes: the cells of one attribute. Values come first; the cell of missing values, where they are kept, comes last.

Three coordinates are in use along an ordered axis of m value cells. Unit coordinates run from -1 at the lower edge of
the first cell to 1 at the upper edge of the last. Cell units run from 0 to m: cell j reaches from j to j + 1. Codes are
what rows are held as (`core.domain.attribute`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.errors import InvalidOrder

# 2^16 keeps 32-bit fixed point honest: an edge j/m sits at least 2^-16 from the next multiple of 2^-32 that it is not
# on, far beyond the rounding of a double (about 2^-21 on that scale), so a value on an edge is never misplaced.
MAX_CELLS_PER_AXIS = 2**16
_ON_AN_EDGE = 1e-9  # in cell units: an end that misses an edge by less does so by rounding
_LONGEST_TABLE = 2**16
OFFSET_STEPS = 256  # S: offsets from the middle of a cell are whole numbers from -S, its lower edge, to S
_OFFSET_BITS = 8  # S = 2^8


class Axis(ABC):
    """`value_cells` cells for values and, if `keeps_missing`, one more for missing values."""

    __slots__ = ()

    is_ordered: ClassVar[bool] = True

    value_cells: int
    keeps_missing: bool

    @property
    def cells(self) -> int:
        """All cells, that of missing values included."""
        return self.value_cells + self.keeps_missing

    @abstractmethod
    def cell_of(self, codes: NDArray[Any], out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """The cell of each code, in `out` if that is given: integer arithmetic, the same on every platform."""

    @abstractmethod
    def offset_of(self, codes: NDArray[Any]) -> NDArray[np.int16]:
        """How far each code lies from the middle of its cell, in S-ths of half the cell: from -S to S.

        Integer arithmetic, the same on every platform. It is off by at most one step, and 0 for a missing value.
        """

    @abstractmethod
    def edges(self) -> Floats:
        """The m + 1 edges of an ordered axis in unit coordinates, from -1 to 1."""

    def centres(self) -> Floats:
        """The m centres of value cells in unit coordinates."""
        edges = self.edges()
        return (edges[1:] + edges[:-1]) / 2.0

    @abstractmethod
    def in_cell_units(self, shares: Floats) -> Floats:
        """Shares of the way from the first to the last edge -> cell units, no less than 0 and no more than m.

        What misses an edge by a rounding error only is put on it.
        """

    def _require_cells(self) -> None:
        if not 1 <= self.value_cells <= MAX_CELLS_PER_AXIS:
            raise InvalidOrder(f"A grid has 1 to {MAX_CELLS_PER_AXIS:,} cells per axis.")

    def _with_missing(self, cells: NDArray[np.int64], codes: NDArray[Any]) -> NDArray[np.int64]:
        if self.keeps_missing:
            cells[codes == np.iinfo(codes.dtype).max] = self.value_cells
        return cells

    def _without_missing(self, offsets: NDArray[np.int16], codes: NDArray[Any]) -> NDArray[np.int16]:
        if self.keeps_missing:
            offsets[codes == np.iinfo(codes.dtype).max] = 0
        return offsets


@dataclass(frozen=True, slots=True)
class UniformAxis(Axis):
    """m equal intervals, half-open, the last one closed. Codes are 32-bit fixed point: q stands for q / 2^32."""

    value_cells: int
    keeps_missing: bool = False

    def __post_init__(self) -> None:
        self._require_cells()

    def cell_of(self, codes: NDArray[Any], out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """(q m) >> 32."""
        cells = _as_wholes(codes, out)
        cells *= self.value_cells
        cells >>= 32
        return self._with_missing(cells, codes)

    def offset_of(self, codes: NDArray[Any]) -> NDArray[np.int16]:
        """The middle of the 2^-8 of the cell that the code lies in: its number is (q m mod 2^32) >> 24."""
        inside = ((codes.astype(np.int64) * self.value_cells) & 0xFFFFFFFF) >> (32 - _OFFSET_BITS)
        return self._without_missing((2 * inside + 1 - OFFSET_STEPS).astype(np.int16), codes)

    def edges(self) -> Floats:
        """-1, -1 + 2/m, … 1."""
        return 2.0 * np.arange(self.value_cells + 1) / self.value_cells - 1.0

    def centres(self) -> Floats:
        """The m cell centres in unit coordinates."""
        return (2.0 * np.arange(self.value_cells) + 1.0) / self.value_cells - 1.0

    def in_cell_units(self, shares: Floats) -> Floats:
        """m times the share."""
        places = np.clip(shares * self.value_cells, 0.0, self.value_cells)
        nearest = np.round(places)
        return np.where(np.abs(places - nearest) < _ON_AN_EDGE, nearest, places)


@dataclass(frozen=True, slots=True)
class RunAxis(Axis):
    """Runs of consecutive whole values. Cell j holds the values numbered starts[j] to starts[j + 1] - 1.

    Codes are the numbers of values, counted from 0. `starts` has m + 1 whole numbers, from 0 to the number of values.
    """

    starts: tuple[int, ...]
    keeps_missing: bool = False

    def __post_init__(self) -> None:
        self._require_cells()

    @classmethod
    def even(cls, values: int, cells: int, *, keeps_missing: bool) -> RunAxis:
        """m runs of V values that differ by one value at most: cell j begins at ceil(j V / m)."""
        if not 1 <= cells <= values:
            raise InvalidOrder(f"An axis of {values:,} whole values has 1 to {values:,} cells.")
        return cls(tuple(-(-j * values // cells) for j in range(cells + 1)), keeps_missing)

    @property
    def value_cells(self) -> int:  # type: ignore[override]  # a field of the other axes
        """m."""
        return len(self.starts) - 1

    @property
    def values(self) -> int:
        """V, how many whole values it has."""
        return self.starts[-1]

    def cell_of(self, codes: NDArray[Any], out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """By a table of all values where they are few, else by a search among the starts; both are exact."""
        if self.values <= _LONGEST_TABLE:
            # A code beyond the last one is moved to the end of the table, which stands for missing values.
            cells: NDArray[np.int64] = _table(self.starts).take(codes, mode="clip", out=out)
            return cells
        inner = np.array(self.starts[1:-1], dtype=codes.dtype)  # of the same type: mixed ones would meet as floats
        return self._with_missing(_as_wholes(np.searchsorted(inner, codes, side="right"), out), codes)

    def offset_of(self, codes: NDArray[Any]) -> NDArray[np.int16]:
        """floor((2 i + 1) S / L) - S for value i of a run of L values; 0 where the value is the only one.

        Runs of more than 2^40 values are first divided by a power of two, so that products fit into 64 bits.
        """
        starts = np.array(self.starts, dtype=np.int64)
        places = np.minimum(self.cell_of(codes), self.value_cells - 1)  # missing values are set to 0 at the end
        inside, lengths = codes.astype(np.int64) - starts[places], np.diff(starts)
        shift = max(0, int(lengths.max()).bit_length() - 40)
        inside, lengths = inside >> shift, np.maximum(lengths >> shift, 1)
        offsets = (2 * inside + 1) * OFFSET_STEPS // lengths[places] - OFFSET_STEPS
        return self._without_missing(np.clip(offsets, -OFFSET_STEPS, OFFSET_STEPS).astype(np.int16), codes)

    def edges(self) -> Floats:
        """2 start / V - 1."""
        return 2.0 * np.array(self.starts, dtype=np.float64) / self.values - 1.0

    def in_cell_units(self, shares: Floats) -> Floats:
        """Linear between edges: within a run, by how many of its values lie below. Ends lie between two values."""
        below = np.round(np.clip(shares * self.values, 0.0, self.values))
        return np.interp(below, np.array(self.starts, dtype=np.float64), np.arange(len(self.starts)))


@dataclass(frozen=True, slots=True)
class CategoryAxis(Axis):
    """A cell for each category. Codes are their numbers; there are no edges and no distances."""

    is_ordered = False

    value_cells: int
    keeps_missing: bool = False

    def __post_init__(self) -> None:
        self._require_cells()

    def cell_of(self, codes: NDArray[Any], out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """The code itself."""
        return self._with_missing(_as_wholes(codes, out), codes)

    def offset_of(self, codes: NDArray[Any]) -> NDArray[np.int16]:
        """Categories have no middle."""
        del codes
        raise TypeError("An axis of categories has no offsets.")

    def edges(self) -> Floats:
        """Categories have none."""
        raise TypeError("An axis of categories has no edges.")

    def in_cell_units(self, shares: Floats) -> Floats:
        """Categories have no ranges."""
        del shares
        raise TypeError("An axis of categories has no ranges.")


def _as_wholes(numbers: NDArray[Any], out: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """A copy as 64-bit integers, in `out` if that is given."""
    if out is None:
        return numbers.astype(np.int64)
    np.copyto(out, numbers, casting="unsafe")
    return out


@lru_cache(maxsize=64)
def _table(starts: tuple[int, ...]) -> NDArray[np.int64]:
    """The cell of each value, and of the code after the last one, which stands for missing values."""
    cells = len(starts) - 1
    return np.append(np.repeat(np.arange(cells), np.diff(starts)), cells)
