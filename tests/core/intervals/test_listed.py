"""Bounds from a thresholded synopsis hold what the rows themselves would answer, whatever the cells hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from core.budget import NOTHING, Epsilon
from core.cells import DenseCells, ThresholdedCells
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.errors import InvalidQuery
from core.intervals.listed import ListedCells
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.threshold import least_threshold
from core.plan import Rule
from core.queries.boxes import Box, Range
from core.queries.clusters import assign, find_clusters
from core.queries.denoise import CountsKind
from core.queries.marginal import marginal
from core.queries.moments import moments
from core.queries.quantile import quantile
from core.queries.range_count import count_boxes, range_table
from core.queries.synthetic import synthetic_rows
from core.records import OutOfRange
from core.synopsis import Synopsis
from tests.core.queries.worlds import LEVEL, drawn_rows, least_hits

M = 8
GRID = Grid.uniform(M, 4)
DOMAIN = Domain(tuple(Number(name, 0, M) for name in "abcd"))
DRAWS = 200
BOXES: tuple[Box, ...] = (
    (Range("a", 1.5, 6.25), Range("b", 0, 5)),
    (Range("c", 4, 8),),
    (),
    (Range("a", 2, 3), Range("b", 2, 3), Range("c", 2, 3), Range("d", 2, 3)),
    tuple(Range(name, 0.2, 0.9) for name in "abcd"),
)
Wholes = NDArray[np.int64]


def concentrated(rng: np.random.Generator) -> Wholes:
    """A few full cells, a fringe of small ones, empty elsewhere."""
    truth = np.zeros(GRID.cell_count, dtype=np.int64)
    truth[rng.choice(GRID.cell_count, 30, replace=False)] = rng.integers(50, 400, 30)
    truth[rng.choice(GRID.cell_count, 300, replace=False)] += 1
    return truth


def at_the_threshold(rng: np.random.Generator) -> Wholes:
    """Many cells that hold about as many rows as the threshold: listed or not by the toss of the noise."""
    truth = np.zeros(GRID.cell_count, dtype=np.int64)
    truth[rng.choice(GRID.cell_count, 400, replace=False)] = rng.integers(0, 16, 400)
    return truth


def full(_rng: np.random.Generator) -> Wholes:
    """Every cell is listed, so that all there is to bound is the noise of many cells."""
    return np.full(GRID.cell_count, 200, dtype=np.int64)


def bare(rng: np.random.Generator) -> Wholes:
    """Next to nothing: what is listed at a low threshold are false cells."""
    truth = np.zeros(GRID.cell_count, dtype=np.int64)
    truth[rng.choice(GRID.cell_count, 5, replace=False)] = 40
    return truth


def sparse(rng: np.random.Generator) -> Wholes:
    """One row in each cell that has any: what a threshold of 1 is for."""
    truth = np.zeros(GRID.cell_count, dtype=np.int64)
    truth[rng.choice(GRID.cell_count, 800, replace=False)] = 1
    return truth


WORLDS = {
    "concentrated": concentrated,
    "at the threshold": at_the_threshold,
    "full": full,
    "bare": bare,
    "sparse": sparse,
}
LOW = {"bare": 4, "sparse": 1}  # thresholds that a hundred empty cells reach


def listed_synopsis(
    truth: Wholes, epsilon: str, rng: np.random.Generator, *, declared: bool, threshold: int | None = None
) -> Synopsis:
    """Noise every cell from a public seed, keep those that reach the threshold."""
    amount = Epsilon.parse(epsilon)
    threshold = threshold or least_threshold(GRID.cell_count, DiscreteLaplace.at(amount))
    p = -np.expm1(-float(amount))
    noisy = truth + rng.geometric(p, len(truth)) - rng.geometric(p, len(truth))
    cells = np.flatnonzero(noisy >= threshold)
    share = Epsilon(amount.nano // 20)
    size = int(truth.sum()) + (0 if declared else int(np.rint(rng.laplace(0, 1 / float(share)))))
    return Synopsis(
        dataset="d",
        release="r",
        domain=DOMAIN,
        cells=ThresholdedCells(GRID, cells, noisy[cells], threshold),
        epsilon=amount if declared else amount + share,
        size_epsilon=NOTHING if declared else share,
        clusters=4,
        rule=Rule.RUGNIK,
        out_of_range=OutOfRange.CLIP,
        size=max(1, size),
        size_declared=declared,
    )


def true_count(truth: Wholes, box: Box) -> float:
    """Rows in a box, evenly spread within their cell."""
    share = np.ones((M,) * 4)
    for name, low, high in box:
        axis = "abcd".index(name)
        inside = np.clip(np.minimum(np.arange(1, M + 1), high) - np.maximum(np.arange(M), low), 0, 1)
        share = share * inside.reshape([M if x == axis else 1 for x in range(4)])
    return float((share.ravel() * truth).sum())


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "estimated"])
@pytest.mark.parametrize(
    ("world", "epsilon"),
    [
        ("concentrated", "0.5"),
        ("concentrated", "2"),
        ("concentrated", "6"),
        ("at the threshold", "1"),
        ("full", "0.5"),
        ("bare", "1"),
        ("sparse", "3"),
    ],
)
def test_every_interval_covers(world: str, epsilon: str, declared: bool) -> None:
    """Counts, marginals, quantiles and moments, at few and at many cells near the threshold."""
    rng = np.random.default_rng(3)
    truth = WORLDS[world](rng)
    cube = truth.reshape((M,) * 4)
    counts = np.array([true_count(truth, box) for box in BOXES])
    places = GRID.places(np.arange(GRID.cell_count))[:, 1] + 0.5
    mean = float((places * truth).sum() / truth.sum())
    variance = float(((places - mean) ** 2 * truth).sum() / truth.sum())
    rows = np.sort(np.repeat(places, truth))
    median = rows[(len(rows) + 1) // 2 - 1]  # the centre of the cell that holds it
    hits = np.zeros(len(BOXES) + 6)
    for _ in range(DRAWS):
        synopsis = listed_synopsis(truth, epsilon, rng, declared=declared, threshold=LOW.get(world))
        counted = count_boxes(range_table(synopsis), BOXES, level=LEVEL, simultaneous=False)
        side = marginal(synopsis, ("d", "a"), level=LEVEL, counts=CountsKind.RAW)
        assert side.bounds is not None
        assert side.bounds_all is not None
        exact = cube.sum(axis=(1, 2)).T.ravel()
        middle = quantile(synopsis, "b", 0.5, level=LEVEL).interval
        about = moments(synopsis, level=LEVEL)
        spread = about.attributes[1].variance.interval
        hits += [
            *((counted.noise_low <= counts + 1e-9) & (counts <= counted.noise_high + 1e-9)),
            side.bounds[0][5] <= exact[5] <= side.bounds[1][5],
            ((side.bounds_all[0] <= exact) & (exact <= side.bounds_all[1])).all(),
            middle.low <= median <= middle.high,
            about.size.interval.low <= truth.sum() <= about.size.interval.high,
            about.attributes[1].mean.interval.low <= mean <= about.attributes[1].mean.interval.high,
            spread.low <= variance <= spread.high,
        ]
    assert hits.min() >= least_hits(DRAWS), hits


def test_the_bounds_are_close_where_cells_are_full() -> None:
    """With rows in few full cells a count is known to a few per cent: the bounds are not merely true."""
    rng = np.random.default_rng(5)
    truth = np.zeros(GRID.cell_count, dtype=np.int64)
    truth[rng.choice(GRID.cell_count, 40, replace=False)] = 2500
    synopsis = listed_synopsis(truth, "1", rng, declared=False)
    counted = count_boxes(range_table(synopsis), ((Range("c", 4, 8),),), level=LEVEL, simultaneous=False)
    assert counted.high[0] - counted.low[0] < 0.02 * truth.sum()


@pytest.mark.parametrize("share", [0.5, 0.83, 1.0, 2.0])
def test_a_declared_size_changes_no_answer(share: float) -> None:
    """However wrong the statement is: intervals hold what the rows would answer, and are the same for any statement."""
    rng = np.random.default_rng(11)
    truth = concentrated(rng)
    right = listed_synopsis(truth, "1", rng, declared=True)
    synopsis = replace(right, size=int(share * truth.sum()))
    places = GRID.places(np.arange(GRID.cell_count))[:, 0] + 0.5
    about, count = (
        moments(synopsis, level=LEVEL),
        count_boxes(range_table(synopsis), BOXES, level=LEVEL, simultaneous=True),
    )
    assert about.size.interval.low <= truth.sum() <= about.size.interval.high
    assert (
        about.attributes[0].mean.interval.low <= places @ truth / truth.sum() <= about.attributes[0].mean.interval.high
    )
    exact = np.array([true_count(truth, box) for box in BOXES])
    assert ((count.low <= exact) & (exact <= count.high)).all()
    assert about == moments(right, level=LEVEL)
    assert find_clusters(synopsis, 3, level=LEVEL, seed=0) == find_clusters(right, 3, level=LEVEL, seed=0)
    assert quantile(synopsis, "a", 0.5, level=LEVEL) == quantile(right, "a", 0.5, level=LEVEL)


def test_a_threshold_with_hardly_any_noise_gives_the_exact_answers() -> None:
    """At epsilon 60 the threshold is 1: cells with a row are listed with their true counts, all others are empty."""
    truth = np.zeros(GRID.cell_count, dtype=np.int64)
    truth[[0, 77, 4095]] = [30, 40, 50]
    synopsis = listed_synopsis(truth, "60", np.random.default_rng(0), declared=True)
    counted = count_boxes(range_table(synopsis), ((), (Range("a", 0, 4),)), level=LEVEL, simultaneous=True)
    assert counted.count.tolist() == [120, 70]
    assert (counted.high - counted.low < 0.5).all()
    blocks = drawn_rows(synopsis, 2000, 1)
    assert set(map(tuple, np.floor(blocks).tolist())) == set(map(tuple, GRID.places(np.array([0, 77, 4095])).tolist()))


def test_a_release_in_which_nothing_is_listed_still_answers() -> None:
    """Counts are zero with honest bounds, moments have no value; only rows cannot be drawn."""
    empty = listed_synopsis(np.zeros(GRID.cell_count, dtype=np.int64), "1", np.random.default_rng(1), declared=True)
    nothing = np.array([], dtype=np.int64)
    none = replace(empty, cells=ThresholdedCells(GRID, nothing, nothing, empty.threshold or 1), size=900)
    counted = count_boxes(range_table(none), ((),), level=LEVEL, simultaneous=False)
    assert (counted.count[0], counted.low[0]) == (0, 0)
    assert counted.high[0] >= GRID.cell_count * ((none.threshold or 1) - 1)  # nothing else bounds what is not listed
    assert moments(none, level=LEVEL).attributes[0].mean.value is None
    assert quantile(none, "a", 0.5, level=LEVEL).interval.high == M
    with pytest.raises(InvalidQuery):
        synthetic_rows(none, 10, 0)


def test_marginals_of_more_cells_than_fit_are_refused() -> None:
    """All attributes of a large grid at once: the synopsis itself is the answer to that."""
    synopsis = listed_synopsis(np.zeros(GRID.cell_count, dtype=np.int64), "1", np.random.default_rng(1), declared=True)
    nothing = np.array([], dtype=np.int64)
    wide = replace(synopsis, cells=ThresholdedCells(Grid.uniform(100, 4), nothing, nothing, 9))
    with pytest.raises(InvalidQuery, match="fewer attributes"):
        marginal(wide, ("a", "b", "c", "d"), level=LEVEL, counts=CountsKind.RAW)


def test_whole_synopses_have_no_listed_cells() -> None:
    """The bounds are for thresholded synopses only."""
    whole = replace(
        listed_synopsis(np.zeros(GRID.cell_count, dtype=np.int64), "1", np.random.default_rng(1), declared=True),
        cells=DenseCells(GRID, np.zeros(GRID.cell_count, dtype=np.int64)),
    )
    with pytest.raises(InvalidQuery):
        ListedCells(whole)


@pytest.mark.parametrize(("rows_in_each", "epsilon"), [(40, "1"), (4000, "1"), (300, "0.5")])
def test_centres_of_listed_cells_have_intervals_that_cover(rows_in_each: int, epsilon: str) -> None:
    """For the mean of all rows in a region, listed or not, also where most of what is listed are false cells."""
    rng = np.random.default_rng(8)
    truth = np.zeros(GRID.cell_count, dtype=np.int64)
    for corner in ([1, 1, 1, 1], [6, 6, 6, 6], [1, 6, 1, 6]):
        spread = np.clip(np.array(corner) + np.rint(rng.normal(0, 0.7, (rows_in_each, 4))).astype(int), 0, M - 1)
        np.add.at(truth, np.ravel_multi_index(tuple(spread.T), (M,) * 4), 1)
    cells = DOMAIN.from_unit(GRID.centres())
    hits = []
    for _ in range(40):
        synopsis = listed_synopsis(truth, epsilon, rng, declared=False, threshold=5 if rows_in_each < 100 else None)
        clustering = find_clusters(synopsis, 3, level=LEVEL, seed=0)
        labels = assign(synopsis, clustering, cells)
        for i, cluster in enumerate(clustering.clusters):
            weight = truth * (labels == i)
            if weight.sum():
                mean = weight @ cells / weight.sum()
                hits += [one.low <= t <= one.high for one, t in zip(cluster.centre_intervals, mean, strict=True)]
    assert np.mean(hits) >= LEVEL


def test_tiny_epsilons_lose_no_digits() -> None:
    """log E exp(t Z) at epsilon 10^-8 is t^2 / epsilon^2 to three digits where t is a thousandth of epsilon."""
    epsilon = Epsilon.parse("0.00000001")
    assert DiscreteLaplace.at(epsilon).log_mgf(np.array([1e-11]))[0] == pytest.approx(1e-6, rel=1e-3)


def test_a_size_that_was_raised_to_one_says_nothing_about_the_least() -> None:
    """No rows at all and a noisy size below one: the number of rows may be zero."""
    synopsis = listed_synopsis(np.zeros(GRID.cell_count, dtype=np.int64), "1", np.random.default_rng(1), declared=False)
    raised = replace(synopsis, size=1)
    assert moments(raised, level=LEVEL).size.interval.low == 0.0


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "estimated"])
@pytest.mark.parametrize(("epsilon", "threshold"), [("0.2", 1), ("1", 1), ("3", 1), ("1.5", 2), ("8", 2), ("0.7", 4)])
def test_bounds_below_hold_at_the_least_thresholds(epsilon: str, threshold: int, declared: bool) -> None:
    """T = 1 at any epsilon, and T - 1 just above p / (1 - p): what is certain of a sum is hardly ever too much."""
    rng = np.random.default_rng(2)
    truth, hits, draws = sparse(rng), 0, 300
    for _ in range(draws):
        listed = ListedCells(listed_synopsis(truth, epsilon, rng, declared=declared, threshold=threshold))
        hits += listed.fewest_rows(0.05) <= truth.sum() <= listed.most_rows(0.05)
    assert hits >= least_hits(draws, 0.9)
    assert hits >= 0.95 * draws


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "estimated"])
def test_estimates_lie_inside_their_intervals(declared: bool) -> None:
    """Centres moved within their cells, means, variances and sizes; at an end only where a bound of the domain is."""
    rng = np.random.default_rng(4)
    truth = np.zeros(GRID.cell_count, dtype=np.int64)
    for corner in ([1, 1, 1, 1], [6, 6, 6, 6], [1, 6, 1, 6]):
        spread = np.clip(np.array(corner) + np.rint(rng.normal(0, 0.7, (1500, 4))).astype(int), 0, M - 1)
        np.add.at(truth, np.ravel_multi_index(tuple(spread.T), (M,) * 4), 1)
    for _ in range(5):
        synopsis = listed_synopsis(truth, "1", rng, declared=declared)
        clusters = find_clusters(synopsis, 3, level=LEVEL, seed=0).clusters
        about = moments(synopsis, level=LEVEL)
        pairs = [
            (value, interval) for c in clusters for value, interval in zip(c.centre, c.centre_intervals, strict=True)
        ]
        pairs += [(value, interval) for c in clusters for value, interval in zip(c.centre, c.region, strict=True)]
        pairs += [(c.size, c.size_interval) for c in clusters]
        pairs += [(e.value, e.interval) for a in about.attributes for e in (a.mean, a.variance) if e.value is not None]
        assert all(interval.low < value < interval.high for value, interval in pairs)
        assert about.size.interval.low < (about.size.value or 0.0) < about.size.interval.high
