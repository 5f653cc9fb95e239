"""What a plan promises: errors that follow from the noise, and an epsilon that meets a target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.budget import Epsilon
from core.errors import InvalidOrder, TooManyCells
from core.forecast import epsilon_for_count_error, forecast, size_warning
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.discrete_laplace_sampler import draw_noise
from core.plan import DeclaredSize, EstimatedSize, Order, Rule
from core.randomness import NoiseSource
from tests.core.rows import numbers

ORDER = Order(attributes=numbers(2), epsilon=Epsilon.parse("0.5"), clusters=4, size=DeclaredSize(5000))


def test_the_predicted_count_error_is_met_by_nineteen_in_twenty() -> None:
    """Sums of real noise over a quarter of the cells stay within the prediction 95 % of the time."""
    prediction = forecast(ORDER, max_cells=10**6)
    assert prediction is not None
    cells = -(-prediction.plan.grid.cell_count // 4)
    draws = draw_noise(DiscreteLaplace.at(ORDER.epsilon), 4000 * cells, NoiseSource()).reshape(4000, cells).sum(axis=1)
    share = float(np.mean(np.abs(draws) <= prediction.count_error))
    assert 0.93 < share < 0.97


def test_a_solved_epsilon_meets_its_target() -> None:
    """The error at the solved epsilon is within the target; a tenth less epsilon misses it."""
    for target in (20.0, 50.0, 300.0):
        epsilon = epsilon_for_count_error(ORDER, count_error=target, max_cells=10**6)
        met = forecast(replace(ORDER, epsilon=epsilon), max_cells=10**6)
        missed = forecast(replace(ORDER, epsilon=Epsilon(epsilon.nano * 9 // 10)), max_cells=10**6)
        assert met is not None
        assert missed is not None
        assert met.count_error <= target < missed.count_error


def test_an_impossible_target_is_refused() -> None:
    """No guess, no epsilon that is large enough, or a grid that would be too large: a sentence each."""
    with pytest.raises(InvalidOrder, match="guess"):
        epsilon_for_count_error(replace(ORDER, size=EstimatedSize()), count_error=10, max_cells=10**6)
    with pytest.raises(InvalidOrder):
        epsilon_for_count_error(ORDER, count_error=1e-30, max_cells=10**6)


def test_an_estimate_without_a_guess_has_no_forecast_but_is_still_checked() -> None:
    """Whether K fits the limit on cells is known without any size."""
    order = replace(ORDER, size=EstimatedSize())
    assert forecast(order, max_cells=100) is None
    with pytest.raises(TooManyCells):
        forecast(order, max_cells=3)


def test_warnings_say_what_to_expect() -> None:
    """A weak signal, a grid below or above the wanted one, an epsilon outside Theorem 2, a declared size."""
    weak = forecast(replace(ORDER, size=DeclaredSize(10)), max_cells=10**6)
    assert weak is not None
    assert any("weak" in warning for warning in weak.warnings)
    coarse = forecast(replace(ORDER, size=EstimatedSize(guess=10**9)), max_cells=100)
    assert coarse is not None
    assert any("coarser" in warning for warning in coarse.warnings)
    raised = forecast(replace(ORDER, size=EstimatedSize(guess=1)), max_cells=10**6)
    assert raised is not None
    assert any("apart" in warning for warning in raised.warnings)
    tiny = forecast(replace(ORDER, epsilon=Epsilon(1000)), max_cells=10**6)
    assert tiny is not None
    assert not tiny.inside_theorem
    assert size_warning(ORDER)
    assert size_warning(replace(ORDER, size=EstimatedSize())) is None


def test_a_layered_plan_is_forecast_by_its_layers() -> None:
    """Not by the few cells of its base: memory, deviation and errors are those of the leaves; a target is met."""
    order = replace(ORDER, rule=Rule.ADAPTIVE)
    layered = forecast(order, max_cells=10**6)
    assert layered is not None
    assert layered.plan.is_layered
    assert layered.memory_bytes > 16 * layered.plan.grid.cell_count
    assert layered.expected_deviation is not None
    assert layered.plan.expected_deviation is not None
    assert layered.expected_deviation < layered.plan.expected_deviation
    assert any("base" in warning for warning in layered.warnings)
    assert not any("coarser" in warning for warning in layered.warnings)
    epsilon = epsilon_for_count_error(order, count_error=60, max_cells=10**6)
    met = forecast(replace(order, epsilon=epsilon), max_cells=10**6)
    assert met is not None
    assert met.count_error is not None
    assert met.count_error <= 60
