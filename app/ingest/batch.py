"""Batch: some rows of an upload as numbers, the one form that every reader ends in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.ingest.errors import AmbiguousColumns, MissingColumns, WrongColumnType

ROWS_AT_ONCE = 2**16


@dataclass(frozen=True, slots=True, repr=False)
class Batch:
    """`values[i, x]` is attribute x of row i, NaN where it could not be read; `bad_rows` never became numbers at all.

    A row with a NaN and a bad row end alike: read, and dropped.
    """

    values: NDArray[np.float64]
    bad_rows: int = 0


def positions(names: tuple[str, ...], columns: Sequence[str]) -> tuple[int, ...]:
    """Where each attribute is among the columns; other columns may be there, even several of one name."""
    missing = tuple(name for name in names if name not in columns)
    if missing:
        raise MissingColumns(missing)
    ambiguous = tuple(name for name in names if columns.count(name) > 1)
    if ambiguous:
        raise AmbiguousColumns(ambiguous)
    return tuple(columns.index(name) for name in names)


def require_numbers(names: tuple[str, ...], types: Sequence[pa.DataType]) -> None:
    """Refuse columns of any type but the numeric ones.

    A column of nulls passes: writers choose that type when no row has a value, and rows must not decide.
    """
    wrong = tuple(name for name, kind in zip(names, types, strict=True) if not _is_number(kind))
    if wrong:
        raise WrongColumnType(wrong)


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind))


def from_columns(columns: Sequence[pa.Array]) -> NDArray[np.float64]:
    """Numeric columns of equal length -> one row per line, nulls as NaN.

    `safe=False`, since a safe cast refuses the whole column for one integer beyond 2^53. Columns lie one after the
    other in memory: they come that way, and core reads them faster so.
    """
    values = np.empty((len(columns[0]), len(columns)), dtype=np.float64, order="F")
    for x, column in enumerate(columns):
        values[:, x] = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values
