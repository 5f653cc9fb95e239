"""How the epsilon of a histogram is shared between the layers of an adaptive release, and the noise that each buys.

The shares are whole billionths, rounded down; the leaves have the rest of their path. Base cell, coarse cell, leaf:
0.1 + 0.2 + 0.7 of epsilon. Where a base cell is not cut, it is not counted a second time: 0.1 + 0.9.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.adaptive.cuts import BASE_SHARE, COARSE_SHARE
from core.budget import NANO, Epsilon
from core.errors import InvalidOrder
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.unit import Unit

_LEAST_NANO = 10  # so that every share has a billionth or more
_MOST_NANO = 100 * NANO  # the most of an order; far beyond, double precision has no variance of the noise


@dataclass(frozen=True, slots=True)
class LayerLaws:
    """The noise of base cells, of coarse cells, and of leaves on both kinds of path."""

    base: DiscreteLaplace
    coarse: DiscreteLaplace
    leaf_uncut: DiscreteLaplace
    leaf_cut: DiscreteLaplace

    @classmethod
    def of(cls, epsilon: Epsilon, unit: Unit) -> LayerLaws:
        """The laws that `epsilon` buys. InvalidOrder where it is too small to be shared, or too large."""
        if epsilon.nano < _LEAST_NANO:
            raise InvalidOrder("The epsilon is too small to be shared between the layers of an adaptive release.")
        if epsilon.nano > _MOST_NANO:
            raise InvalidOrder("The epsilon is larger than that of any adaptive release.")
        base, coarse = epsilon.part(BASE_SHARE), epsilon.part(COARSE_SHARE)
        paid = (base, coarse, epsilon - base, epsilon - base - coarse)
        return cls(*(DiscreteLaplace.at(each, rows_per_unit=unit.max_rows) for each in paid))

    @staticmethod
    def can_share(epsilon: Epsilon) -> bool:
        """Whether every layer gets a billionth or more of it, and noise that double precision can describe."""
        return _LEAST_NANO <= epsilon.nano <= _MOST_NANO

    def leaf(self, *, is_cut: bool) -> DiscreteLaplace:
        """The law of the leaves below base cells that were cut, or that were not."""
        return self.leaf_cut if is_cut else self.leaf_uncut
