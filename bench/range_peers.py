"""The peers of `bench.ranges`: released counts of other methods, each of which answers the same ranges.

diffprivlib is in an environment of its own (`bench.peers.environments`) and counts on two grids: with the cells of
Uniform Grid, and with the 10 bins per axis that its function takes when it is given none. Its noisy counts are never
below zero. The other methods are our own code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from bench.peers import environments
from bench.peers.adaptive_grid import adaptive_grid
from bench.peers.privtree import privtree
from bench.peers.uniform_grid import UniformGrid, cells_per_axis, uniform_grid
from bench.published import Floats

ADAPTIVE_GRID = "AG"
_USUAL_BINS = 10


class Release(Protocol):
    """What a peer has published."""

    def count(self, ranges: Floats) -> Floats:
        """The estimate of each range, given as (ranges, 2, d)."""


def peer_releases(points: Floats, epsilon: float, draws: int, rng: np.random.Generator) -> Iterator[dict[str, Release]]:
    """For each draw, a release of every peer, by its name."""
    n, d = points.shape
    for ug_bins, usual_bins in _diffprivlib(points, epsilon, (cells_per_axis(n, epsilon, d), _USUAL_BINS), draws):
        yield {
            ADAPTIVE_GRID: adaptive_grid(points, epsilon, rng),
            "PrivTree": privtree(points, epsilon, rng),
            "UG": uniform_grid(points, epsilon, rng),
            "histogramdd, UG's bins": ug_bins,
            f"histogramdd, {_USUAL_BINS} bins": usual_bins,
        }


def _diffprivlib(points: Floats, epsilon: float, bins: tuple[int, ...], draws: int) -> list[list[UniformGrid]]:
    """diffprivlib's histogramdd, for each draw with each number of bins per axis; all in one process."""
    releases = [{"epsilon": epsilon, "bins": each, "seed": draw} for draw in range(draws) for each in bins]
    made = environments.run("diffprivlib", "diffprivlib_histogramdd.py", {"rows": points}, releases=releases)
    grids = [UniformGrid(made[str(number)]) for number in range(len(releases))]
    return [grids[first : first + len(bins)] for first in range(0, len(grids), len(bins))]
