"""Wanted: the columns that an upload must have. Batch: rows of an upload, a column of numbers for each attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from app.ingest.causes import BadLine, CauseFinder, Causes
from app.ingest.columns import ids
from app.ingest.columns.kinds import converter_of
from app.ingest.errors import AmbiguousColumns, MissingColumns, WrongColumnType
from core.domain.attribute import Attribute

ROWS_AT_ONCE = 2**16


@dataclass(frozen=True, slots=True)
class Wanted:
    """The attributes of an upload, and the column of persons' ids, None where a unit is one record.

    explained  whether batches tell their causes, for a check by the curator
    """

    attributes: tuple[Attribute, ...]
    id_column: str | None = None
    explained: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read: those of the attributes, then that of the ids, if there is one."""
        names = tuple(attribute.name for attribute in self.attributes)
        return names if self.id_column is None else (*names, self.id_column)


@dataclass(frozen=True, slots=True, repr=False)
class Batch:
    """Rows of one upload.

    columns   a column for each attribute, in its `column_type`; NaN or MISSING where a value is missing or unreadable
    bad_rows  number of further rows that could not be parsed at all; they count as read and as dropped
    ids       of the persons, binary, null where a row has no usable id; None if they are not wanted
    causes    why rows are bad and values missing; None if that is not wanted
    """

    columns: tuple[NDArray[Any], ...]
    bad_rows: int = 0
    ids: pa.Array | None = None
    causes: Causes | None = None

    def __len__(self) -> int:
        return len(self.columns[0])

    def with_bad_rows(self, number: int, cause: BadLine) -> Batch:
        """The same batch and so many bad rows more."""
        if not number:
            return self
        causes = None if self.causes is None else self.causes.with_bad_lines(cause, number)
        return replace(self, bad_rows=self.bad_rows + number, causes=causes)


def positions(names: tuple[str, ...], columns: Sequence[str]) -> tuple[int, ...]:
    """The index of each wanted name among the columns.

    Raises MissingColumns or AmbiguousColumns. Columns that are not wanted are ignored, also where several of them
    have the same name.
    """
    missing = tuple(name for name in names if name not in columns)
    if missing:
        raise MissingColumns(missing)
    ambiguous = tuple(name for name in names if columns.count(name) > 1)
    if ambiguous:
        raise AmbiguousColumns(ambiguous)
    return tuple(columns.index(name) for name in names)


class Columns:
    """Turns columns of a file into batches. In each method the columns come in the order of `Wanted.names`."""

    def __init__(self, wanted: Wanted) -> None:
        self.names = wanted.names
        self.converters = tuple(map(converter_of, wanted.attributes))
        self.has_ids = wanted.id_column is not None
        self._finder = CauseFinder(wanted.attributes) if wanted.explained else None

    def require_types(self, types: Sequence[pa.DataType]) -> None:
        """Raise WrongColumnType unless every column has a type that can hold values of its kind."""
        tests = [*(converter.suits for converter in self.converters), *([ids.suits] if self.has_ids else [])]
        wrong = tuple(name for name, suits, kind in zip(self.names, tests, types, strict=True) if not suits(kind))
        if wrong:
            raise WrongColumnType(wrong)

    def from_arrow(self, columns: Sequence[pa.Array]) -> Batch:
        """A batch from Arrow arrays."""
        pairs = zip(self.converters, columns, strict=False)
        values = tuple(converter.from_arrow(column) for converter, column in pairs)
        return self._batch(columns, values, ids.from_arrow(columns[-1]) if self.has_ids else None)

    def from_csv(self, columns: Sequence[pa.Array]) -> Batch:
        """A batch from fields of CSV that pyarrow has split: binary, or already doubles."""
        pairs = zip(self.converters, columns, strict=False)
        values = tuple(
            (each.from_binary if pa.types.is_binary(column.type) else each.from_values)(column)
            for each, column in pairs
        )
        return self._batch(columns, values, ids.from_binary(columns[-1]) if self.has_ids else None)

    def from_texts(self, columns: Sequence[Sequence[bytes]]) -> Batch:
        """A batch from fields of CSV."""
        pairs = zip(self.converters, columns, strict=False)
        values = tuple(converter.from_texts(column) for converter, column in pairs)
        return self._batch(columns, values, ids.from_texts(columns[-1]) if self.has_ids else None)

    def from_jsons(self, columns: Sequence[Sequence[object]]) -> Batch:
        """A batch from JSON values, None where a row has none."""
        pairs = zip(self.converters, columns, strict=False)
        values = tuple(converter.from_jsons(column) for converter, column in pairs)
        return self._batch(columns, values, ids.from_jsons(columns[-1]) if self.has_ids else None)

    def _batch(self, raw: Sequence[Any], values: tuple[NDArray[Any], ...], persons: pa.Array | None) -> Batch:
        causes = None if self._finder is None else self._finder.causes(raw, values, persons)
        return Batch(values, ids=persons, causes=causes)
