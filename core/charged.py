"""Charged: how one charge of epsilon is divided between a bought size and the cells, and the noise that each part buys.

An order says it beforehand and a synopsis says it afterwards. Both read it from here, so they cannot differ.
"""

from __future__ import annotations

from core.budget import Epsilon
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.unit import Unit


class Charged:
    """`epsilon` is charged, `size_epsilon` of it buys a noisy size (nothing for a declared one), `unit` is protected.

    Noise has the rate (its epsilon) / unit.max_rows, exactly.
    """

    __slots__ = ()

    epsilon: Epsilon
    size_epsilon: Epsilon
    unit: Unit

    @property
    def histogram_epsilon(self) -> Epsilon:
        """What the cells are noised with: the rest."""
        return self.epsilon - self.size_epsilon

    @property
    def law(self) -> DiscreteLaplace:
        """The law of the noise of each cell."""
        return self._law(self.histogram_epsilon)

    @property
    def size_law(self) -> DiscreteLaplace | None:
        """The law of the noise of a bought size; None for a declared one."""
        return self._law(self.size_epsilon) if self.size_epsilon else None

    def _law(self, epsilon: Epsilon) -> DiscreteLaplace:
        return DiscreteLaplace.at(epsilon, rows_per_unit=self.unit.max_rows)
