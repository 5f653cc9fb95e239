"""Values of the kinds `number` and `integer`: doubles, NaN where there is none. Core judges which of them are whole."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.ingest.columns.arrow import is_decimal
from app.ingest.columns.converter import Column, Converter

# Exactly the texts that pyarrow accepts as a finite double. Texts that only Python's float() accepts (1_000, digits of
# other scripts, vertical tabs) do not match. Possessive quantifiers: a hostile field must not cause backtracking.
_NUMBER = re.compile(rb"[ \t]*+[+-]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+[ \t]*+")
# The same for RE2, which never backtracks, once spaces and tabs are removed.
_TRIMMED_NUMBER = r"\A[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\z"
_NUMBERS = {float, int, type(None)}  # a truth value is none: its type is bool


class NumberConverter(Converter):
    """Decimal numbers."""

    csv_type = pa.float64()

    def from_text(self, text: bytes) -> float:
        """A decimal number, to the nearest double."""
        return float(text) if _NUMBER.fullmatch(text) else np.nan

    def from_json(self, value: object) -> Any:
        """A number, or the text of one. A truth value is none."""
        if type(value) is float:
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return super().from_json(value)
        return float(value)

    def from_jsons(self, values: Iterable[object]) -> Column:
        """As by `from_json`, all at once where every value is a number or null. Whole numbers round correctly too."""
        values = list(values)
        if set(map(type, values)) <= _NUMBERS:
            return np.array(values, dtype=np.float64)  # None becomes NaN
        return super().from_jsons(values)

    def reads(self, kind: pa.DataType) -> bool:
        """Numeric types, and truth values, none of which is a number."""
        types = pa.types
        is_number = types.is_integer(kind) or types.is_floating(kind) or is_decimal(kind)
        return bool(is_number or types.is_boolean(kind))

    def from_values(self, column: pa.Array) -> Column:
        """Doubles. The cast is unsafe: a safe one refuses the whole column for a single integer beyond 2^53."""
        if pa.types.is_boolean(column.type):
            return np.full(len(column), np.nan)
        if column.type != pa.float64():
            column = pc.cast(column, pa.float64(), safe=False)
        values: Column = column.to_numpy(zero_copy_only=False)  # a view where no value is null
        return values

    def from_binary(self, column: pa.Array) -> Column:
        """As by `from_text`, all at once: pyarrow rounds correctly too."""
        with suppress(pa.ArrowException):
            strings = pa.large_string() if pa.types.is_large_binary(column.type) else pa.string()
            texts = pc.ascii_trim(column.view(strings), characters=" \t").view(column.type)
            is_number = pc.match_substring_regex(texts, _TRIMMED_NUMBER)
            texts = pc.if_else(is_number, texts, pa.scalar(None, texts.type))
            return self.from_values(pc.cast(texts, pa.float64()))
        return super().from_binary(column)
