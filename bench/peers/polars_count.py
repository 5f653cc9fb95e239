"""polars that counts the rows of a Parquet file per cell, to be measured: see bench/peers/stopwatch.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import polars as pl


def prepare(path: str, names: list[str], cells: int, upper: float, *, grouped: bool) -> Callable[[], int]:
    """A call that counts on a grid over [0, upper)^d and returns how many cells have rows.

    Either polars does all, by its engine for streams, which is the faster of the two here, or it gives the number of
    the cell of each row and np.bincount counts.
    """
    places = [(pl.col(name) * (cells / upper)).cast(pl.Int32) for name in names]
    cell = reduce(lambda number, place: number * cells + place, places).alias("cell")

    def group() -> int:
        return pl.scan_parquet(path).group_by(cell).len().collect(engine="streaming").height

    def bincount() -> int:
        return int(np.count_nonzero(np.bincount(pl.scan_parquet(path).select(cell).collect()["cell"].to_numpy())))

    return group if grouped else bincount
