"""Prepared: a synopsis in memory, or a part of it, with the tables that answers are read from."""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from app.questions.boxes import parse_box
from app.questions.lru_cache import LruCache
from core.canonical import canonical_json
from core.noisy_histogram import NoisyHistogram
from core.queries.range_count import RangeTable, range_table
from core.queries.slices import Slice, slice_of
from core.queries.synthetic import cumulative_weights
from core.synopsis import Synopsis


class Prepared:
    """A synopsis with tables that are computed from it when first needed.

    `histogram` is what a question is asked of: the synopsis itself, or a part of it. `slice` then says which.
    """

    def __init__(self, synopsis: Synopsis) -> None:
        self.synopsis = synopsis
        self.digest = synopsis.digest
        self.histogram: NoisyHistogram = synopsis
        self.slice: dict[str, str] | None = None
        # No part is larger than the whole, so all of them together stay within its weight.
        self._parts: LruCache[Prepared] = LruCache(
            synopsis.cells.memory_bytes, weigh=lambda _key, part: part._own_weight
        )

    def part(self, where: tuple[str, ...]) -> Prepared:
        """The part that these texts name, cached; itself without any. InvalidQuery where they name none."""
        if not where:
            return self
        key = canonical_json(list(where)).decode()
        return self._parts.get(key, lambda: self._part(slice_of(self.synopsis, parse_box(where, self.synopsis.domain))))

    def _part(self, histogram: Slice) -> Self:
        part = type(self).__new__(type(self))
        part.synopsis, part.digest = self.synopsis, self.digest
        part.histogram, part.slice = histogram, dict(histogram.where)
        return part

    @cached_property
    def table(self) -> RangeTable:
        """What range counts are read from."""
        return range_table(self.histogram)

    @cached_property
    def cumulative(self) -> NDArray[np.float64]:
        """What synthetic rows are drawn from; once for all streams."""
        return cumulative_weights(self.histogram)

    @property
    def weight(self) -> int:
        """Bytes that it may hold: counts, range table and cumulative weights, and the same again for its parts."""
        return 2 * self._own_weight

    @property
    def _own_weight(self) -> int:
        return self.histogram.cells.memory_bytes
