"""Black-box audit: the measured privacy loss is at most the claimed epsilon, and close to it.

Event, fixed in advance: "noisy count >= 1", for neighbours with 0 and 1 records in a cell. At epsilon e its
probabilities are 1 / (1 + exp(-e)) and exp(-e) / (1 + exp(-e)): their ratio is exp(e), the most that e-DP allows, so
this event shows the whole loss. Every cell of a release is one independent trial of it.

The lower bound on epsilon is log(lower bound of the one) - log(upper bound of the other), each a Clopper-Pearson bound
at half of the error ALPHA. It exceeds the true loss with probability ALPHA at most (union bound), whatever the sample.
The claim is met with equality, so ALPHA is the rate of false alarms: 10^-6 by construction, and about 10^-10 in truth,
because both bounds have to fail together. A confidence of 99.9 % would ring for nothing once in 10^5 runs.

How close it comes. With n cells a side the bound lies below the truth by z (a + b) / sqrt(n), where z = 4.89 for
ALPHA / 2, a = exp(-e / 2) = 0.61 and b = exp(e / 2) = 1.65 are the relative standard deviations of the two counts at
n = 1, and it varies by sqrt(a^2 + b^2) / sqrt(n).
- n = 10^5, e = 1: 0.965 with a standard deviation of 0.006; below 0.9 is eleven of them away.
- n = 10^6, scale 5 % too small (e = 1.0526): 1.0415 with a standard deviation of 0.002; at or below 1 is 23 away.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta

from core.budget import Epsilon
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.histogram import Counts
from core.plan import DeclaredSize, Order, Plan
from core.randomness import NoiseSource
from core.records import OutOfRange
from core.release import release
from tests.statistical.laws import Sampler, ours, scaled

ALPHA = 1e-6


def epsilon_lower_bound(likely: int, unlikely: int, trials: int) -> float:
    """A lower bound on log(P / Q) from how often the event happened under P and under Q; fails with at most ALPHA."""
    low = beta.ppf(ALPHA / 2, likely, trials - likely + 1)
    high = beta.ppf(1 - ALPHA / 2, unlikely + 1, trials - unlikely)
    return math.log(low / high)


def released(count: int, epsilon: str, m: int, d: int) -> np.ndarray:
    """The noisy counts of a release in which every cell holds `count` records."""
    order = Order(dimensions=d, epsilon=Epsilon.parse(epsilon), clusters=1, size=DeclaredSize(1000))
    grid = Grid.uniform(m, d)
    synopsis = release(
        Counts(grid, np.full(grid.cell_count, count)),
        Plan(order=order, size=1000, wanted=m, grid=grid),
        NoiseSource(),
        domain=Domain(tuple(Number(f"x{i}", 0, 1) for i in range(d))),
        out_of_range=OutOfRange.CLIP,
        dataset="audit",
        release_id="1",
    )
    return synopsis.counts


def audit(sampler: Sampler, claim: str, cells: int) -> float:
    """The lower bound for a sampler that claims an epsilon, from that many cells a side."""
    likely, unlikely = (int((count + sampler(cells, Epsilon.parse(claim)) >= 1).sum()) for count in (1, 0))
    return epsilon_lower_bound(likely, unlikely, cells)


def test_a_release_loses_no_more_than_it_claims_and_no_less() -> None:
    """From 10^5 cells a side at epsilon 1 the lower bound on the loss is at most 1 and above 0.9."""
    with_record, without_record = released(1, "1", 10, 5), released(0, "1", 10, 5)
    bound = epsilon_lower_bound(int((with_record >= 1).sum()), int((without_record >= 1).sum()), 10**5)
    assert 0.9 < bound <= 1.0


def test_a_scale_five_per_cent_too_small_is_caught() -> None:
    """From 10^6 cells a side noise at 0.95 of its scale is shown to lose more than 1, and the right noise is not."""
    assert audit(scaled(20, 19), "1", 10**6) > 1.0
    assert 0.97 < audit(ours, "1", 10**6) <= 1.0


def test_a_sensitivity_of_one_half_is_caught() -> None:
    """Noise at twice the epsilon is shown to lose about twice the claim."""
    assert audit(scaled(2, 1), "1", 10**5) > 1.85


@pytest.mark.parametrize("text", ["0.1", "0.5", "2"])
def test_the_claim_is_met_at_other_epsilons(text: str) -> None:
    """The bound is at most the claim, and short of it by no more than twice what the sample size explains."""
    e, cells = float(text), 10**6
    margin = 4.9 * (math.exp(-e / 2) + math.exp(e / 2)) / math.sqrt(cells)
    assert e - 2 * margin < audit(ours, text, cells) <= e


def test_the_bound_has_a_known_answer() -> None:
    """Never in 10 trials against always: the Clopper-Pearson bounds are powers of the error, by hand."""
    extreme = (ALPHA / 2) ** (1 / 10)
    assert epsilon_lower_bound(10, 0, 10) == pytest.approx(math.log(extreme / (1 - extreme)))
