"""DuckDB that counts the rows of a Parquet file per cell, to be measured: see bench/peers/stopwatch.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import duckdb
import numpy as np


def prepare(path: str, names: list[str], cells: int, upper: float, *, grouped: bool) -> Callable[[], int]:
    """A call that counts on a grid over [0, upper)^d and returns how many cells have rows.

    Either DuckDB does all and gives arrays, or it gives the number of the cell of each row and np.bincount counts.
    """
    duckdb.sql("set threads to 1")  # it counts the cores of the machine, not those that this process may use
    places = [f"cast(floor({name} * {cells / upper}) as integer)" for name in names]
    cell = reduce(lambda number, place: f"({number}) * {cells} + {place}", places)
    query = f"select {cell} as cell from read_parquet('{path}')"  # noqa: S608 - our own names
    grouped_query = f"select cell, count(*) as number from ({query}) group by cell"  # noqa: S608 - our own names

    def group() -> int:
        return len(duckdb.sql(grouped_query).fetchnumpy()["number"])

    def bincount() -> int:
        return int(np.count_nonzero(np.bincount(duckdb.sql(query).fetchnumpy()["cell"])))

    return group if grouped else bincount
