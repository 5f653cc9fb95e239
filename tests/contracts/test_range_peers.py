"""The peers that range counts are compared with are what their papers say: grids, budgets, noise and answers."""

from __future__ import annotations

from math import exp, log, log2, sqrt

import numpy as np
import pytest

from bench.peers.privtree import PrivTree, Scales, privtree
from bench.peers.uniform_grid import UniformGrid, cells_per_axis, uniform_grid
from bench.range_workload import exact_counts, ranges_of

NO_NOISE = 1e9
SIGMAS = 5.0
SPLIT = 14 / 3  # lambda of PrivTree at epsilon 1 with two attributes: 7/3 over the half that the tree gets
DECAY = SPLIT * log(4)


def rows_of(size: int, d: int) -> np.ndarray:
    return np.clip(np.random.default_rng(0).normal(0.4, 0.2, (size, d)), 0.0, 1.0)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_privtree_without_noise_counts_exactly(d: int) -> None:
    """Every box with a row is split as deep as it goes, so a range cuts no leaf that has rows."""
    rows, rng = rows_of(40, d), np.random.default_rng(1)
    ranges = ranges_of("random", d, rng)
    answers = privtree(rows, NO_NOISE, rng).count(ranges)
    assert answers == pytest.approx(exact_counts(rows, ranges), abs=1e-3)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_the_leaves_of_privtree_are_the_whole_space_without_overlap(d: int, epsilon: float) -> None:
    """Rows on the upper bound have a leaf too."""
    tree = privtree(rows_of(3000, d), epsilon, np.random.default_rng(2))
    assert len(tree.counts) > 1
    assert (tree.sides**d).sum() == pytest.approx(1)
    points = np.random.default_rng(3).random((200, d))
    owners = ((points[:, None] >= tree.lower) & (points[:, None] < tree.lower + tree.sides[:, None])).all(axis=2)
    assert (owners.sum(axis=1) == 1).all()
    assert tree.count(np.array([[[0.0] * d, [1.0] * d]])) == pytest.approx(tree.counts.sum())


def worst_loss(scales: Scales) -> float:
    """The most that a row changes the log of the probability of a path of splits, over its number of rows."""
    rows = np.arange(1, 400)[:, None]
    depths = np.arange(200)

    def log_split(count: np.ndarray) -> np.ndarray:
        biased = np.maximum(count - depths * scales.decay, -scales.decay) / scales.split
        return np.where(biased > 0, np.log1p(-np.exp(-np.abs(biased)) / 2), biased - log(2))

    return float((log_split(rows) - log_split(rows - 1)).sum(axis=1).max())


@pytest.mark.parametrize("epsilon", [1.0, 0.1])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_parts_of_privtree_cost_no_more_than_epsilon(d: int, epsilon: float) -> None:
    """The loss of the tree is the sum over a path, computed here; with less decay by depth it would be too large."""
    scales = Scales.of(epsilon, d)
    assert scales.leaf == pytest.approx(2 / epsilon)
    assert 0.5 * epsilon < worst_loss(scales) + 1 / scales.leaf <= epsilon + 1e-9
    less = Scales(scales.split, scales.decay / 3, scales.leaf)
    assert worst_loss(less) + 1 / scales.leaf > epsilon


def depth_of(tree: PrivTree, point: tuple[float, float]) -> float:
    inside = (tree.lower <= point).all(axis=1) & (tree.lower + tree.sides[:, None] > point).all(axis=1)
    return -log2(float(tree.sides[inside].item()))


def test_privtree_splits_as_often_as_its_noise_says() -> None:
    """100 equal rows at epsilon 1: the mean depth of their leaf is that of the law with lambda = 14/3."""
    biased = np.maximum(100 - np.arange(30) * DECAY, -DECAY)
    split = np.where(biased > 0, 1 - np.exp(-np.abs(biased) / SPLIT) / 2, np.exp(-np.abs(biased) / SPLIT) / 2)
    reached = np.cumprod(split)
    mean, square = reached.sum(), ((2 * np.arange(1, 31) - 1) * reached).sum()
    rng, rows = np.random.default_rng(4), np.full((100, 2), 0.3)
    depths = [depth_of(privtree(rows, 1.0, rng), (0.3, 0.3)) for _ in range(400)]
    assert abs(np.mean(depths) - mean) < SIGMAS * sqrt((square - mean**2) / len(depths))


def test_empty_boxes_of_privtree_end() -> None:
    """A box without rows, below the root, is split with probability 1 / (2 beta), which is 1/8."""
    rng, none = np.random.default_rng(5), np.zeros((0, 2))
    leaves = np.array([len(privtree(none, 1.0, rng).counts) for _ in range(4000)])
    splits = (leaves - 1) // 3
    boxes, split = (leaves + splits - 1).sum(), (splits - (splits > 0)).sum()
    assert abs(split / boxes - 1 / 8) < SIGMAS * sqrt(1 / 8 * 7 / 8 / boxes)


def test_the_leaves_of_privtree_have_the_noise_of_half_of_epsilon() -> None:
    """The mean of |noise| is 2 / epsilon."""
    rows = rows_of(100_000, 2)
    tree = privtree(rows, 1.0, np.random.default_rng(6))
    exact = exact_counts(np.minimum(rows, 1 - 1e-12), np.stack([tree.lower, tree.lower + tree.sides[:, None]], axis=1))
    noise = np.abs(tree.counts - exact)
    assert len(noise) > 1000
    assert abs(noise.mean() - 2) < SIGMAS * 2 / sqrt(len(noise))


@pytest.mark.parametrize(("size", "epsilon", "d", "cells"), [(100_000, 1, 2, 100), (100_000, 0.1, 2, 32), (5, 1, 3, 1)])
def test_uniform_grid_has_the_cells_of_its_paper(size: int, epsilon: float, d: int, cells: int) -> None:
    """sqrt(N epsilon / 10) per axis with two attributes, and never none."""
    assert cells_per_axis(size, epsilon, d) == cells


def test_uniform_grid_without_noise_counts_whole_cells_exactly_and_cut_cells_by_their_share() -> None:
    """On edges of cells the counts of rows; within a cell its part of the volume."""
    rows = rows_of(1000, 2)
    grid = uniform_grid(rows, 1e4, np.random.default_rng(7))
    edges = np.sort(np.random.default_rng(8).integers(0, 1001, (50, 2, 2)), axis=1) / 1000
    assert grid.counts.shape == (1000, 1000)
    assert np.rint(grid.counts).sum() == 1000
    assert grid.count(edges) == pytest.approx(exact_counts(rows, edges), abs=2)
    cut = np.array([[[0.0, 0.25], [0.5, 0.75]], [[0.75, 0.0], [1.0, 1.0]], [[0.0, 0.0], [0.25, 0.125]]])
    assert UniformGrid(np.array([[8.0, 0.0], [0.0, 4.0]])).count(cut) == pytest.approx([4, 2, 1])


def test_uniform_grid_has_the_noise_of_its_whole_epsilon() -> None:
    """The mean of |noise| is 1 / epsilon."""
    rows = np.zeros((100_000, 2))
    noise = np.abs(np.delete(uniform_grid(rows, 0.5, np.random.default_rng(9)).counts.ravel(), 0))
    assert abs(noise.mean() - 2) < SIGMAS * 2 / sqrt(len(noise))
    assert abs((noise > 4).mean() - exp(-2)) < SIGMAS * sqrt(exp(-2) / len(noise))
