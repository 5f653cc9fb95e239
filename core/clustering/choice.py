"""Which method places centres on a histogram, and why: the limits of the posterior and what serves beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import prod

from core.adaptive.cells import AdaptiveCells
from core.clustering.axis_cells import ordered_shape
from core.clustering.leaf_model import box_count, can_be_modelled
from core.noisy_histogram import NoisyHistogram
from core.plan import THRESHOLDED_DIMENSIONS

# Limits of the posterior method, so that an answer takes at most about three seconds on one core.
_MOST_CLUSTERS, _MOST_CELLS, _MOST_FINE_CELLS, _MOST_PRODUCT = 32, 5000, 2**16, 2**15


class Method(StrEnum):
    """How centres are placed."""

    POSTERIOR = "posterior"
    PROJECTED = "projected"
    THRESHOLDED = "thresholded"
    LLOYD = "lloyd"


# Ends the reason of every method that serves in the posterior's place.
NO_MODEL = "Only the posterior can say how likely a cluster is to be nothing but noise."


@dataclass(frozen=True, slots=True)
class Choice:
    """The method that serves a question, and why in a sentence.

    If there is a `rival`, centres are placed by both methods, and the raw objective decides (`place`).
    """

    method: Method
    reason: str
    rival: Method | None = None


def choose(histogram: NoisyHistogram, k: int, asked: Method) -> Choice:
    """The method asked for, or the one that serves histograms which the posterior was not made for."""
    if asked is not Method.POSTERIOR:
        return Choice(asked, "This method was asked for.")
    if isinstance(histogram.cells, AdaptiveCells):
        return _choose_on_leaves(histogram.cells, k)
    shape = ordered_shape(histogram.grid)
    if not histogram.cells.complete:
        reason = (
            "Thresholded counts serve instead of the posterior: only the cells that reach a threshold were released."
        )
        return Choice(Method.THRESHOLDED, f"{reason} {NO_MODEL}")
    if len(shape) >= THRESHOLDED_DIMENSIONS:
        reason = (
            "Thresholded counts serve instead of the posterior: with four attributes or more few cells hold rows, and "
            "those that stand out from the noise are clustered."
        )
        return Choice(Method.THRESHOLDED, f"{reason} {NO_MODEL}")
    return _choose_on_grid(shape, k)


def _choose_on_grid(shape: tuple[int, ...], k: int) -> Choice:
    """For up to three ordered attributes, of which every cell is known."""
    cells = prod(shape)
    if min(shape) < 2:
        single = "a grid of a single cell" if cells < 2 else "an attribute with a single cell"
        reason = f"Projected counts serve instead of the posterior: {single} leaves nothing to model. {NO_MODEL}"
        return Choice(Method.PROJECTED, reason)
    why = beyond_limits(cells, len(shape), k)
    if why is not None:
        reason = f"Projected counts serve instead of the posterior: {why}. {NO_MODEL}"
        return Choice(Method.PROJECTED, reason, rival=Method.THRESHOLDED)
    return Choice(Method.POSTERIOR, "The posterior mean of the counts gives the best centres on average.")


def _choose_on_leaves(cells: AdaptiveCells, k: int) -> Choice:
    """The same for an adaptive release, whose model has a box for each cell of each layer."""
    why = "the cells of different categories overlap, or a part of a release cuts cells"
    if can_be_modelled(cells):
        beyond = beyond_limits(box_count(cells), cells.centres().shape[1], k)
        if beyond is None:
            return Choice(Method.POSTERIOR, "The posterior mean of the counts gives the best centres on average.")
        why = beyond
    reason = f"Projected estimates of the cells serve instead of the posterior: {why}. {NO_MODEL}"
    return Choice(Method.PROJECTED, reason)


def beyond_limits(cells: int, dimensions: int, k: int) -> str | None:
    """Which limit of the posterior k clusters on so many cells exceed; None if it serves them."""
    if k > _MOST_CLUSTERS:
        return f"it is computed for at most {_MOST_CLUSTERS} clusters, and {k} were asked for"
    if cells > _MOST_CELLS or cells * 2**dimensions > _MOST_FINE_CELLS or cells * k > _MOST_PRODUCT:
        return (
            f"for {k} clusters on {cells:,} cells in {dimensions} dimensions it would take longer than the few seconds "
            "that an answer has"
        )
    return None
