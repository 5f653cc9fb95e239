"""`bench/peers`: FastLloyd and PE-means, written by ourselves, have the noise their guarantee takes, and no more."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy.integrate import quad

from bench.clusters import METHODS, Score, who_is_best
from bench.clustersets import mixture
from bench.peers import fast_lloyd, pe_means
from bench.peers.gaussian_noise import deviation
from bench.published import Floats
from core.clustering.kmeans import kmeans, nearest

GUARANTEES = [(0.1, 1e-4), (1.0, 1e-6), (1.0, 1e-10), (8.0, 1e-6)]
MIDDLES = np.array([[0.5, 0.5], [-0.5, 0.4], [0.3, -0.6]])


def _delta(epsilon: float, mu: float) -> float:
    """Delta of Gaussian noise, by integrating the difference of the densities of N(mu, 1) and N(0, 1)."""

    def excess(x: float) -> float:
        own, other = (np.exp(-((x - mean) ** 2) / 2) / sqrt(2 * np.pi) for mean in (mu, 0.0))
        return float(max(own - np.exp(epsilon) * other, 0.0))

    crossing = mu / 2 + epsilon / mu
    return float(quad(excess, crossing, crossing + 12, epsabs=0, limit=200)[0])


@pytest.mark.parametrize(("epsilon", "delta"), GUARANTEES)
def test_gaussian_noise_uses_up_delta_exactly(epsilon: float, delta: float) -> None:
    """By the densities, which the closed form does not use."""
    assert _delta(epsilon, 1 / deviation(epsilon, delta)) == pytest.approx(delta, rel=1e-5)


@pytest.mark.parametrize(("epsilon", "delta"), GUARANTEES)
@pytest.mark.parametrize(("n", "d"), [(1000, 2), (100_000, 16)])
def test_all_queries_of_fast_lloyd_use_up_delta_exactly(epsilon: float, delta: float, n: int, d: int) -> None:
    """Sums and numbers of all iterations, each with the squared ratio of its sensitivity to its noise."""
    noise = fast_lloyd.noise_for(n, d, 8, epsilon, delta)
    assert 2 <= len(noise.radii) <= 7
    squares = [(radius / each) ** 2 for radius, each in zip(noise.radii, noise.of_sums, strict=True)]
    squares += [1 / noise.of_numbers**2] * len(noise.radii)
    assert _delta(epsilon, sqrt(sum(squares))) == pytest.approx(delta, rel=1e-5)


@pytest.mark.parametrize(("epsilon", "delta"), GUARANTEES)
@pytest.mark.parametrize("d", [2, 16])
def test_all_generations_of_pe_means_use_up_delta_exactly(epsilon: float, delta: float, d: int) -> None:
    """A histogram each, of which a row changes one count by 1."""
    noise = pe_means.noise_for(d, epsilon, delta)
    mu = sqrt(pe_means.generations(d, epsilon)) / noise
    assert _delta(epsilon, mu) == pytest.approx(delta, rel=1e-5)


def test_a_row_changes_sums_by_the_radius_and_numbers_by_one_at_most() -> None:
    """Also where it is the only row of its cluster, and where it is far from all centres."""
    rng = np.random.default_rng(5)
    for _ in range(100):
        rows, centres = rng.uniform(-1, 1, (6, 3)), rng.uniform(-1, 1, (4, 3))
        all_sums, all_numbers = fast_lloyd.sums_and_numbers(rows, centres, 0.7)
        sums, numbers = fast_lloyd.sums_and_numbers(rows[1:], centres, 0.7)
        assert np.linalg.norm(all_sums - sums) <= 0.7 + 1e-12
        assert np.abs(all_numbers - numbers).sum() <= 1


def test_a_row_has_one_vote_for_its_nearest_candidate() -> None:
    """Although most candidates are not looked at."""
    rng = np.random.default_rng(6)
    rows = mixture(3000, 4, 1)
    population = np.concatenate([rng.uniform(-1, 1, (100, 4)), pe_means.mutated(np.repeat(rows[:8], 50, axis=0), rng)])
    exact = np.bincount(nearest(rows, population[None])[0][0], minlength=len(population))
    votes = pe_means.votes(rows.astype(np.float32), population)
    assert votes.sum() == len(rows)
    assert np.abs(votes - exact).sum() <= 6  # equally near in single precision


def test_what_is_released_has_that_noise() -> None:
    """Of one cluster at the origin, whose last centre is noise over N; and of candidates."""
    rows, rng = np.zeros((4000, 16)), np.random.default_rng(7)
    noise = fast_lloyd.noise_for(len(rows), 16, 1, 1.0, 1e-6)
    centres = [fast_lloyd.fast_lloyd_centres(rows, 1, 1.0, 1e-6, rng) for _ in range(50)]
    assert np.std(centres) * len(rows) == pytest.approx(noise.of_sums[-1], rel=0.1)
    released = pe_means.noisy_votes(rows.astype(np.float32), rng.uniform(0.1, 1, (4000, 16)), 40.0, rng)
    assert np.std(np.sort(released)[:-1]) == pytest.approx(40.0, rel=0.05)


def test_without_noise_the_centres_are_those_of_k_means() -> None:
    """At an epsilon that makes the noise of a count less than 0.01."""
    rng = np.random.default_rng(8)
    rows = MIDDLES[rng.integers(3, size=3000)] + 0.05 * rng.normal(size=(3000, 2))
    best = kmeans(rows, np.ones(len(rows)), 3, restarts=10, rng=rng).inertia
    assert _wcss(rows, fast_lloyd.fast_lloyd_centres(rows, 3, 1e6, 1e-6, rng)) < 1.001 * best
    assert _wcss(rows, pe_means.pe_means_centres(rows, 3, 1e6, 1e-6, rng)) < 1.05 * best


def test_places_are_folded_back_into_the_domain() -> None:
    """Reflected at the faces, however far outside."""
    places = np.array([-1.0, 0.3, 1.0, 1.2, -1.5, 3.1, -4.9])
    assert fast_lloyd.folded(places) == pytest.approx([-1.0, 0.3, 1.0, 0.8, -0.5, -0.9, -0.9])


def test_the_table_says_where_a_peer_is_better() -> None:
    """At d = 2 it is, at d = 4 none is, and at d = 8 the noise decides."""
    ratios = {2: (1.2, 1.1, 1.212, 1.11), 4: (1.0, 1.1, 1.01, 1.12), 8: (1.0, 1.2, 1.2, 1.0)}
    scores = []
    for d, (rugnik, peer, rugnik_again, peer_again) in ratios.items():
        for seed, (ours, best) in enumerate([(rugnik, peer), (rugnik_again, peer_again)]):
            each = dict.fromkeys(METHODS, 5.0) | {"rugnik": ours, "PE-means": best}
            scores += [Score("", 100, d, "1", method, seed, ratio, 1.0) for method, ratio in each.items()]
    assert [(row[0], row[-2]) for row in who_is_best(scores).rows] == [
        ("2", "PE-means"),
        ("4", "rugnik"),
        ("8", "level"),
    ]


def _wcss(rows: Floats, centres: Floats) -> float:
    return float(nearest(rows, centres[None])[1].sum())
