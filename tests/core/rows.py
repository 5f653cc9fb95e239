"""Rows of numbers, one per line of an array, as core takes them in: by column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.domain.domain import Domain
from core.records import Intake, OutOfRange, Records, take_in


def take_rows(values: NDArray[np.float64], domain: Domain, out_of_range: OutOfRange) -> Intake:
    """`take_in` of an array with a row for each line."""
    return take_in(tuple(values.T), domain, out_of_range)


def by_row(records: Records) -> NDArray[np.uint32]:
    """The codes with a row for each record."""
    return np.stack(records.columns, axis=1)


def records_of(codes: NDArray[np.uint32]) -> Records:
    """Records from an array of codes with a row for each record."""
    return Records(tuple(np.ascontiguousarray(column) for column in codes.T))
