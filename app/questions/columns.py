"""Columns of files: values of an attribute as Arrow has them, and as CSV has them.

Parquet and Arrow have types for dates and moments. In CSV a moment is an RFC 3339 text in the attribute's zone, as in
JSON, and a category is a text that no spreadsheet runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.questions.spreadsheets import as_text
from core.domain.attribute import Attribute, Ordered
from core.domain.category import Category
from core.domain.dates import Date, Datetime

Mask = NDArray[np.bool_] | None


def arrow_type(attribute: Attribute, values: NDArray[Any]) -> pa.DataType:
    """The type of a column of these values: numbers as they are, date32, timestamp[us] in a zone, or text."""
    match attribute:
        case Date():
            return pa.date32()
        case Datetime():
            return pa.timestamp("us", tz=str(attribute.zone).removeprefix("UTC") or "UTC")
        case Category():
            return pa.string()
        case _:
            return pa.from_numpy_dtype(values.dtype)


def arrow_column(attribute: Attribute, values: NDArray[Any], missing: Mask, *, csv: bool) -> pa.Array:
    """Values of an attribute as a column; null where they are missing."""
    kind = arrow_type(attribute, values)
    if csv and isinstance(attribute, Datetime):
        kind, values = pa.string(), np.array(attribute.written(values), dtype=object)
    elif csv and isinstance(attribute, Category):
        distinct, places = np.unique(values, return_inverse=True)
        values = np.array([as_text(text) for text in distinct], dtype=object)[places]
    return pa.array(values, type=kind, mask=missing)


def cell_columns(attribute: Attribute, axis: Any, places: NDArray[np.int64], *, csv: bool) -> dict[str, pa.Array]:
    """The cells at these places of an axis: lower and upper ends, null for missing values; or labels."""
    if not isinstance(attribute, Ordered):
        assert isinstance(attribute, Category)  # noqa: S101 - for the type checker
        labels = np.array(attribute.labels, dtype=object)
        return {attribute.name: arrow_column(attribute, labels[places], None, csv=csv)}
    edges = attribute.edge_values(axis)
    missing = places == axis.value_cells if axis.keeps_missing else None
    held = places if missing is None else np.where(missing, 0, places)
    return {
        f"{attribute.name}_{end}": arrow_column(attribute, edges[held + step], missing, csv=csv)
        for end, step in (("lower", 0), ("upper", 1))
    }
