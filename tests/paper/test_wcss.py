"""Table II: our grids and our GCC reproduce the printed WCSS, on a subset of its entries that takes seconds.

Under the paper's own choice among k-means runs, by the private points: that choice is not private, and it lives in
bench alone (bench.paper has all entries). Seeds are fixed, so nothing here is left to chance.
"""

from __future__ import annotations

import numpy as np
import pytest

from bench.paper_rows import PRINTED, coreset_value, generator, published
from bench.published import SEEDS, Cell, Setting, dataset, printed
from core.clustering.kmeans import lloyd, nearest, plus_plus
from core.randomness import seeded

SETTINGS = Setting(2, 100, 2), Setting(2, 200, 3), Setting(4, 200, 3)
EPSILONS = (0.15, 1.0)
# The standard error of an entry is about 4 % where noise is strong; that of the mean of six about 1.5 %.
ENTRY_ERROR, MEAN_ERROR = 0.10, 0.03


@pytest.mark.parametrize("method", ["RUGNIK", "EUGkM"])
def test_the_printed_wcss_is_reproduced(method: str) -> None:
    """Over the paper's fifty datasets each entry is within 10 % of print, and their mean within 3 %."""
    private, _bare = printed()
    cells = [Cell(method, setting, epsilon) for setting in SETTINGS for epsilon in EPSILONS]
    ratios = [np.mean([_published_value(cell, seed) for seed in SEEDS]) / private[cell] for cell in cells]
    assert ratios == pytest.approx([1] * len(cells), abs=ENTRY_ERROR)
    assert np.mean(ratios) == pytest.approx(1, abs=MEAN_ERROR)


def test_the_printed_wcss_of_the_coreset_method_is_reproduced() -> None:
    """By our own code for it, with the same tolerances."""
    cells = [Cell("GCC", setting, epsilon) for setting in SETTINGS for epsilon in EPSILONS]
    ratios = [
        np.mean([coreset_value(cell, dataset(cell.setting, seed), seed) for seed in SEEDS]) / PRINTED[cell]
        for cell in cells
    ]
    assert ratios == pytest.approx([1] * len(cells), abs=ENTRY_ERROR)
    assert np.mean(ratios) == pytest.approx(1, abs=MEAN_ERROR)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_row_without_privacy_is_reproduced(setting: Setting) -> None:
    """Within 3 % of print by our own k-means, where no noise stands between the data and the value."""
    _private, bare = printed()
    wcss = []
    for seed in SEEDS:
        points, ones = dataset(setting, seed), np.ones(setting.N)
        starts = plus_plus(points, ones, setting.K, restarts=4, rng=seeded(seed))
        wcss.append(nearest(points, lloyd(points, ones, starts))[1].sum(axis=1).min() / setting.K)
    assert np.mean(wcss) == pytest.approx(bare[setting], rel=0.03)


def test_the_datasets_are_those_of_the_paper() -> None:
    """With a single cell every centre sits in the middle and only data count: within 1 %; other seeds vary by 4 %."""
    single = {cell.setting: value for cell, value in printed()[0].items() if cell.grid.cell_count == 1}
    assert len(single) == 6
    for setting, value in single.items():
        wcss = np.mean([np.square(dataset(setting, seed)).sum() / setting.K for seed in SEEDS])
        assert wcss == pytest.approx(value, rel=0.01)


def _published_value(cell: Cell, seed: int) -> float:
    """One dataset in one cell under the rule `published` alone: the same number as `measure` gives, in less time."""
    _counts, runs = published(cell, dataset(cell.setting, seed), generator(cell, seed))
    return runs.best_by_points()
