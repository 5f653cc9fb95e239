"""The least Gaussian noise for (epsilon, delta): Theorem 8 of Balle and Wang (ICML 2018), for the peers that use it.

A query of sensitivity S with noise of deviation s has mu = S / s. Queries one after the other have
mu^2 = mu_1^2 + mu_2^2 + ... (Dong, Roth and Su 2022, Corollary 3.3). Together they are (epsilon, delta)-DP exactly if

    delta >= Phi(mu / 2 - epsilon / mu) - exp(epsilon) Phi(-mu / 2 - epsilon / mu).
"""

from __future__ import annotations

from math import exp, log, sqrt

from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr


def delta_of(epsilon: float, mu: float) -> float:
    """The least delta of Gaussian noise with this mu, at epsilon."""
    return float(ndtr(mu / 2 - epsilon / mu) - exp(min(0.0, epsilon + log_ndtr(-mu / 2 - epsilon / mu))))


def deviation(epsilon: float, delta: float) -> float:
    """The least standard deviation of the noise for a query of sensitivity 1: it has mu = 1 / deviation."""
    most = 2 * sqrt(2 * epsilon) + 20
    root = brentq(lambda log_mu: delta_of(epsilon, exp(log_mu)) - delta, log(1e-9), log(most), xtol=1e-12)
    return exp(-float(root))
