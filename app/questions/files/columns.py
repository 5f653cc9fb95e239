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
from core.domain.axis import Axis
from core.domain.category import Category
from core.domain.dates import Datetime
from core.queries.synthetic import Column

Mask = NDArray[np.bool_] | None
_DAYS = np.dtype("datetime64[D]")


def cell_columns(
    attribute: Attribute, axis: Axis, places: NDArray[np.int64], *, csv: bool
) -> list[tuple[str, pa.Array]]:
    """The cells at these places of an axis: lower and upper ends, null for missing values; or labels."""
    if isinstance(attribute, Category):
        return [(attribute.name, label_column(attribute, places, None, csv=csv))]
    assert isinstance(attribute, Ordered)  # noqa: S101 - every kind but category is
    edges = attribute.edge_values(axis)
    missing = places == axis.value_cells if axis.keeps_missing else None
    held = places if missing is None else np.where(missing, 0, places)
    return [
        (f"{attribute.name}_{end}", value_column(attribute, edges[held + step], missing, csv=csv))
        for end, step in (("lower", 0), ("upper", 1))
    ]


def row_column(attribute: Attribute, column: Column, *, csv: bool) -> pa.Array:
    """The values of an attribute in synthetic rows; null where they are missing."""
    if isinstance(attribute, Category):
        return label_column(attribute, column.values, column.missing, csv=csv)
    return value_column(attribute, column.values, column.missing, csv=csv)


def value_column(attribute: Attribute, values: NDArray[Any], missing: Mask, *, csv: bool) -> pa.Array:
    """Numbers as they are, date32, or timestamp[us] in the attribute's zone. In CSV a time but for a date is a text."""
    assert isinstance(attribute, Ordered)  # noqa: S101 - every kind but category is
    if csv and values.dtype.kind in "mM" and values.dtype != _DAYS:
        return pa.array(np.array(attribute.written(values), dtype=object), type=pa.string(), mask=missing)
    if isinstance(attribute, Datetime):
        zone = str(attribute.zone).removeprefix("UTC") or "UTC"
        return pa.array(values, type=pa.timestamp("us", tz=zone), mask=missing)
    return pa.array(values, mask=missing)


def label_column(attribute: Category, places: NDArray[np.int64], missing: Mask, *, csv: bool) -> pa.Array:
    """Texts; in CSV such that no spreadsheet runs them."""
    labels = [as_text(label) if csv else label for label in attribute.labels]
    return pa.array(np.array(labels, dtype=object)[places], type=pa.string(), mask=missing)
