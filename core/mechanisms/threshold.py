"""The threshold of a thresholded release, from public numbers only.

Any T would be private. This one only has to be about right, so floating point serves; T is published with the cells.
"""

from __future__ import annotations

from math import ceil, log

from core.mechanisms.law import NoiseLaw

EXPECTED_FALSE_CELLS = 5  # empty cells that survive, on average: fewer lose small cells, more blur the clusters


def least_threshold(cell_count: int, law: NoiseLaw) -> int:
    """The least whole T >= 1 with M P(Z >= T) <= EXPECTED_FALSE_CELLS, where M is `cell_count`.

    T = 1 where hardly any noise is left: then every cell that holds a row is listed. Above 1, T - 1 is at least twice
    the mean excess of the noise: the bounds on counts of `core.intervals.listed` need more than once, and a little
    room. That matters for small grids alone.
    """
    few_false = law.upper_threshold(log(cell_count) - log(EXPECTED_FALSE_CELLS))
    return 1 if few_false <= 1 else max(few_false, ceil(2.0 * law.mean_excess) + 1)
