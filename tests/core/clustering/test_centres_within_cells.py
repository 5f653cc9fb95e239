"""Clusters narrower than cells are placed within their cells, by what spills into the cells beside them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.cells import DenseCells
from core.clustering import centres_within_cells
from core.clustering.centres_within_cells import within_cells
from core.clustering.methods import cells_of, labels_of
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.histogram import count
from core.records import OutOfRange
from core.synopsis import Synopsis
from tests.core.queries.worlds import rows, shaken, synopsis_of
from tests.core.rows import take_rows

GRID = Grid.uniform(5, 4)
CENTRES = np.array([[-0.68, 0.1, 0.55, -0.33], [0.29, -0.45, -0.66, 0.7]])


def synopsis_around(centres: np.ndarray, deviation: float, epsilon: str = "1") -> Synopsis:
    """20,000 rows around each of some centres, released."""
    rng = np.random.default_rng(0)
    d = centres.shape[1]
    domain, grid = Domain(tuple(Number(f"x{i}", -1, 1) for i in range(d))), Grid.uniform(GRID.cells_per_axis, d)
    values = np.concatenate([centre + rng.normal(0, deviation, (20_000, d)) for centre in centres])
    counts = count(take_rows(values, domain, OutOfRange.CLIP).records, grid)
    exact = replace(synopsis_of(rows(10), 2), domain=domain, cells=DenseCells(grid, counts.cells), size=len(values))
    return shaken(exact, epsilon)


def listed(synopsis: Synopsis, threshold: int) -> Synopsis:
    """What a threshold leaves of a release."""
    return replace(synopsis, cells=DenseCells(synopsis.grid, synopsis.counts).reaching(threshold))


def gridded(synopsis: Synopsis, centres: np.ndarray = CENTRES) -> np.ndarray:
    """Where k-means on the cells that stand out would have the two centres."""
    cells = cells_of(synopsis)[0]
    labels = labels_of(cells, centres)
    weights = np.where(synopsis.counts > 15 / float(synopsis.epsilon), synopsis.counts, 0)
    return np.stack([np.average(cells[labels == i], axis=0, weights=weights[labels == i]) for i in range(2)])


def test_what_spills_tells_where_a_cluster_lies() -> None:
    """In cells of 0.4, clusters of deviation 0.07 are found to 0.01 on average, where cell centres are off by 0.05."""
    synopsis = synopsis_around(CENTRES, 0.07)
    start = gridded(synopsis)
    moved = within_cells(synopsis, start, labels_of(synopsis.grid.centres(), start))
    assert np.abs(start - CENTRES).mean() > 0.04
    assert np.abs(moved - CENTRES).mean() < 0.01


def test_a_spill_shows_where_the_noise_of_all_cells_together_would_hide_it() -> None:
    """In eight dimensions a centre has 2,187 columns of cells next to it on any axis, and few of them hold rows."""
    centres = np.concatenate([CENTRES, -CENTRES[::-1]], axis=1)
    synopsis = synopsis_around(centres, 0.06, "0.2")
    start = gridded(synopsis, centres)
    moved = within_cells(synopsis, start, labels_of(synopsis.grid.centres(), start))
    assert np.abs(moved - centres).mean() < 0.025


def test_what_is_not_listed_tells_as_well() -> None:
    """Of a thresholded release only cells of 40 rows and more are known: a cell that is not listed has few."""
    synopsis = listed(synopsis_around(CENTRES, 0.06), 40)
    start = gridded(synopsis)
    moved = within_cells(synopsis, start, labels_of(cells_of(synopsis)[0], start))
    assert np.abs(start - CENTRES).mean() > 0.04
    assert np.abs(moved - CENTRES).mean() < 0.02


def test_a_grid_that_would_take_too_long_is_looked_at_like_a_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing but the cells that stand out, centres are found nearly as well."""
    synopsis = synopsis_around(CENTRES, 0.07)
    start = gridded(synopsis)
    labels = labels_of(synopsis.grid.centres(), start)
    whole = within_cells(synopsis, start, labels)
    monkeypatch.setattr(centres_within_cells, "_MOST_WORK", 0)
    moved = within_cells(synopsis, start, labels)
    assert (moved != whole).any()
    assert np.abs(moved - CENTRES).mean() < 0.015


def test_of_an_empty_listing_nothing_moves() -> None:
    """No cell reaches the threshold."""
    synopsis = listed(synopsis_around(CENTRES, 0.06), 10**6)
    assert (within_cells(synopsis, CENTRES, np.zeros(1, dtype=np.int64)) == CENTRES).all()


def test_clusters_wider_than_cells_stay_where_they_are() -> None:
    """Their mean over cells is right already."""
    wide = CENTRES / 4
    synopsis = synopsis_around(wide[:1], 0.25, "5")
    cells = synopsis.grid.centres()
    start = np.average(cells, axis=0, weights=np.maximum(synopsis.counts, 0))[None]
    moved = within_cells(synopsis, start, np.zeros(len(cells), dtype=np.int64))
    assert np.abs(moved - start).max() < 0.02


def test_a_cluster_that_spills_nowhere_stays_in_the_middle_of_its_cell() -> None:
    """All of its rows in one cell: every place in it explains that alike."""
    synopsis = synopsis_around(np.array([[0.0, 0.4, -0.4, 0.0]]), 0.001, "5")
    start = np.array([[0.0, 0.4, -0.4, 0.0]])
    moved = within_cells(synopsis, start, np.zeros(GRID.cell_count, dtype=np.int64))
    assert np.abs(moved - start).max() < 0.02


def test_noise_alone_moves_nothing() -> None:
    """Without rows there is nothing to tell, and centres stay."""
    empty = replace(synopsis_around(CENTRES, 0.07), cells=DenseCells(GRID, np.zeros(GRID.cell_count, dtype=np.int64)))
    start = gridded(synopsis_around(CENTRES, 0.07))
    assert (within_cells(empty, start, labels_of(GRID.centres(), start)) == start).all()
