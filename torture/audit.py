"""Audit: what releases of the real service show of one record, or one person, seen from outside as an analyst does.

Files go through the upload path, and synopses come from the route that analysts ask. In each case units are in the file
or not by coins, and guesses which way the coins fell give a lower bound on epsilon (`torture/auditing/guesses.py`). It
must not exceed what was charged, with 99.9 % for all cases together, and has to show most of it: else the audit could
not see a fault. That it sees one is shown with noise that is a little too small, or made for half the sensitivity. Then
noise of different cells, releases and processes, and 1,000 pairs of neighbouring uploads of every format, of which
everything but the noisy counts has to be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from app.main import create_app
from app.settings.settings import Settings
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.discrete_laplace_sampler import draw_noise
from core.randomness import NoiseSource
from tests.support.service.api import Api, frozen_clock
from tests.support.service.workers import end_workers
from torture.auditing.case import Case, measured
from torture.auditing.cases import CASES
from torture.auditing.correlations import after_fork, of_a_service, suspicious
from torture.auditing.guesses import audited
from torture.auditing.pairs import differences
from torture.console import Result, progressing
from torture.services import folder, times

_ERROR = 0.001  # of all claims together
_RELEASES = 12  # whose noise is compared
_PAIRS = 1000


def run() -> Iterator[Result]:
    """The cases, the mutants, correlations, then pairs of uploads."""
    try:
        for case in progressing("audits of epsilon", CASES):
            yield _audited(case)
        for mutant in progressing("wrong noise", MUTANTS):
            yield _caught(mutant)
        yield _independent("noise of one service with 4 processes", partial(of_a_service, times(_RELEASES)))
        yield _independent("noise after fork", after_fork)
        yield _equal_pairs()
    finally:
        end_workers()


def _bound(case: Case) -> float:
    """The lower bound on epsilon. TIMES: so many releases."""
    with folder() as made:
        settings = Settings(data_dir=made / "data", log_level="error", max_budget="999", **case.settings)
        with Api(create_app(settings, frozen_clock)) as api:
            scores, coins = measured(api, case, times(case.releases), np.random.default_rng())
    return audited(scores, coins, _ERROR / len(CASES))


def _audited(case: Case) -> Result:
    bound = _bound(case)
    has_power = bound >= case.share * case.epsilon or times(case.releases) < case.releases
    holds = bound <= case.epsilon and has_power
    return Result(case.name, times(case.releases), int(not holds), f"at least {bound:.3f} of {case.epsilon:g}")


@dataclass(frozen=True, slots=True)
class WrongNoise:
    """A mistake in the noise, and the case that has to show it."""

    name: str
    case: Case
    law: Callable[[DiscreteLaplace], DiscreteLaplace]


def _quicker(tenths: int, law: DiscreteLaplace) -> DiscreteLaplace:
    """The law at so many tenths of its epsilon."""
    return replace(law, nano=law.nano * tenths // 10)


_NAMED = {case.name: case for case in CASES}
MUTANTS = (
    WrongNoise("a scale of 0.9", _NAMED["rugnik, dense"], lambda law: replace(law, nano=law.nano * 10 // 9)),
    WrongNoise("half the sensitivity", _NAMED["eugkm, dense"], partial(_quicker, 20)),
    WrongNoise("a person's noise for one row", _NAMED["persons with 100 rows, 3 counted"], partial(_quicker, 30)),
    WrongNoise("half the sensitivity, in layers", _NAMED["adaptive, all layers of a path"], partial(_quicker, 20)),
)


def _caught(mutant: WrongNoise) -> Result:
    def wrong(law: DiscreteLaplace, size: int, noise: NoiseSource) -> Any:
        return draw_noise(mutant.law(law), size, noise)

    with ExitStack() as patched:
        for module in ("core.release", "core.adaptive.release"):
            patched.enter_context(patch(f"{module}.draw_noise", wrong))
        bound = _bound(mutant.case)
    is_seen = bound > mutant.case.epsilon or times(mutant.case.releases) < mutant.case.releases
    remark = f"{mutant.case.name}: at least {bound:.3f} of {mutant.case.epsilon:g}"
    return Result(f"wrong noise: {mutant.name}", times(mutant.case.releases), int(not is_seen), remark)


def _independent(name: str, drawn: Callable[[], Any]) -> Result:
    noises = drawn()
    odd = suspicious(noises, _ERROR)
    return Result(name, len(noises), len(odd), "; ".join(odd[:3]) or "independent, as far as can be seen")


def _equal_pairs() -> Result:
    with folder() as made:
        said = list(differences(made, progressing("neighbouring uploads", range(times(_PAIRS)))))
    return Result("neighbouring uploads", times(_PAIRS), len(said), "; ".join(said[:3])[:300] or "all but counts equal")
