"""Parallel tempering for the mixture of core.clustering.posterior: many chains at once, in plain NumPy.

Some replicas of len(HEATS) chains hold the parameters of K components each. A sweep offers each chain K moves of single
components and one of its background, then lets neighbouring temperatures of a replica change places. A move is accepted
on heat x (change of log likelihood) + change of log prior (+ the log Hastings factor of a relocation). Only chains at
heat 1 are looked at; the others are there to cross the valleys between good places for a centre.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from core.arrays import Floats
from core.checkpoint import Checkpoint, carry_on
from core.clustering.kmeans import plus_plus
from core.clustering.likelihood import CellLikelihood
from core.domain.grid import Grid

HEATS = np.array([1.0, 0.5, 0.2, 0.05])

_BACKGROUND = 0.05  # the share of rows expected outside of all components
_SPREAD = 0.6  # prior deviation of log s
_LEAST_S = 0.01
_MARGIN = 2.0  # a centre keeps this many s away from the faces

# The kinds of move, with their probabilities and the deviations of their steps in mu (in three sizes), log s, log a.
_MU, _S, _A, _ALL, _RELOCATE = range(5)
_KINDS = np.cumsum([0.35, 0.20, 0.20, 0.12, 0.13])
_MU_STEPS = np.array([[0.25, 0.08, 0.02], [0, 0, 0], [0, 0, 0], [0.08, 0.08, 0.08], [0, 0, 0]])
_S_STEPS = np.array([0, 0.3, 0, 0.2, 0])
_A_STEPS = np.array([0, 0, 0.4, 0.15, 0])
_BACKGROUND_STEP = 0.5
_FLOOR = 1e-9  # of an expectation: rounding must not take it below zero


@dataclass(frozen=True, slots=True, eq=False)
class Mixtures:
    """Parameters of (chains, K) components and of the backgrounds; amounts in the likelihood's units of rows.

    Those of a component stand in one row, mu then log s then log a, so that a move gathers and scatters once.
    """

    components: Floats
    log_a0: Floats

    @property
    def dimensions(self) -> int:
        """d, of 2d + 1 numbers in a row."""
        return int(self.components.shape[-1] // 2)

    @property
    def mu(self) -> Floats:
        """(chains, K, d) centres."""
        return self.components[..., : self.dimensions]

    @property
    def s(self) -> Floats:
        """(chains, K, d) deviations."""
        spreads: Floats = np.exp(self.components[..., self.dimensions : -1])
        return spreads

    @property
    def a(self) -> Floats:
        """(chains, K) amounts."""
        amounts: Floats = np.exp(self.components[..., -1])
        return amounts

    @property
    def a0(self) -> Floats:
        """Background of each chain."""
        amounts: Floats = np.exp(self.log_a0)
        return amounts

    def at(self, chains: NDArray[np.intp]) -> Mixtures:
        """Some of the chains, copied."""
        return Mixtures(self.components[chains], self.log_a0[chains])


def axis_masses(mu: Floats, s: Floats, edges: Floats) -> Floats:
    """(…, d) normal laws over the intervals of `edges`, the outermost of which reach to infinity: (…, d, intervals)."""
    inner = ndtr((edges[1:-1] - mu[..., None]) / s[..., None])
    padded = np.empty((*inner.shape[:-1], len(edges)))
    padded[..., 0], padded[..., -1] = 0.0, 1.0
    padded[..., 1:-1] = inner
    masses: Floats = np.diff(padded, axis=-1)
    return masses


def products(masses: Floats) -> Floats:
    """(…, d, m) masses of the axes -> (…, m^d) masses of the cells, the last axis fastest."""
    found = masses[..., 0, :]
    for axis in range(1, masses.shape[-2]):
        found = (found[..., :, None] * masses[..., axis, None, :]).reshape(*found.shape[:-1], -1)
    return found


def expected_parts(mu: Floats, s: Floats, a: Floats, edges: Floats) -> Floats:
    """What each component alone expects in every cell."""
    masses = axis_masses(mu, s, edges)
    masses[..., 0, :] *= a[..., None]
    return products(masses)


class Tempering:
    """The chains, from their k-means++ starts on."""

    def __init__(
        self,
        likelihood: CellLikelihood,
        counts: Floats,
        grid: Grid,
        *,
        size: float,
        k: int,
        replicas: int,
        rng: np.random.Generator,
    ) -> None:
        self._likelihood, self._grid, self._rng = likelihood, grid, rng
        self._chains = replicas * len(HEATS)
        self._rows = np.arange(self._chains)
        self._size, self._k = size / likelihood.unit, k
        self._edges = grid.edges()
        self._middle = log(0.25 * k ** (-1.0 / grid.dimensions))  # prior mean of log s
        # Where a relocated centre may go: in proportion to the counts, and a little everywhere.
        self._places = np.maximum(counts, 0.0) + 0.02 * size / grid.cell_count
        self._places /= self._places.sum()
        self._cumulative = np.cumsum(self._places)
        self._log_places = np.log(self._places)
        self._state = self._start()
        self._parts = expected_parts(self._state.mu, self._state.s, self._state.a, self._edges)
        self._expected = self._total()
        self._fit = likelihood.log_likelihood(self._expected)
        # Which chain is at which heat: (replicas, heats).
        self._at = self._rows.reshape(replicas, len(HEATS)).copy()

    def run(
        self, sweeps: int, *, burn_in: int, every: int, checkpoint: Checkpoint = carry_on
    ) -> Iterator[tuple[Mixtures, Floats]]:
        """The parameters and the expected counts of the chains at heat 1, at every so many sweeps after the first."""
        for sweep in range(sweeps):
            checkpoint()
            self._sweep()
            if sweep >= burn_in and (sweep - burn_in) % every == 0:
                self._expected = self._total()  # sheds the rounding of many updates
                cold = self._at[:, 0]
                yield self._state.at(cold), self._expected[cold]

    def _start(self) -> Mixtures:
        d, k = self._grid.dimensions, self._k
        room = 1.0 - _MARGIN * np.exp(self._middle)
        components = np.empty((self._chains, k, 2 * d + 1))
        starts = plus_plus(self._grid.centres(), self._places, k, restarts=self._chains, rng=self._rng)
        components[..., :d] = np.clip(starts, -room, room)
        components[..., d:-1] = self._middle
        components[..., -1] = log((1.0 - _BACKGROUND) * self._size / k)
        return Mixtures(components, np.full(self._chains, log(_BACKGROUND * self._size)))

    def _total(self) -> Floats:
        """The expected count of every cell."""
        cells = self._grid.cell_count
        total = np.repeat(self._state.a0[:, None] / cells, cells, axis=1)
        for i in range(self._k):
            total += self._parts[:, i]
        return total

    def _sweep(self) -> None:
        rng, k, d = self._rng, self._k, self._grid.dimensions
        shape = (k, self._chains)
        heat = np.empty(self._chains)
        heat[self._at] = HEATS
        whom = rng.integers(k, size=shape)
        kinds = np.searchsorted(_KINDS[:-1], rng.random(shape), side="right")
        steps = rng.standard_normal((*shape, 2 * d + 1))
        steps[..., :d] *= _MU_STEPS[kinds, rng.integers(3, size=shape)][..., None]
        steps[..., d:-1] *= _S_STEPS[kinds][..., None]
        steps[..., -1] *= _A_STEPS[kinds]
        cells = self._drawn_cells(shape)
        places = self._inside(cells)
        chances = np.log(rng.random(shape))
        for i in range(k):
            away = np.flatnonzero(kinds[i] == _RELOCATE)
            self._move(whom[i], steps[i], away, places[i, away], self._log_places[cells[i, away]], heat, chances[i])
        self._move_background(heat)
        self._swap()

    def _move(
        self,
        whom: NDArray[np.int64],
        steps: Floats,
        away: NDArray[np.intp],
        places: Floats,
        log_places: Floats,
        heat: Floats,
        chances: Floats,
    ) -> None:
        """Offer each chain a change of one of its components: a step, or, for those `away`, another place."""
        d, components = self._grid.dimensions, self._state.components
        old = components[self._rows, whom]
        new = old + steps
        new[away, :d] = places
        change = self._log_prior(new) - self._log_prior(old)
        change[away] += self._log_places[self._cell(old[away, :d])] - log_places
        s = np.exp(new[:, d:-1])
        allowed = (np.abs(new[:, :d]) <= 1.0 - _MARGIN * s) & (s >= _LEAST_S)
        open_ = np.flatnonzero(allowed.all(axis=1))  # what the prior rules out need not be worked out
        part = expected_parts(new[open_, :d], s[open_], np.exp(new[open_, -1]), self._edges)
        expected = self._expected[open_]
        expected -= self._parts[open_, whom[open_]]
        expected += part
        np.maximum(expected, _FLOOR, out=expected)
        fit = self._likelihood.log_likelihood(expected)
        taken = np.flatnonzero(chances[open_] < heat[open_] * (fit - self._fit[open_]) + change[open_])
        chain = open_[taken]
        who = whom[chain]
        components[chain, who], self._parts[chain, who] = new[chain], part[taken]
        self._expected[chain], self._fit[chain] = expected[taken], fit[taken]

    def _log_prior(self, component: Floats) -> Floats:
        """log s normal; a Gamma of shape 2 and mean N / K, as a density of log a."""
        d, log_a = self._grid.dimensions, component[:, -1]
        apart = component[:, d:-1] - self._middle
        normal = np.square(apart).sum(axis=1) / (-2.0 * _SPREAD**2)
        density: Floats = normal + 2.0 * log_a - 2.0 * self._k / self._size * np.exp(log_a)
        return density

    def _move_background(self, heat: Floats) -> None:
        """Offer each chain another background; a0 is exponential with mean .05 N."""
        old = self._state.log_a0
        new = old + _BACKGROUND_STEP * self._rng.standard_normal(self._chains)
        a, new_a = self._state.a0, np.exp(new)
        expected = self._expected + ((new_a - a) / self._grid.cell_count)[:, None]
        np.maximum(expected, _FLOOR, out=expected)
        fit = self._likelihood.log_likelihood(expected)
        change = new - old - (new_a - a) / (_BACKGROUND * self._size)
        taken = np.log(self._rng.random(self._chains)) < heat * (fit - self._fit) + change
        old[taken] = new[taken]
        self._expected[taken], self._fit[taken] = expected[taken], fit[taken]

    def _swap(self) -> None:
        """Let neighbouring heats of each replica change places."""
        for i in range(len(HEATS) - 1):
            hot, cold = self._at[:, i + 1].copy(), self._at[:, i].copy()
            gain = (HEATS[i] - HEATS[i + 1]) * (self._fit[hot] - self._fit[cold])
            taken = np.log(self._rng.random(len(cold))) < gain
            self._at[:, i], self._at[:, i + 1] = np.where(taken, hot, cold), np.where(taken, cold, hot)

    def _drawn_cells(self, shape: tuple[int, int]) -> NDArray[np.intp]:
        """Cells in proportion to `_places`."""
        cells = np.searchsorted(self._cumulative, self._rng.random(shape) * self._cumulative[-1], side="right")
        drawn: NDArray[np.intp] = np.minimum(cells, len(self._places) - 1)
        return drawn

    def _inside(self, cells: NDArray[np.intp]) -> Floats:
        """A uniform place in each cell."""
        m, d = self._grid.cells_per_axis, self._grid.dimensions
        indices = np.stack(np.unravel_index(cells, (m,) * d), axis=-1)
        places: Floats = (indices + self._rng.random(indices.shape)) * (2.0 / m) - 1.0
        return places

    def _cell(self, places: Floats) -> NDArray[np.intp]:
        """The cell of each place; a centre keeps its distance from the upper faces, so none lies beyond the last."""
        m = self._grid.cells_per_axis
        indices = ((places + 1.0) * (m / 2)).astype(np.intp)
        flat = indices[:, 0]
        for axis in range(1, self._grid.dimensions):
            flat = flat * m + indices[:, axis]
        return flat
