"""OpenDP's integer Laplace mechanism, to be measured: see bench/peers/stopwatch.py."""

from __future__ import annotations

from collections.abc import Callable

import opendp.prelude as dp


def prepare(scale: float, draws: int) -> Callable[[], int]:
    """A call that adds noise to as many zeros as `draws` says; it returns how many numbers came back."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    measurement = dp.m.make_laplace(*space, scale=scale)
    zeros = [0] * draws
    return lambda: len(measurement(zeros))
