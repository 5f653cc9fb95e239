"""Values of the kind `category`: the place of a text on the public list, OTHER, or MISSING."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from app.ingest.columns.arrow import is_decimal
from app.ingest.columns.converter import Column, Converter
from core.domain.attribute import MISSING, Attribute
from core.domain.category import OTHER, Category

# Spellings of "no value". A category may have one of them on its list; then it is a value.
NULLS = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "#N/A")


class CategoryConverter(Converter):
    """Texts, matched byte for byte in UTF-8. Numbers and truth values are matched by their text."""

    def __init__(self, attribute: Attribute) -> None:
        super().__init__(attribute)
        assert isinstance(attribute, Category)  # noqa: S101 - for the type checker
        self._places = {text.encode(): MISSING for text in NULLS}
        self._places |= {value.encode(): place for place, value in enumerate(attribute.values)}

    def from_text(self, text: bytes) -> int:
        """Its place on the list; MISSING for a spelling of "no value", OTHER for any other text."""
        return self._places.get(text.strip(b" \t"), OTHER)

    def from_json(self, value: object) -> int:
        """A string, number or truth value by its text; null, lists and objects are MISSING."""
        if isinstance(value, bool):
            return self.from_text(b"true" if value else b"false")
        if isinstance(value, int | float):
            return self.from_text(text_of(value))
        place: int = super().from_json(value)
        return place

    def reads(self, kind: pa.DataType) -> bool:
        """Numbers and truth values."""
        types = pa.types
        return bool(types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or is_decimal(kind))

    def from_values(self, column: pa.Array) -> Column:
        """Each distinct value by its text."""
        if pa.types.is_decimal(column.type):
            if column.type.bit_width < 128:  # pyarrow makes no dictionary of these
                column = column.cast(pa.decimal128(38, column.type.scale), safe=False)
            encoded = column.dictionary_encode()
            return self.from_entries(list(map(decimal_text, encoded.dictionary.to_pylist())), encoded.indices)
        distinct, places = np.unique(column.drop_null().to_numpy(zero_copy_only=False), return_inverse=True)
        texts = [text_of(value) for value in distinct]
        if pa.types.is_boolean(column.type):
            texts = [b"true" if value else b"false" for value in distinct]
        values = np.full(len(column), MISSING, dtype=self.dtype)
        values[column.is_valid().to_numpy(zero_copy_only=False)] = self.from_texts(texts)[places]
        return values


def text_of(number: float | np.number) -> bytes:
    """The text of a number: a whole one without a fraction, any other as short as its type allows."""
    is_whole = isinstance(number, int | np.integer) or (np.isfinite(number) and number == np.floor(number))
    return str(int(number) if is_whole else number).encode()


def decimal_text(number: Decimal) -> bytes:
    """The text of a decimal without zeros at the end of its fraction."""
    text = format(number, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text).encode()
