"""Entropies and mutual information: those of the exact counts, with intervals that hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from core.budget import Epsilon
from core.cells import DenseCells
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.errors import InvalidQuery
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.queries.conditional import conditional
from core.queries.information import information
from core.queries.t_log_t import estimator, t_log_t
from core.synopsis import Synopsis
from tests.core.queries.layered import whole_world
from tests.core.queries.worlds import least_hits, rows, shaken, synopsis_of

DRAWS = 60
DEEP = Domain((Number("a", 0, 10), Number("b", -5, 5), Number("c", 0, 1)))


def truth_of(table: NDArray[np.int64]) -> list[float]:
    """Entropies and what both share, in bits, by their definition."""
    shares = table / table.sum()

    def entropy(parts: NDArray[np.float64]) -> float:
        kept = parts[parts > 0.0]
        return float(-(kept * np.log2(kept)).sum())

    first, second, joint = (entropy(each) for each in (shares.sum(axis=1), shares.sum(axis=0), shares.ravel()))
    return [first, second, joint, first + second - joint]


def deep(size: int, m: int, *, dependent: bool) -> Synopsis:
    """Three attributes, so that the cells of two of them sum m draws each; the first two may be independent."""
    values = rows(size)
    if not dependent:
        values[:, 1] = np.random.default_rng(1).permutation(values[:, 1])
    third = np.random.default_rng(2).random(size)
    unit = np.column_stack([values[:, 0] / 10, (values[:, 1] + 5) / 10, third])
    places = np.minimum((unit * m).astype(np.int64), m - 1)
    counts = np.bincount(np.ravel_multi_index(tuple(places.T), (m,) * 3), minlength=m**3)
    return replace(synopsis_of(values, m), domain=DEEP, cells=DenseCells(Grid.uniform(m, 3), counts))


def table_of(exact: Synopsis) -> NDArray[np.int64]:
    """The exact counts of the first two attributes."""
    assert isinstance(exact.cells, DenseCells)
    table = exact.cells.table()
    return table if table.ndim == 2 else table.sum(axis=2)


@pytest.mark.parametrize(("epsilon", "draws"), [(1.0, 1), (0.2, 1), (3.0, 4), (1.0, 6)])
def test_the_estimate_of_t_log_t_is_off_by_its_bias_at_most(epsilon: float, draws: int) -> None:
    """By the probabilities of the noise, and not at all for single draws: the identity."""
    law = DiscreteLaplace(int(epsilon * 1e9)).summed(draws)
    estimate = estimator(law, 100)
    reach = np.arange(-4000, 4001)
    probabilities = np.array([law.probability(z) for z in range(4001)]) if draws > 1 else None
    if probabilities is None:
        probabilities = np.tanh(epsilon / 2.0) * np.exp(-epsilon * np.arange(4001))
    weights = probabilities[np.abs(reach)]
    off = [abs(float(weights @ estimate(t + reach)) - float(t_log_t(np.array(t)))) for t in range(60)]
    assert max(off) <= estimate.bias + 1e-6
    assert off[0] < 1e-6
    if draws == 1:
        assert estimate.terms == 1
        assert max(off) < 1e-6


WORLDS = {
    "two attributes": (lambda: synopsis_of(rows(20_000), 10), "1"),
    "few rows": (lambda: synopsis_of(rows(1000), 8), "1"),
    "much noise": (lambda: synopsis_of(rows(20_000), 12), "0.1"),
    "three attributes": (lambda: deep(20_000, 8, dependent=True), "1"),
    "three independent attributes": (lambda: deep(20_000, 8, dependent=False), "0.5"),
}


@pytest.mark.parametrize("name", WORLDS)
def test_intervals_cover_what_the_exact_counts_have(name: str) -> None:
    """Each of the four, dependent or not, with little noise or much."""
    make, epsilon = WORLDS[name]
    exact = make()
    truth = np.array(truth_of(table_of(exact)))
    hits = np.zeros(4)
    for seed in range(DRAWS):
        answer = information(shaken(exact, epsilon, seed), "a", "b", level=0.95)
        ends = np.array([(each.interval.low, each.interval.high) for each in answer.entropies])
        hits += (ends[:, 0] - 1e-9 <= truth) & (truth <= ends[:, 1] + 1e-9)
    assert hits.min() >= least_hits(DRAWS), hits


def test_noise_is_not_taken_for_information() -> None:
    """On average over releases of independent attributes the estimate is near zero; that of plain counts is not."""
    exact = synopsis_of(np.column_stack([rows(4000)[:, 0], rows(4000, seed=1)[:, 1]]), 10)
    truth, means, plain = truth_of(table_of(exact))[3], [], []
    for seed in range(DRAWS):
        release = shaken(exact, "0.5", seed)
        (estimate,) = [information(release, "a", "b", level=0.95).entropies.mutual]
        means.append((estimate.interval.low, estimate.value, estimate.interval.high))
        plain.append(truth_of(np.maximum(table_of(release), 0))[3])
    off = np.mean([value for _low, value, _high in means if value is not None]) - truth
    assert abs(off) < 0.3 * (np.mean(plain) - truth)


def test_what_drowns_in_noise_has_no_value() -> None:
    """Its interval is what is possible."""
    answer = information(shaken(synopsis_of(rows(60), 12), "0.05"), "a", "b", level=0.95)
    for each in answer.entropies:
        assert each.value is None
        assert each.interval.low < each.interval.high


def test_cells_taken_together_and_no_noise() -> None:
    """Grouped cells, the last of them smaller, have the entropies of their sums."""
    exact = synopsis_of(rows(3000), 10)
    answer = information(exact, "a", "b", level=0.95, cells=4)
    starts = [0, 3, 6, 9]
    table = np.add.reduceat(np.add.reduceat(table_of(exact), starts, axis=0), starts, axis=1)
    assert [each.value for each in answer.entropies] == pytest.approx(truth_of(table), abs=1e-6)


def test_numbers_of_rows_are_not_negative_and_the_largest_epsilon_has_an_answer() -> None:
    """However much noise there is; and where there is less of it than a double can hold."""
    few = shaken(synopsis_of(rows(3), 12), "0.05", 1)
    answer, shares = information(few, "a", "b", level=0.95), conditional(few, "a", "b", level=0.95)
    assert 0.0 == answer.rows.interval.low <= answer.rows.value <= answer.rows.interval.high
    assert (shares.rows_bounds[0] >= 0.0).all()
    assert ((shares.rows_bounds[0] <= shares.rows) & (shares.rows <= shares.rows_bounds[1])).all()
    certain = replace(synopsis_of(rows(3000), 10), epsilon=Epsilon.parse("999.999999999"))
    truth = truth_of(table_of(certain))
    entropies = information(certain, "a", "b", level=0.95).entropies
    assert [each.value for each in entropies] == pytest.approx(truth, abs=1e-6)
    assert conditional(certain, "a", "b", level=0.95).has_shares.any()


def test_what_cannot_be_asked_is_refused_in_a_sentence() -> None:
    """The same attribute twice, an unknown one, too many cells, too high a level for bounds."""
    exact = synopsis_of(rows(), 150)
    for names, word in ((("a", "a"), "two different"), (("a", "x"), "no attribute"), (("a", "b"), "too many")):
        with pytest.raises(InvalidQuery, match=word):
            information(exact, *names, level=0.95)
    with pytest.raises(InvalidQuery, match=r"answers levels up to 0\.999996 here"):
        information(whole_world("two numbers").synopsis, "x", "y", level=0.999999)


@pytest.mark.parametrize("form", ["leaves", "threshold"])
def test_other_forms_of_release_have_bounds_that_hold(form: str) -> None:
    """Of an adaptive release and of what a threshold left; some of them say something."""
    if form == "leaves":
        whole = whole_world("two numbers")
        answer = information(whole.synopsis, "x", "y", level=0.95, cells=4)
        assert answer.cells == (4, 4)
        x, y = (np.clip(((whole.values(name) - low) / 2.5).astype(int), 0, 3) for name, low in (("x", 0), ("y", -5)))
        table = np.zeros((4, 4), dtype=np.int64)
        np.add.at(table, (x, y), 1)
    else:
        exact = synopsis_of(rows(20_000), 6)
        release = shaken(exact, "1")
        assert isinstance(release.cells, DenseCells)
        answer = information(replace(release, cells=release.cells.reaching(6)), "a", "b", level=0.95)
        table = table_of(exact)
    for each, truth in zip(answer.entropies, truth_of(table), strict=True):
        assert each.interval.low <= truth <= each.interval.high
    assert any(each.value is not None for each in answer.entropies)
