"""The best N that post-processing may use: what the curator declared, or what the noise leaves of two noisy counts."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from core.noise import standard_deviation
from core.synopsis import Synopsis

_CONTRADICTION = 6.0


@dataclass(frozen=True, slots=True)
class Size:
    """The number of rows, at least 1, and the standard deviation that noise gives it; 0 for a declared one."""

    rows: float
    noise_sd: float


def best_size(synopsis: Synopsis) -> Size:
    """A declared size as it is; otherwise the bought one and the histogram's sum, each weighted by its precision.

    A declared size that the sum rules out, by more than 6 standard deviations of its noise, is not used: rows may have
    been dropped, or the statement was about something else. A thresholded synopsis has no sum of all cells to compare.

    The bought size n has the variance v of one draw at `size_epsilon`, the sum s of M cells that of M draws at
    `histogram_epsilon`, u. Both are unbiased and independent, so (n / v + s / u) / (1 / v + 1 / u) is the unbiased
    combination of least variance, 1 / (1 / v + 1 / u). A bought size below 1 was raised to 1 and tells less than it
    seems to; the combination is then a little high, where there is next to nothing to be seen anyway.
    """
    if synopsis.cells is not None:
        noise = 0.0 if synopsis.size_declared else standard_deviation(synopsis.size_epsilon)
        return Size(rows=float(max(1, synopsis.size)), noise_sd=noise)
    summed = float(synopsis.counts.sum())
    variance = synopsis.grid.cell_count * standard_deviation(synopsis.histogram_epsilon) ** 2
    if synopsis.size_declared and abs(summed - synopsis.size) <= _CONTRADICTION * sqrt(variance):
        return Size(rows=float(max(1, synopsis.size)), noise_sd=0.0)
    if synopsis.size_declared or not synopsis.size_epsilon:
        return Size(rows=max(1.0, summed), noise_sd=sqrt(variance))
    bought = standard_deviation(synopsis.size_epsilon) ** 2
    if variance + bought == 0.0:  # no noise at all at this epsilon: both are exact
        return Size(rows=max(1.0, summed), noise_sd=0.0)
    share = variance / (variance + bought)
    rows = share * synopsis.size + (1.0 - share) * summed
    return Size(rows=max(1.0, rows), noise_sd=sqrt(share * bought))
