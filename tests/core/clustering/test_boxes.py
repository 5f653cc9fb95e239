"""The mixture model on boxes: their expectations, their parts, where centres may move, and what layers say together."""

from __future__ import annotations

import numpy as np
import pytest

from core.clustering.boxes import Boxes
from core.clustering.fine_boxes import FineBoxes
from core.clustering.layered_likelihood import Above, LayeredLikelihood, Observed
from core.clustering.layout import GridLayout
from core.clustering.leaf_model import leaf_model
from core.clustering.likelihood import CellLikelihood, cell_likelihood
from core.clustering.posterior import posterior_of
from core.clustering.relocation import BoxRelocation
from core.clustering.sampler import Tempering
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.integer import Integer
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.randomness import seeded
from tests.core.clustering.seeded_layers import cells_of_release, seeded_release

# A partition of the square: its left half, and four quarters of its right half of different sizes.
LOW = np.array([[-1, -1], [0, -1], [0, 0.5], [0.25, -1], [0.25, 0.5]], dtype=np.float64)
HIGH = np.array([[0, 1], [0.25, 0.5], [0.25, 1], [1, 0.5], [1, 1]], dtype=np.float64)


def grid_boxes(m: int, d: int) -> Boxes:
    """The cells of a grid as boxes."""
    centres = Grid.uniform(m, d).centres()
    return Boxes.of(np.round(centres - 1 / m, 12), np.round(centres + 1 / m, 12))


@pytest.mark.parametrize(("m", "d"), [(7, 1), (5, 2), (3, 3)])
def test_boxes_that_are_the_cells_of_a_grid_have_its_expectations(m: int, d: int) -> None:
    """For many components at once; and the same share of the volume each."""
    rng = np.random.default_rng(0)
    mu, s, a = rng.uniform(-0.9, 0.9, (6, d)), rng.uniform(0.05, 0.5, (6, d)), rng.uniform(1, 50, 6)
    boxes, grid = grid_boxes(m, d), GridLayout.of(Grid.uniform(m, d))
    np.testing.assert_allclose(boxes.expected(mu, s, a), grid.expected(mu, s, a), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(boxes.to_fill, np.full(m**d, grid.to_fill[0]))
    assert boxes.cell_count == grid.cell_count


def test_a_box_expects_what_its_parts_expect() -> None:
    """Parts add up to their box, for a component that reaches beyond the bounds too; they lie around its centre."""
    boxes = Boxes.of(LOW, HIGH)
    fine = FineBoxes.of(boxes, np.zeros(LOW.shape, dtype=np.bool_))
    mu, s, a = np.array([[0.2, 0.4], [-0.9, 0.9]]), np.array([[0.1, 0.3], [0.4, 0.4]]), np.array([10.0, 20.0])
    parts = fine.by_cell(fine.expected(mu, s, a))
    assert parts.shape == (2, 5, 4)
    np.testing.assert_allclose(parts.sum(axis=2), boxes.expected(mu, s, a))
    np.testing.assert_allclose(boxes.expected(mu, s, a).sum(axis=1), a)
    np.testing.assert_allclose(fine.by_cell(fine.centres().T).mean(axis=2).T, boxes.centres)
    assert fine.by_axis(parts).shape == (2, 20)


def test_rows_of_a_single_value_lie_at_the_centre_of_their_box() -> None:
    """Its parts have no offset along that axis, and their usual one along the other."""
    single = np.array([[True, False]] * 5)
    fine = FineBoxes.of(Boxes.of(LOW, HIGH), single)
    assert not fine.offsets(0).any()
    np.testing.assert_allclose(np.abs(fine.offsets(1)), (HIGH - LOW)[:, 1:] / 4 * np.ones((5, 4)))


def test_leaves_of_whole_numbers_know_their_single_values() -> None:
    """Of 40 whole numbers, half of the rows at two of them: these two become leaves of their own."""
    rng = np.random.default_rng(0)
    values = np.where(rng.random(4000) < 0.5, rng.choice([7, 30], 4000), rng.integers(0, 40, 4000))
    release = seeded_release(values[:, None].astype(np.float64), "2", domain=Domain((Integer("a", 0, 39),)))
    model = leaf_model(release, cells_of_release(release))
    assert isinstance(model.fine, FineBoxes)
    widths = np.diff(np.stack([model.fine.cells.low, model.fine.cells.high]), axis=0)[0]
    assert np.array_equal(model.fine.single, np.isclose(widths, 2 / 40))
    assert model.fine.single.any()


def test_a_relocated_centre_has_the_density_of_its_box() -> None:
    """Places fall into boxes by weight; the log density there is that of the box, known again from the place alone."""
    counts = np.array([5.0, 40.0, -3.0, 0.0, 15.0])
    boxes = Boxes.of(LOW, HIGH)
    relocation = BoxRelocation(counts, boxes, 60.0)
    places, logs = relocation.draw((200, 50), seeded(1))
    flat = places.reshape(-1, 2)
    inside = ((flat[:, None] >= LOW) & (flat[:, None] < HIGH)).all(axis=2)
    assert inside.sum(axis=1).tolist() == [1] * len(flat)
    np.testing.assert_allclose(inside.mean(axis=0), relocation.weights, atol=0.03)
    np.testing.assert_allclose(relocation.log_at(flat), logs.ravel())
    density = relocation.weights / np.prod(HIGH - LOW, axis=1)
    np.testing.assert_allclose(logs.ravel() - np.log(density[inside.argmax(axis=1)]), np.log(4.0))


def test_without_data_the_sampler_gives_back_its_prior_on_boxes() -> None:
    """Of any sizes, and with a second layer that overlaps them: amounts, background and centres of the prior."""
    size, k, nothing = 300.0, 3, np.zeros((6, 5))
    flat = CellLikelihood(unit=1, log=nothing, mean=nothing, variance=nothing)
    layout = Boxes.of(np.vstack([LOW, [[-1, -1]]]), np.vstack([HIGH, [[1, 1]]]))
    relocation = BoxRelocation(np.arange(5.0) ** 2, Boxes.of(LOW, HIGH), size)
    chains = Tempering(flat, layout, relocation, size=size, k=k, replicas=40, rng=seeded(3))
    kept = [mixtures for mixtures, _expected in chains.run(300, burn_in=60, every=8)]
    amounts = np.concatenate([mixtures.a for mixtures in kept])
    mu, s = (np.concatenate([getattr(mixtures, name) for mixtures in kept]) for name in ("mu", "s"))
    assert amounts.mean() == pytest.approx(size / k, rel=0.06)
    assert np.concatenate([mixtures.a0 for mixtures in kept]).mean() == pytest.approx(0.05 * size, rel=0.12)
    assert np.abs(mu.mean(axis=(0, 1))).max() < 0.04
    assert ((mu / (1 - 2 * s)) ** 2).mean() == pytest.approx(1 / 3, rel=0.05)


def layered_likelihood() -> tuple[LayeredLikelihood, list[CellLikelihood]]:
    """Three leaves, of which one has a very large count, below one coarse cell; and the tables of each part."""
    fine, wide = DiscreteLaplace(10**9), DiscreteLaplace(2 * 10**8)
    counts, above = np.array([3, 5000, 8]), np.array([4990])
    likelihood = LayeredLikelihood(
        [Observed(np.arange(3), counts, fine), Observed(np.array([3]), above, wide)],
        3,
        [Above(np.array([0]), above.astype(np.float64), np.array([wide.variance]))],
    )
    return likelihood, [
        cell_likelihood(c, law) for c, law in ((counts[[0, 2]], fine), (counts[[1]], fine), (above, wide))
    ]


def test_the_likelihoods_of_all_layers_multiply() -> None:
    """Small counts are tabulated in rows though a large one is beside them."""
    likelihood, (small, large, above) = layered_likelihood()
    expected = np.array([[4.0, 4900.0, 6.0, 4910.0], [1.0, 5200.0, 20.0, 5221.0]])
    assert small.unit == 1
    assert large.unit > 1
    total = small.log_likelihood(expected[:, [0, 2]]) + large.log_likelihood(expected[:, [1]] / large.unit)
    np.testing.assert_allclose(
        likelihood.log_likelihood(expected), total + above.log_likelihood(expected[:, [3]] / above.unit)
    )


def test_a_count_above_moves_its_leaves_as_a_conditional_mean_does() -> None:
    """Against the formula with matrices: m + C 1 (y - 1'm) / (1'C 1 + v), and the diagonal of its covariance."""
    likelihood, (small, large, _above) = layered_likelihood()
    expected = np.array([[4.0, 4900.0, 6.0, 4910.0]])
    mean, variance = np.empty(3), np.empty(3)
    own = small.moments(expected[:, [0, 2]])
    mean[[0, 2]], variance[[0, 2]] = own[0][0], own[1][0]
    of_large = large.moments(expected[:, [1]] / large.unit)
    mean[1], variance[1] = of_large[0][0, 0] * large.unit, of_large[1][0, 0] * large.unit**2
    C, v = np.diag(variance), DiscreteLaplace(2 * 10**8).variance
    gain = C.sum(axis=1) / (variance.sum() + v)
    moved, left = likelihood.moments(expected)
    np.testing.assert_allclose(moved[0], mean + gain * (4990 - mean.sum()))
    np.testing.assert_allclose(left[0], np.diag(C - np.outer(gain, C.sum(axis=0))))


def test_the_posterior_mean_is_nearer_to_the_rows_than_the_fused_leaves_are() -> None:
    """Squared error on two releases of normal groups: less than 0.7 of that of the estimates, none of them negative."""
    rng = np.random.default_rng(0)
    middles = np.array([[0.25, 0.3], [0.7, 0.75], [0.7, 0.2]])
    values = middles[rng.integers(3, size=1000)] + rng.normal(0, 0.05, (1000, 2))
    ours, theirs = 0.0, 0.0
    for seed in range(2):
        release = seeded_release(values, "0.4", seed)
        cells = cells_of_release(release)
        density = posterior_of(leaf_model(release, cells), 3, rng=seeded(0))
        low, high = (cells.leaves.low + 1) / 2, (cells.leaves.high + 1) / 2
        exact = ((values[:, None] >= low) & (values[:, None] < high)).all(axis=2).sum(axis=0)
        ours += np.square(density.fine.by_cell(density.weights[None])[0].sum(axis=1) - exact).sum()
        theirs += np.square(np.maximum(cells.estimates, 0.0) - exact).sum()
    assert ours < 0.7 * theirs
