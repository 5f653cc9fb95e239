"""How long an answer takes, estimated before it is worked out from public numbers: cells, clusters, boxes, method.

Seconds on one core of the machine that the constants were measured on; on another they are off by some factor. The
estimates follow from how the loops of each question grow. They are within a factor of three or so of the time taken by
answers of a second and more, and rather too long than too short.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from core.adaptive.cells import AdaptiveCells
from core.clustering.axis_cells import ordered_shape
from core.clustering.blocks import MOST_BLOCKS, MOST_POINTS
from core.clustering.kmeans import steps_allowed
from core.clustering.leaf_model import box_count
from core.clustering.methods import LLOYD_STARTS, Method, choose
from core.clustering.posterior import effort as sampler_effort
from core.noisy_histogram import NoisyHistogram
from core.queries.adaptive_marginal import MOST_OVERLAPS
from core.queries.clusters import require_k
from core.queries.components import DRAWS as COMPONENT_DRAWS
from core.queries.conditional import MOST_SHARES
from core.queries.hotspots import MOST_CELLS as MOST_CELLS_OF_HOTSPOTS
from core.queries.hotspots import MOST_REGIONS
from core.queries.information import DRAWS as TABLE_DRAWS
from core.queries.information import MOST_CELLS

_PASS = 5e-8  # a pass over the counts, for each cell
_BOX, _BOX_AND_CELL = 1e-5, 2e-8  # a box; a listed cell along an axis for each box
_DISTANCE = 3e-9  # a distance along an axis, and its comparison with the least so far
_POINT_AND_CLUSTER, _KMEANS_MOST = 3e-6, 6.0  # k-means with its restarts and redraws, which end after bounded work
_REDRAWN_CELL, _REDRAWN_LEAF = 1e-6, 2e-6  # leaves with the sums over regions of leaves
_SLICED, _SLICED_LISTED = 1e-9, 2e-8  # a cell of a grid, or a listed cell, that a slice is chosen from
_SLICED_LEAF = 1e-7  # a leaf that is cut down to a slice
_OVERLAP, _BINS_ACROSS = 1e-6, 64  # a leaf in a bin; so many bins across few leaves touch one of them on average
_DRAWN_ENTRY = 4e-8  # an entry of a drawn matrix with its share of the eigenvalues
_SHARE = 5e-5  # a Fieller interval of one cell among some
_THRESHOLDS, _SEARCHED, _REGION = 0.02, 1e-6, 1.2e-4  # those of a table; one of its cells; a region, written down too
_REDRAWN_TABLE, _REDRAWN_ENTRY = 0.2, 1.5e-7  # the laws of a table; an entry drawn again with its estimates
_SAMPLED = 2e-6  # a cell of a component in a sweep of eight replicas, with what follows from the samples

_FEWER_CELLS = "Ask for fewer cells on an axis, with cells=…."


@dataclass(frozen=True, slots=True)
class Effort:
    """Estimated seconds, and how to ask for less where these are too many."""

    seconds: float
    advice: str


def effort_of_cells(synopsis: NoisyHistogram, passes: int = 1) -> Effort:
    """Questions that go over all counts, so many times."""
    return Effort(_PASS * len(synopsis.counts) * passes, "Ask for fewer values at once.")


def effort_of_listing(synopsis: NoisyHistogram) -> Effort:
    """All cells written down. Those of an adaptive release have boxes and estimates, which takes several passes."""
    return effort_of_cells(synopsis, 40 if isinstance(synopsis.cells, AdaptiveCells) else 1)


def effort_of_moments(synopsis: NoisyHistogram) -> Effort:
    """Some passes for each attribute and each pair of attributes."""
    return effort_of_cells(synopsis, 4 + synopsis.grid.dimensions**2)


def effort_of_products(synopsis: NoisyHistogram, attributes: int, *, sums: int) -> Effort:
    """Sums of products of two attributes, and the law of so many weighted sums of them."""
    passes = 4 + (attributes + 1) * (attributes + 2) // 2 * (1 + sums)
    return Effort(effort_of_cells(synopsis, passes).seconds, "Name fewer attributes.")


def effort_of_shares(synopsis: NoisyHistogram, names: tuple[str, str], bins: int | None) -> Effort:
    """Two marginals, and an interval for each share."""
    seconds = 3 * effort_of_marginal(synopsis, bins).seconds + _SHARE * min(
        _entries(synopsis, names, bins), MOST_SHARES
    )
    return Effort(seconds, _FEWER_CELLS)


def effort_of_information(synopsis: NoisyHistogram, names: tuple[str, str], bins: int | None) -> Effort:
    """A marginal, and its noise drawn again many times."""
    drawn = TABLE_DRAWS * min(_entries(synopsis, names, bins), MOST_CELLS)
    return Effort(
        effort_of_marginal(synopsis, bins).seconds + _REDRAWN_TABLE + _REDRAWN_ENTRY * drawn,
        _FEWER_CELLS,
    )


def _entries(synopsis: NoisyHistogram, names: tuple[str, ...], bins: int | None) -> int:
    """The cells of a marginal."""
    domain, most = synopsis.domain, bins or (_BINS_ACROSS if isinstance(synopsis.cells, AdaptiveCells) else None)
    axes = [axis for name, axis in zip(domain.names, synopsis.grid.axes, strict=True) if name in names]
    return prod(min(axis.cells, most or axis.cells) if axis.is_ordered else axis.cells for axis in axes)


def effort_of_components(synopsis: NoisyHistogram, attributes: int) -> Effort:
    """Sums of products, and eigenvalues of matrices that noise may have left."""
    drawn = _DRAWN_ENTRY * COMPONENT_DRAWS * (attributes + 2) ** 2 * (1 + attributes**2 / 8)
    return Effort(
        effort_of_products(synopsis, attributes, sums=attributes + 1).seconds + drawn, "Name fewer attributes."
    )


def effort_of_quantiles(synopsis: NoisyHistogram, shares: int) -> Effort:
    """A pass for each quantile; of an adaptive release, running sums in two orders before that."""
    if isinstance(synopsis.cells, AdaptiveCells):
        return effort_of_cells(synopsis, 50 + 3 * shares)
    return effort_of_cells(synopsis, shares)


def effort_of_marginal(synopsis: NoisyHistogram, bins: int | None) -> Effort:
    """A pass; of an adaptive release, the pairs of a leaf and a bin that touch, which are more where bins are small."""
    if not isinstance(synopsis.cells, AdaptiveCells):
        return effort_of_cells(synopsis)
    leaves = len(synopsis.counts)
    overlaps = min(max(MOST_OVERLAPS, 2 * leaves), leaves * (1 + (bins or 0) / _BINS_ACROSS))
    return Effort(_OVERLAP * overlaps, "Ask for fewer cells, or name fewer attributes.")


def effort_of_hotspots(synopsis: NoisyHistogram, names: tuple[str, ...], bins: int | None) -> Effort:
    """A marginal, thresholds of its cells, and a region for every other cell at most, with its interval."""
    cells = min(_entries(synopsis, names, bins), MOST_CELLS_OF_HOTSPOTS)
    searched = _THRESHOLDS + _SEARCHED * cells + _REGION * min(cells / 2, MOST_REGIONS)
    return Effort(effort_of_marginal(synopsis, bins).seconds + searched, _FEWER_CELLS)


def effort_of_slices(histogram: NoisyHistogram, slices: int) -> float:
    """Seconds that it takes to make so many slices: for each of them all counts are looked at."""
    if isinstance(histogram.cells, AdaptiveCells):
        return slices * len(histogram.counts) * _SLICED_LEAF
    return slices * len(histogram.counts) * (_SLICED if histogram.cells.complete else _SLICED_LISTED)


def effort_of_boxes(synopsis: NoisyHistogram, boxes: int) -> Effort:
    """Range counts: from a table of sums, or, of a thresholded synopsis, from all listed cells."""
    visited = synopsis.cells.visited_by_a_box
    seconds = boxes * (_BOX + _BOX_AND_CELL * synopsis.grid.dimensions * visited)
    return Effort(seconds, "Ask for fewer boxes at once.")


def effort_of_clusters(histogram: NoisyHistogram, *, k: int, asked: Method) -> Effort:
    """Centres by the method that will serve, or by two that are compared, and what the noise leaves certain of them."""
    require_k(histogram, k)
    choice = choose(histogram, k, asked)
    tried = [choice.method] if choice.rival is None else [choice.method, choice.rival]
    return Effort(
        sum(_clusters(histogram, k, method) for method in tried),
        f"Ask for fewer clusters than {k} or another method.",
    )


def effort_of_scan(histogram: NoisyHistogram, *, ks: range) -> Effort:
    """Projected or thresholded centres for each k."""
    require_k(histogram, ks[0])
    require_k(histogram, ks[-1])
    return Effort(
        sum(_clusters(histogram, k, Method.PROJECTED) for k in (max(1, ks[0] - 1), *ks)),
        "Scan fewer values of k at once, or smaller ones.",
    )


def _clusters(histogram: NoisyHistogram, k: int, method: Method) -> float:
    shape, counts = ordered_shape(histogram.grid), len(histogram.counts)
    points, axes = max(1, prod(shape) if histogram.cells.complete else counts), len(shape)
    if isinstance(histogram.cells, AdaptiveCells):
        points = box_count(histogram.cells) if method is Method.POSTERIOR else counts
    summing = _PASS * counts if points < counts else 0.0  # over categories, and without missing values
    if method is Method.POSTERIOR:
        replicas, sweeps = sampler_effort(points, k)
        return summing + _SAMPLED * k * points * sweeps * replicas / 8
    placed_on = points if points <= MOST_POINTS else 2 * MOST_BLOCKS  # twice, for steps on smaller blocks
    bounded = min(_KMEANS_MOST, _POINT_AND_CLUSTER * placed_on * k)
    pass_over_all = _DISTANCE * points * axes * k
    passes = 8
    if method is Method.LLOYD:
        passes += LLOYD_STARTS * (1 + steps_allowed(points, LLOYD_STARTS * k * axes))
    redrawn = _REDRAWN_LEAF if isinstance(histogram.cells, AdaptiveCells) else _REDRAWN_CELL
    return summing + bounded + redrawn * points + passes * pass_over_all
