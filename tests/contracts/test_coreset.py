"""`bench/peers/coreset.py`: the peer that we wrote ourselves has the noise that its guarantee takes, and no more."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest
from scipy.integrate import quad

from bench.peers.coreset import DEPTH, Floats, Noise, calibrated, coreset, coreset_centres
from bench.published import Setting, dataset
from core.clustering.kmeans import kmeans, nearest

GUARANTEES = [(0.1, 1e-4), (1.0, 1e-4), (1.0, 1e-10), (8.0, 1e-6)]
SETTING = Setting(4, 800, 2)


def _gauss(alpha: float, epsilon: float) -> float:
    """Delta of the Gaussian mechanism at sensitivity 1, by integrating the difference of the two densities."""

    def excess(x: float) -> float:
        p, q = (np.exp(-(((x - shift) / alpha) ** 2) / 2) / (alpha * sqrt(2 * np.pi)) for shift in (0.0, 1.0))
        return float(max(p - np.exp(epsilon) * q, 0.0))

    boundary = 0.5 - epsilon * alpha**2  # where the densities cross; the excess is below it
    return float(quad(excess, boundary - 12 * alpha, boundary, epsabs=0, limit=200)[0])


@pytest.mark.parametrize(("epsilon", "delta"), GUARANTEES)
def test_one_sum_and_a_count_at_each_level_use_up_delta_exactly(epsilon: float, delta: float) -> None:
    """By composing the losses of the parts one by one, which the closed form does not do."""
    noise = calibrated(epsilon, delta)
    up = 1 / (1 + np.exp(-noise.loss))
    chances = np.ones(1)
    for _level in range(DEPTH + 1):
        chances = np.convolve(chances, [1 - up, up])
    losses = noise.loss * (2 * np.arange(len(chances)) - (DEPTH + 1))
    composed = sum(chance * _gauss(noise.alpha, epsilon - loss) for chance, loss in zip(chances, losses, strict=True))
    assert composed == pytest.approx(delta, rel=1e-5)
    assert _gauss(noise.alpha, epsilon) < composed < _gauss(noise.alpha, epsilon - (DEPTH + 1) * noise.loss)


def test_sums_and_counts_of_the_coreset_have_that_noise() -> None:
    """All rows at the origin, so that the noisy sum of a leaf is noise alone."""
    rows, noise, rng = np.zeros((10_000, 2)), calibrated(1.0, 1e-6), np.random.default_rng(1)
    sums: list[Floats] = []
    counts: list[float] = []
    for _ in range(60):
        points, weights = coreset(rows, 4, noise, rng)
        sums.append(points * weights[:, None])
        counts.append(float(weights.max()) - len(rows))
    assert np.std(np.concatenate(sums)) == pytest.approx(noise.alpha * sqrt(2), rel=0.1)
    assert np.mean(np.abs(counts)) == pytest.approx(1 / noise.loss, rel=0.3)
    assert Noise(2.0).count(np.zeros(50_000, dtype=np.int64), rng).std() == pytest.approx(sqrt(2) * 40, rel=0.03)


def test_without_noise_every_row_counts_once_and_the_centres_are_those_of_the_rows() -> None:
    """Clusters in different directions from the origin: lines through it cut the space, and cannot cut along a ray."""
    rng = np.random.default_rng(2)
    middles = np.array([[0.7, 0.0], [-0.4, 0.6], [-0.4, -0.6]])
    rows = middles[rng.integers(3, size=600)] + 0.05 * rng.normal(size=(600, 2))
    points, weights = coreset(rows, 3, calibrated(inf, 1e-6), rng)
    assert weights.sum() == len(rows)
    assert weights @ points == pytest.approx(rows.sum(axis=0))
    best = kmeans(rows, np.ones(len(rows)), 3, restarts=10, rng=rng).inertia
    assert _wcss(rows, coreset_centres(rows, 3, inf, 1e-6, rng)) < 1.01 * best


def test_more_epsilon_is_better() -> None:
    """On the paper's data."""
    rows, rng, delta = dataset(SETTING, 100), np.random.default_rng(3), 1 / SETTING.N**2
    each = [
        np.mean([_wcss(rows, coreset_centres(rows, SETTING.K, epsilon, delta, rng)) for _ in range(40)])
        for epsilon in (0.1, 1.0, 10.0, inf)
    ]
    assert each == sorted(each, reverse=True)


def test_there_are_as_many_centres_as_clusters() -> None:
    """At an epsilon so small that most trees have fewer leaves."""
    rows, noise = dataset(SETTING, 100), calibrated(0.01, 1e-6)
    rng, again = np.random.default_rng(4), np.random.default_rng(4)
    assert min(len(coreset(rows, SETTING.K, noise, again)[0]) for _ in range(10)) < SETTING.K
    for _ in range(10):
        assert coreset_centres(rows, SETTING.K, 0.01, 1e-6, rng).shape == (SETTING.K, SETTING.d)


def _wcss(rows: Floats, centres: Floats) -> float:
    return float(nearest(rows, centres[None])[1].sum())
