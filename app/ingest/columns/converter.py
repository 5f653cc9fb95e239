"""Converter: the values of one attribute -> a column of numbers, as `Attribute.column_type` says.

There are three sources: a text (a CSV field, a JSON string, a value of a text column), a JSON value, an Arrow array.
Each value is converted alone. A value that is missing or cannot be read becomes `unreadable`; nothing raises.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.ingest.columns.arrow import at, distinct_of, is_text, positions_of, storage_of, storage_type, texts_of
from core.domain.attribute import MISSING, Attribute

Column = NDArray[Any]


class Converter(ABC):
    """Converts values of the attribute it is made for."""

    # How pyarrow reads its column in CSV. What it reads as binary goes through `from_text`.
    csv_type: ClassVar[pa.DataType] = pa.binary()

    def __init__(self, attribute: Attribute) -> None:
        self.dtype = np.dtype(attribute.column_type)
        self.unreadable: Any = np.nan if self.dtype.kind == "f" else MISSING

    @abstractmethod
    def from_text(self, text: bytes) -> Any:
        """The value of a text. Spaces and tabs around it are ignored."""

    def from_json(self, value: object) -> Any:
        """The value of a JSON value: of a string that of its text, else none, unless the kind says otherwise."""
        return self.from_text(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else self.unreadable

    @abstractmethod
    def reads(self, kind: pa.DataType) -> bool:
        """Whether `from_values` reads arrays of this type, which is neither text, null nor dictionary."""

    @abstractmethod
    def from_values(self, column: pa.Array) -> Column:
        """The values of an array of a type that it `reads`."""

    def suits(self, kind: pa.DataType) -> bool:
        """Whether arrays of this type can hold values of the kind.

        The null type does: writers choose it when no row has a value, and a refusal must not depend on the rows.
        """
        kind = storage_type(kind)
        if pa.types.is_dictionary(kind):
            kind = storage_type(kind.value_type)
        return pa.types.is_null(kind) or is_text(kind) or self.reads(kind)

    def from_arrow(self, column: pa.Array) -> Column:
        """The values of an array whose type suits."""
        column = storage_of(column)
        if pa.types.is_dictionary(column.type):
            return self._from_dictionary(column)
        if pa.types.is_null(column.type):
            return np.full(len(column), self.unreadable, dtype=self.dtype)
        if is_text(column.type):
            parts = [self.from_binary(part) for part in texts_of(column)]
            return np.concatenate([np.empty(0, dtype=self.dtype), *parts])
        return self.from_values(column)

    def from_binary(self, column: pa.Array) -> Column:
        """The values of an array of binary texts: each distinct text by `from_text`."""
        encoded = column.dictionary_encode()
        return self.from_entries(encoded.dictionary.to_pylist(), encoded.indices)

    def from_entries(self, texts: list[bytes], indices: pa.Array) -> Column:
        """The value of the text that each index refers to; a null refers to none."""
        values = np.array([*map(self.from_text, texts), self.unreadable], dtype=self.dtype)
        places: NDArray[np.int32] = indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
        return values[places]

    def from_texts(self, texts: Iterable[bytes]) -> Column:
        """The values of texts, one by one."""
        return np.fromiter(map(self.from_text, texts), dtype=self.dtype)

    def from_jsons(self, values: Iterable[object]) -> Column:
        """The values of JSON values, one by one."""
        return np.fromiter(map(self.from_json, values), dtype=self.dtype)

    def _from_dictionary(self, column: pa.DictionaryArray) -> Column:
        """The value of each entry that a row refers to. An index outside of the dictionary refers to none."""
        used, places = distinct_of(positions_of(column))
        values = np.full(len(used), self.unreadable, dtype=self.dtype)
        inside = used >= 0
        if inside.any():
            values[inside] = self.from_arrow(at(column.dictionary, used[inside]))
        return values[places]

    def with_missing(self, column: pa.Array, values: Column) -> Column:
        """Values of a column, with its nulls as unreadable."""
        if column.null_count:
            values = np.where(
                column.is_valid().to_numpy(zero_copy_only=False), values, self.dtype.type(self.unreadable)
            )
        return values
