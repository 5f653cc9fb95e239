"""Noise of different cells, releases and processes: uncorrelated, and equal no more often than chance has it.

Files without a row are uploaded, so that the noisy counts are the noise itself. Spearman's rank correlation of n pairs
is about normal with variance 1 / (n - 1), whatever the law of the noise; how many of n pairs are equal is binomial.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context

import httpx
import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, norm, rankdata

from core.budget import Epsilon
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.discrete_laplace_sampler import draw_noise
from core.randomness import NoiseSource
from torture.services import place

EPSILON = "0.05"
CELLS = 2025
FORKS, WORKERS = 8, 4
_ORDER = {"epsilon": EPSILON, "clusters": 4, "rule": "eugkm", "size": {"declared": 405_000}}
_NOISE = NoiseSource()  # made before the fork, as in a worker that forks
Noise = NDArray[np.int64]


def of_a_service(releases: int) -> list[Noise]:
    """The noise of releases of a real service with four worker processes, asked for by as many clients."""
    with place("SQLite") as here:
        server = here.start(WORKERS)
        try:
            with here.client(server) as curator:
                attributes = [{"name": name, "lower": 0, "upper": 1} for name in ("x", "y")]
                body = {"name": "noise", "attributes": attributes, "budget": "20"}
                assert curator.post("/v1/datasets", json=body).status_code == httpx.codes.CREATED

            def released(_: int) -> Noise:
                with here.client(server) as curator:
                    release = curator.post("/v1/datasets/noise/releases", json=_ORDER).json()["id"]
                    headers = {"Content-Type": "text/csv"}
                    curator.put(f"/v1/releases/{release}/records", content=b"x,y\n", headers=headers).raise_for_status()
                    return np.array(curator.get(f"/v1/releases/{release}/synopsis").json()["counts"])

            with ThreadPoolExecutor(WORKERS) as clients:
                return list(clients.map(released, range(releases)))
        finally:
            server.stop()


def after_fork() -> list[Noise]:
    """The noise of processes that were forked off one that had drawn before, and what that one draws next."""
    _drawn(0)
    with get_context("fork").Pool(FORKS) as forks:
        drawn = forks.map(_drawn, range(FORKS), chunksize=1)
    return [*drawn, _drawn(0)]


def _drawn(_: int) -> Noise:
    return draw_noise(DiscreteLaplace.at(Epsilon.parse(EPSILON)), CELLS, _NOISE)


def suspicious(noises: Sequence[Noise], error: float) -> list[str]:
    """What is seen in noise that is not independent; with independent noise nothing, but for that probability."""
    tried = list(_pairs(noises))
    most = norm.isf(error / (4 * len(tried)))
    return [
        name
        for name, one, other in tried
        if _is_correlated(one, other, most) or _is_equal(one, other, error / len(tried))
    ]


def _pairs(noises: Sequence[Noise]) -> Iterator[tuple[str, Noise, Noise]]:
    """Every two releases, and in each release every cell with the next ones."""
    for (one, left), (other, right) in itertools.combinations(enumerate(noises), 2):
        yield f"releases {one} and {other}", left, right
    row = int(CELLS**0.5)
    for number, noise in enumerate(noises):
        for lag in (1, 2, row, len(noise) // 2):
            yield f"release {number}, cells {lag} apart", noise[:-lag], noise[lag:]


def _is_correlated(one: Noise, other: Noise, most: float) -> bool:
    ranks = np.corrcoef(rankdata(one), rankdata(other))[0, 1]
    return bool(abs(ranks) * np.sqrt(len(one) - 1) > most)


def _is_equal(one: Noise, other: Noise, error: float) -> bool:
    """Whether more values are the same than independent draws have in common."""
    p = np.exp(-float(EPSILON))
    same = ((1 - p) / (1 + p)) ** 2 * (1 + p**2) / (1 - p**2)
    return bool(binomtest(int((one == other).sum()), len(one), same, alternative="greater").pvalue < error / 2)
