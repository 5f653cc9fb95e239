"""What the audit of `make torture` judges by: it is right where the answer is known, and it notices what is wrong."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from core.budget import Epsilon
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.discrete_laplace_sampler import draw_noise
from core.randomness import NoiseSource
from torture.auditing import pairs
from torture.auditing.correlations import CELLS, EPSILON, suspicious
from torture.auditing.guesses import audited, lower_bound

NEVER = 1e-9


def noise() -> np.ndarray:
    """Of one release, as the correlations are worked out for it."""
    return draw_noise(DiscreteLaplace.at(Epsilon.parse(EPSILON)), CELLS, NoiseSource())


def test_the_bound_of_guesses_has_a_known_answer() -> None:
    """Ten right guesses of ten: the least probability that makes them as likely as the error is its tenth root."""
    least = NEVER ** (1 / 10)
    assert lower_bound(10, 10, NEVER) == pytest.approx(math.log(least / (1 - least)))
    assert lower_bound(0, 10, NEVER) == -math.inf


@pytest.mark.parametrize(("rate", "low", "high"), [(1.0, 0.85, 1.0), (2.0, 1.7, 2.0)])
def test_guesses_show_the_loss_of_noise_and_no_more(rate: float, low: float, high: float) -> None:
    """Noise at a rate, added to nothing or one: the loss is the rate."""
    law, source = DiscreteLaplace.at(Epsilon.parse(str(rate))), NoiseSource()
    coins = np.random.default_rng(1).random((40, 1000)) < 0.5
    scores = np.array([each + draw_noise(law, len(each), source) for each in coins.astype(np.int64)], dtype=float)
    assert low < audited(scores, coins, NEVER) <= high


def test_noise_that_is_used_twice_is_noticed() -> None:
    """Whole, for a few cells, shifted by one, or with its sign turned round; independent noise is not."""
    first, second = noise(), noise()
    assert suspicious([first, second], NEVER) == []
    reused = second.copy()
    reused[:400] = first[:400]
    doubled = np.repeat(second[: CELLS // 2 + 1], 2)[:CELLS]
    for wrong in ([first, first], [first, reused], [first, -first], [first, doubled]):
        assert suspicious(wrong, NEVER)


def test_neighbouring_uploads_look_the_same_but_for_their_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With noise by a script nothing differs; with noise from the operating system it does, and that is seen."""
    assert list(pairs.differences(tmp_path / "scripted", range(3))) == []
    monkeypatch.setattr(pairs, "_scripted_noise", nullcontext)
    assert list(pairs.differences(tmp_path / "noisy", range(1)))
