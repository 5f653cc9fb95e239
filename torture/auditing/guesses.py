"""A lower bound on epsilon from guesses who is in the data, however the noise of one depends on that of another.

Each unit of interest is in the file or not by a fair coin of its own. From the release somebody guesses, for as many
units as they like, which way the coin fell. If the release is epsilon-DP, then of r guesses the number of right ones is
stochastically at most Binomial(r, exp(epsilon) / (1 + exp(epsilon))), whatever the guesses are made from (Steinke, Nasr
and Jagielski 2023, "Privacy auditing with one (1) training run", the theorem for pure DP). With v right guesses the
Clopper-Pearson lower bound on that probability gives one on epsilon.

A guess is "in" from a score on and "out" up to another. Both limits are chosen on one half of the releases, and the
bound is worked out on the other, so the choice costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

Scores = NDArray[np.float64]
Coins = NDArray[np.bool_]
_MOST_LIMITS = 25


@dataclass(frozen=True, slots=True)
class Rule:
    """Guess "out" up to `low`, "in" from `high` on, and nothing between."""

    low: float
    high: float

    def right(self, scores: Scores, coins: Coins) -> tuple[int, int]:
        """How many guesses are right, and how many there are."""
        inside, outside = scores >= self.high, scores <= self.low
        return int((inside & coins).sum() + (outside & ~coins).sum()), int(inside.sum() + outside.sum())


def lower_bound(right: int, guesses: int, error: float) -> float:
    """A lower bound on epsilon that is wrong with at most this probability."""
    if right == 0:
        return -math.inf
    low = float(beta.ppf(error, right, guesses - right + 1))
    return math.log(low / (1 - low))


def best_rule(scores: Scores, coins: Coins, error: float) -> Rule:
    """The limits that show most in these releases."""
    seen = np.unique(scores[np.isfinite(scores)])
    limits = np.unique(np.quantile(seen, np.linspace(0, 1, _MOST_LIMITS), method="nearest"))
    usual = np.unique(np.quantile(scores[np.isfinite(scores)], np.linspace(0, 1, _MOST_LIMITS), method="nearest"))
    limits = np.unique(np.concatenate([limits, usual]))
    nothing = Rule(-math.inf, math.inf)  # where all scores are the same
    rules = [nothing, *(Rule(low, high) for low in limits for high in limits if low < high)]
    return max(rules, key=lambda rule: audited_by(rule, scores, coins, error))


def audited(scores: Scores, coins: Coins, error: float) -> float:
    """The lower bound on epsilon from releases, one a row: limits from the first half, guesses in the second."""
    half = len(scores) // 2
    rule = best_rule(scores[:half], coins[:half], error)
    return audited_by(rule, scores[half:], coins[half:], error)


def audited_by(rule: Rule, scores: Scores, coins: Coins, error: float) -> float:
    """The lower bound on epsilon from guesses by one rule."""
    right, guesses = rule.right(scores, coins)
    return lower_bound(right, guesses, error)
