"""Charged: how one charge of epsilon is divided between a bought size, the counts of cells and the sums of offsets.

Each part buys its own noise. An order says it beforehand and a synopsis says it afterwards. Both read it from here, so
they cannot differ.
"""

from __future__ import annotations

from core.budget import Epsilon
from core.domain.axis import OFFSET_STEPS
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.vector_laplace import VectorLaplace
from core.unit import Unit


class Charged:
    """`epsilon` is charged, `size_epsilon` of it buys a noisy size (nothing for a declared one), `unit` is protected.

    `offset_epsilon` buys the sums of offsets (`core.offsets`), nothing where there are none. Noise has the rate
    (its epsilon) / unit.max_rows, exactly; that of sums is OFFSET_STEPS times lower still.
    """

    __slots__ = ()

    epsilon: Epsilon
    size_epsilon: Epsilon
    offset_epsilon: Epsilon
    unit: Unit

    @property
    def histogram_epsilon(self) -> Epsilon:
        """What the counts of cells are noised with: the rest."""
        return self.epsilon - self.size_epsilon - self.offset_epsilon

    @property
    def law(self) -> DiscreteLaplace:
        """The law of the noise of each count."""
        return self._law(self.histogram_epsilon)

    @property
    def size_law(self) -> DiscreteLaplace | None:
        """The law of the noise of a bought size; None for a declared one."""
        return self._law(self.size_epsilon) if self.size_epsilon else None

    def offset_law(self, dimensions: int) -> VectorLaplace | None:
        """The law of the noise of a cell's sums of offsets on so many ordered axes; None where there are no sums.

        A row changes the sums of one cell, each by at most OFFSET_STEPS.
        """
        if not self.offset_epsilon:
            return None
        rows = self.unit.max_rows
        return VectorLaplace.at(self.offset_epsilon, rows_per_unit=rows, largest=OFFSET_STEPS, dimensions=dimensions)

    def _law(self, epsilon: Epsilon) -> DiscreteLaplace:
        return DiscreteLaplace.at(epsilon, rows_per_unit=self.unit.max_rows)
