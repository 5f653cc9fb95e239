"""Parallel tempering (Geyer 1991) for the posterior of `core.clustering.mixture`, many chains at once in plain NumPy.

A replica is a ladder of chains at the inverse temperatures beta = 1, .5, .2, .05. A chain at beta has the density

    (likelihood)^beta x prior.

A sweep offers each chain K changes of single components and one of its background; then neighbours on the ladder may
swap. A change is accepted by the Metropolis-Hastings rule (Hastings 1970), that is if

    log U < beta (change of log likelihood) + (change of log prior) + (log Hastings factor),    U uniform on (0, 1).

Chains at small beta cross between separate modes of the posterior. Only chains at beta = 1 are samples of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.checkpoint import Checkpoint, carry_on
from core.clustering.kmeans import plus_plus
from core.clustering.layout import Layout
from core.clustering.likelihood import Likelihood
from core.clustering.mixture import BACKGROUND, MARGIN, Mixtures, Prior
from core.clustering.relocation import Relocation

BETAS = np.array([1.0, 0.5, 0.2, 0.05])

# The kinds of move: mu, s, a, all three, relocation of mu. Their probabilities, and the deviations of their normal
# steps in mu (one of three sizes), log s and log a.
_RELOCATION = 4
_KINDS = np.cumsum([0.35, 0.20, 0.20, 0.12, 0.13])
_MU_STEPS = np.array([[0.25, 0.08, 0.02], [0, 0, 0], [0, 0, 0], [0.08, 0.08, 0.08], [0, 0, 0]])
_S_STEPS = np.array([0, 0.3, 0, 0.2, 0])
_A_STEPS = np.array([0, 0, 0.4, 0.15, 0])
_BACKGROUND_STEP = 0.5
_LEAST_EXPECTED = 1e-9  # rounding must not take an expected count below zero


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """A change of one component for each chain, and the uniform number that decides on it.

    `component` (chains,) numbers the components to change. They change by `steps` (chains, 2d + 1), in mu, log s and
    log a. The chains numbered `relocated` get the means `places` (relocated, d) instead of a step in mu; these were
    drawn from a density whose logarithm there is `log_density`. `log_uniform` (chains,) is log U.
    """

    component: NDArray[np.int64]
    steps: Floats
    relocated: NDArray[np.intp]
    places: Floats
    log_density: Floats
    log_uniform: Floats


class Tempering:
    """The chains, from their k-means++ starts on. `replicas` ladders of len(BETAS) chains each."""

    def __init__(
        self,
        likelihood: Likelihood,
        layout: Layout,
        relocation: Relocation,
        *,
        size: float,
        k: int,
        replicas: int,
        rng: np.random.Generator,
    ) -> None:
        self._likelihood, self._layout, self._relocation, self._rng = likelihood, layout, relocation, rng
        self._chains, self._k = replicas * len(BETAS), k
        self._rows = np.arange(self._chains)
        self._prior = Prior(size / likelihood.unit, k, layout.dimensions)
        self._state = self._start()
        self._parts = layout.expected(self._state.mu, self._state.s, self._state.a)
        self._expected = self._total()
        self._fit = likelihood.log_likelihood(self._expected)
        # Which chain is at which beta: (replicas, betas).
        self._at = self._rows.reshape(replicas, len(BETAS)).copy()

    def run(
        self, sweeps: int, *, burn_in: int, every: int, checkpoint: Checkpoint = carry_on
    ) -> Iterator[tuple[Mixtures, Floats]]:
        """The mixtures at beta = 1 and their expected counts (replicas, cells), each `every` sweeps after `burn_in`."""
        for sweep in range(sweeps):
            checkpoint()
            self._sweep()
            if sweep >= burn_in and (sweep - burn_in) % every == 0:
                self._expected = self._total()  # removes the rounding errors of many updates
                cold = self._at[:, 0]
                yield self._state.at(cold), self._expected[cold]

    def _start(self) -> Mixtures:
        """Means from k-means++ on the relocation weights, deviations at their prior mean, equal amounts."""
        d, k, prior = self._layout.dimensions, self._k, self._prior
        room = 1.0 - MARGIN * np.exp(prior.log_s_mean)
        components = np.empty((self._chains, k, 2 * d + 1))
        starts = plus_plus(self._relocation.centres, self._relocation.weights, k, restarts=self._chains, rng=self._rng)
        components[..., :d] = np.clip(starts, -room, room)
        components[..., d:-1] = prior.log_s_mean
        components[..., -1] = log((1.0 - BACKGROUND) * prior.size / k)
        return Mixtures(components, np.full(self._chains, log(BACKGROUND * prior.size)))

    def _total(self) -> Floats:
        """(chains, cells) expected counts, added up anew."""
        total = np.empty((self._chains, self._layout.cell_count))
        total[:] = self._state.a0[:, None] / self._layout.to_fill
        for i in range(self._k):
            total += self._parts[:, i]
        return total

    def _sweep(self) -> None:
        beta = np.empty(self._chains)
        beta[self._at] = BETAS
        for proposal in self._proposals():
            self._move(proposal, beta)
        self._move_background(beta)
        self._swap()

    def _proposals(self) -> list[Proposal]:
        """The K proposals of a sweep, drawn together."""
        rng, k, d = self._rng, self._k, self._layout.dimensions
        shape = (k, self._chains)
        component = rng.integers(k, size=shape)
        kinds = np.searchsorted(_KINDS[:-1], rng.random(shape), side="right")
        steps = rng.standard_normal((*shape, 2 * d + 1))
        steps[..., :d] *= _MU_STEPS[kinds, rng.integers(3, size=shape)][..., None]
        steps[..., d:-1] *= _S_STEPS[kinds][..., None]
        steps[..., -1] *= _A_STEPS[kinds]
        places, log_density = self._relocation.draw(shape, rng)
        log_uniform = np.log(rng.random(shape))
        relocated = [np.flatnonzero(kind == _RELOCATION) for kind in kinds]
        return [
            Proposal(component[i], steps[i], chains, places[i, chains], log_density[i, chains], log_uniform[i])
            for i, chains in enumerate(relocated)
        ]

    def _move(self, proposal: Proposal, beta: Floats) -> None:
        """Accept or reject one proposal in each chain."""
        d, components, whom = self._layout.dimensions, self._state.components, proposal.component
        old = components[self._rows, whom]
        new = old + proposal.steps
        new[proposal.relocated, :d] = proposal.places
        change = self._prior.log_density(new) - self._prior.log_density(old)
        hastings = self._relocation.log_at(old[proposal.relocated, :d]) - proposal.log_density
        change[proposal.relocated] += hastings
        s = np.exp(new[:, d:-1])
        possible = np.flatnonzero(self._prior.allowed(new[:, :d], s).all(axis=1))
        part = self._layout.expected(new[possible, :d], s[possible], np.exp(new[possible, -1]))
        expected = self._expected[possible]
        expected -= self._parts[possible, whom[possible]]
        expected += part
        np.maximum(expected, _LEAST_EXPECTED, out=expected)
        fit = self._likelihood.log_likelihood(expected)
        gain = beta[possible] * (fit - self._fit[possible]) + change[possible]
        accepted = np.flatnonzero(proposal.log_uniform[possible] < gain)
        chain = possible[accepted]
        who = whom[chain]
        components[chain, who], self._parts[chain, who] = new[chain], part[accepted]
        self._expected[chain], self._fit[chain] = expected[accepted], fit[accepted]

    def _move_background(self, beta: Floats) -> None:
        """Offer each chain a normal step in log a_0."""
        old = self._state.log_a0
        new = old + _BACKGROUND_STEP * self._rng.standard_normal(self._chains)
        a, new_a = self._state.a0, np.exp(new)
        expected = self._expected + (new_a - a)[:, None] / self._layout.to_fill
        np.maximum(expected, _LEAST_EXPECTED, out=expected)
        fit = self._likelihood.log_likelihood(expected)
        change = self._prior.log_background_ratio(a, new_a, old, new)
        accepted = np.log(self._rng.random(self._chains)) < beta * (fit - self._fit) + change
        old[accepted] = new[accepted]
        self._expected[accepted], self._fit[accepted] = expected[accepted], fit[accepted]

    def _swap(self) -> None:
        """Let neighbours on each ladder swap betas: log U < (beta_i - beta_j) (log L_j - log L_i)."""
        for i in range(len(BETAS) - 1):
            hot, cold = self._at[:, i + 1].copy(), self._at[:, i].copy()
            gain = (BETAS[i] - BETAS[i + 1]) * (self._fit[hot] - self._fit[cold])
            accepted = np.log(self._rng.random(len(cold))) < gain
            self._at[:, i], self._at[:, i + 1] = np.where(accepted, hot, cold), np.where(accepted, cold, hot)
