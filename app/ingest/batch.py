"""Batch: rows of an upload as an array of numbers. Every reader yields batches."""

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
    """Rows of one upload.

    values    shape (rows, attributes); values[i, x] is attribute x of row i, NaN where it could not be read
    bad_rows  number of further rows that could not be parsed at all

    A row with a NaN and a bad row have the same fate: both count as read and as dropped.
    """

    values: NDArray[np.float64]
    bad_rows: int = 0


def positions(names: tuple[str, ...], columns: Sequence[str]) -> tuple[int, ...]:
    """The index of each attribute among the columns.

    Raises MissingColumns or AmbiguousColumns. Columns that are no attribute are ignored, also where several of them
    have the same name.
    """
    missing = tuple(name for name in names if name not in columns)
    if missing:
        raise MissingColumns(missing)
    ambiguous = tuple(name for name in names if columns.count(name) > 1)
    if ambiguous:
        raise AmbiguousColumns(ambiguous)
    return tuple(columns.index(name) for name in names)


def require_numbers(names: tuple[str, ...], types: Sequence[pa.DataType]) -> None:
    """Raise WrongColumnType unless every column has a numeric type.

    The null type is accepted: writers choose it when no row has a value, and a refusal must not depend on the rows.
    """
    wrong = tuple(name for name, kind in zip(names, types, strict=True) if not _is_number(kind))
    if wrong:
        raise WrongColumnType(wrong)


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind))


def from_columns(columns: Sequence[pa.Array]) -> NDArray[np.float64]:
    """Numeric columns of equal length -> an array of shape (rows, columns), nulls as NaN.

    The cast is unsafe (`safe=False`) because a safe one refuses the whole column for a single integer beyond 2^53. The
    array is in column-major order: the columns arrive that way, and core reads them faster that way.
    """
    values = np.empty((len(columns[0]), len(columns)), dtype=np.float64, order="F")
    for x, column in enumerate(columns):
        values[:, x] = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values
