"""Questions to tables of mixed kinds: numbers, integers, dates, datetimes, categories and missing values."""

from __future__ import annotations

import numpy as np
import pytest

from core.queries.range_count import count_boxes, range_table
from tests.core.queries.mixed import random_box, rows_in, shares_of, world

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("listed", [False, True])
def test_a_box_of_any_kinds_is_the_sum_of_its_cells(seed: int, listed: bool) -> None:
    """By the share of each cell inside, of whole cells and of touched cells; one box at a time and all at once."""
    table = world(seed, attributes=1 + seed % 4)
    synopsis = table.thresholded() if listed else table.synopsis
    counts = np.where(table.synopsis.counts >= (synopsis.threshold or 0), table.synopsis.counts, 0)
    rng = np.random.default_rng(seed)
    boxes = ((), *(random_box(synopsis.domain, rng) for _ in range(15)))
    answer = count_boxes(range_table(synopsis), boxes, level=0.95, simultaneous=False)
    for i, box in enumerate(boxes):
        share, whole, touched = shares_of(synopsis, box)
        assert answer.count[i] == pytest.approx(share @ counts, abs=1e-6)
        assert answer.without_cut[i] == pytest.approx(counts[whole].sum(), abs=1e-6)
        assert answer.with_cut[i] == pytest.approx(counts[touched].sum(), abs=1e-6)
        alone = count_boxes(range_table(synopsis), (box,), level=0.95, simultaneous=False)
        assert alone.count[0] == pytest.approx(answer.count[i], abs=1e-6)
        assert alone.low[0] == pytest.approx(answer.low[i], abs=1e-6)
        assert answer.low[i] - 1e-6 <= rows_in(table, box) <= answer.high[i] + 1e-6
