"""Causes: why rows of one batch are bad, and which of its values are missing. Exact, and for the curator alone.

They are noted for `rugnik check` and nowhere else: a service never asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.ingest.columns.absent import AbsentConverter, chosen, long_ids
from core.domain.attribute import MISSING, Attribute


class BadLine(StrEnum):
    """Why a line is no row."""

    FIELDS = "with more or fewer fields than the first"
    QUOTES = "with quotes that do not match"
    JSON = "that are no JSON object"
    LONG = "that are too long"


@dataclass(frozen=True, slots=True, repr=False)
class Causes:
    """What is known of a batch beyond its values.

    absent     for each attribute, how many values are missing; further ones that have no value are unreadable
    bad_lines  how many lines are no rows, and why
    long_ids   how many ids of persons are too long; further ones that are null are missing or unusable
    """

    absent: tuple[int, ...]
    bad_lines: Mapping[BadLine, int] = field(default_factory=dict)
    long_ids: int = 0

    def with_bad_lines(self, cause: BadLine, number: int) -> Causes:
        """The same with more lines that are no rows."""
        return replace(self, bad_lines={**self.bad_lines, cause: self.bad_lines.get(cause, 0) + number})


class CauseFinder:
    """Finds the causes of a batch from the columns that it was converted from."""

    def __init__(self, attributes: Sequence[Attribute]) -> None:
        self._converters = tuple(map(AbsentConverter, attributes))

    def causes(self, raw: Sequence[Any], values: Sequence[NDArray[Any]], ids: pa.Array | None) -> Causes:
        """`raw` has the columns of the file, `values` what became of them; after those of the attributes, the ids."""
        columns = zip(self._converters, raw, values, strict=False)
        absent = tuple(_absent(converter, column, converted) for converter, column, converted in columns)
        return Causes(absent, long_ids=long_ids(raw[-1]) if ids is not None and ids.null_count else 0)


def _absent(converter: AbsentConverter, raw: Any, values: NDArray[Any]) -> int:
    """How many of the values that could not be read are missing."""
    none = np.isnan(values) if values.dtype.kind == "f" else values == MISSING
    if not none.any():
        return 0
    few = chosen(raw, np.flatnonzero(none))
    if isinstance(few, pa.Array):
        return int(converter.from_arrow(few).sum())
    is_text = all(isinstance(value, bytes) for value in few)
    return int((converter.from_texts if is_text else converter.from_jsons)(few).sum())
