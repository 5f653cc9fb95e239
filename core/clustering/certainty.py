"""The uncertainty of a clustering: intervals and regions of centres, stability, noise probability and merges.

An interval of a centre is the union of two parts.

*By the noise.* A centre's region is the set of cells nearest to it. The mean of the gridded rows in a region is a ratio
of noisy sums, and its Fieller interval (`core.intervals.ratios`) covers it at its level. That holds for a region fixed
beforehand. This one follows from the same counts, which costs little: see the coverage that is measured. The listed
cells of a thresholded synopsis were selected for their noise. There the bounds of `core.intervals.listed` serve, and
the mean is that of all rows in the region, listed or not.

*By the model.* Each posterior sample is a possible set of rows. Lloyd's algorithm on it, started at the answer's
centres c, ends at centres c'. The standard error of a centre is the root mean square of c' - c over samples, and the
interval is c -+ STRETCH z_(1 - alpha / 2) standard errors, with STRETCH = 2 because no model is exactly true.

Without posterior samples there is no second part. Then a centre may differ from the mean of its region: `projected` and
`thresholded` leave out counts that look like noise, and `thresholded` moves centres within their cells. There the
interval is the union of the first part and of the first part shifted by (centre - mean). So it reaches as far beyond
the centre as the noise reaches, up to the domain's bounds. With no noise to speak of, its ends are the mean and the
centre.

What an interval covers at its level (bench/coverage.py measures 95 % and more):

- the mean of the gridded rows in the region: the first part alone does that;
- the mean of the rows nearest to the centre, on planned grids, with data of the model's kind and of others. Where rows
  heap up inside a cell, at a bound say, or clusters are no wider than cells, add the `discretisation`;
- where the rows form clusters, the centre to which Lloyd on the rows would go from the answer's. Rows that form none (a
  ring, a cloud) can be cut in many ways that are nearly equally good; there Lloyd on the rows leaves these intervals
  more often than the level says, and no interval around one cut can show that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from core.adaptive.cells import AdaptiveCells
from core.arrays import Floats
from core.checkpoint import Checkpoint, carry_on
from core.clustering.kmeans import lloyd, nearest
from core.clustering.leaf_model import leaf_rows
from core.clustering.leaf_regions import Regions
from core.clustering.methods import Placed, labels_of
from core.clustering.posterior import Draws
from core.clustering.stability import stability, stability_by_noise
from core.domain.domain import Domain
from core.intervals.listed import ListedCells
from core.intervals.listed_offsets import AxisOffsets
from core.intervals.ratios import Ends, Ratio, ratio_intervals
from core.noisy_histogram import NoisyHistogram
from core.queries.estimates import axis_centres
from core.queries.size import expected_rows

STRETCH = 2.0
_LEAST_MERGE = 0.1  # merges of a smaller probability are not listed


@dataclass(frozen=True, slots=True)
class Merge:
    """Two clusters, by number, and the posterior probability that they are one: see `_merges`."""

    clusters: tuple[int, int]
    probability: float


@dataclass(frozen=True, slots=True, eq=False)
class Certainty:
    """For each centre its standard error along each axis of [-1, 1]^d, and the probability that it is only noise.

    A cluster is only noise if its region has fewer rows than `noise_floor`. Without posterior samples `errors` and the
    entries of `noise` are None, and there are no merges.
    """

    errors: Floats | None
    noise: tuple[float | None, ...]
    merges: tuple[Merge, ...]
    stability: float


def certainty(histogram: NoisyHistogram, placed: Placed, *, seed: int, checkpoint: Checkpoint = carry_on) -> Certainty:
    """From posterior samples where the method has them; else only the stability, by fresh noise."""
    centres, draws = placed.centres, placed.draws
    if draws is None:
        return Certainty(None, (None,) * len(centres), (), stability_by_noise(histogram, placed, seed, checkpoint))
    starts = np.repeat(centres[None], len(draws.counts), axis=0)
    moved = lloyd(draws.places, draws.counts, starts, checkpoint=checkpoint)
    return Certainty(
        errors=np.sqrt(np.square(moved - centres).mean(axis=0)),
        noise=tuple(_noise(histogram, placed, draws)),
        merges=_merges(centres, _own_clusterings(draws, moved, checkpoint)),
        stability=stability(placed, moved),
    )


def centre_intervals(
    histogram: NoisyHistogram, placed: Placed, labels: NDArray[np.int64], errors: Floats | None, alphas: Sequence[float]
) -> list[list[list[Ends]]]:
    """(low, high) for each alpha, centre and ordered attribute, in its own unit: the intervals of this module."""
    if isinstance(histogram.cells, AdaptiveCells):
        regions = Regions.of(histogram.cells, labels, len(placed.centres))
        return [_leaf_intervals(histogram.domain, regions, placed, errors, alpha) for alpha in alphas]
    if not histogram.cells.complete:
        return [_listed_intervals(histogram, placed, labels, alpha) for alpha in alphas]
    domain, k = histogram.domain, len(placed.centres)
    bounds = _bounds(domain)
    slabs = [_slabs(histogram, placed, labels, x) for x in range(len(bounds))]
    ratios = [slabs[x][i] for i in range(k) for x in range(len(bounds))]
    own = domain.from_unit(placed.centres)
    intervals = []
    for alpha, exact in zip(alphas, ratio_intervals(histogram.law, ratios, alphas), strict=True):
        low, high = np.reshape(exact, (k, len(bounds), 2)).transpose(2, 0, 1)
        means = own if errors is not None else np.array([ratio.value for ratio in ratios]).reshape(own.shape)
        intervals.append(_clipped(*_joined(low, high, means, own, _reach(errors, alpha, domain)), domain))
    return intervals


def _reach(errors: Floats | None, alpha: float, domain: Domain) -> Floats | None:
    """How far the model's part of an interval reaches, in the attributes' own units; None without one."""
    return None if errors is None else STRETCH * float(-ndtri(alpha / 2)) * errors * domain.width / 2


def _joined(low: Floats, high: Floats, means: Floats, centres: Floats, reach: Floats | None) -> tuple[Floats, Floats]:
    """The union of both parts of an interval; without a model, of the first part and the same shifted."""
    if reach is None:
        return _union_with_shifted(low, high, means, centres)
    return np.minimum(low, centres - reach), np.maximum(high, centres + reach)


def _leaf_intervals(
    domain: Domain, regions: Regions, placed: Placed, errors: Floats | None, alpha: float
) -> list[list[Ends]]:
    """Of an adaptive release: the means of regions of leaves (`core.clustering.leaf_regions`)."""
    low, high, means = (domain.lower + side * domain.width for side in (*regions.mean_bounds(alpha), regions.means))
    centres = domain.from_unit(placed.centres)
    return _clipped(*_joined(low, high, means, centres, _reach(errors, alpha, domain)), domain)


def _bounds(domain: Domain) -> list[Ends]:
    """The outermost edges of each ordered attribute, in its own unit."""
    return [(attribute.start, attribute.stop) for attribute in domain.ordered]


def _union_with_shifted(low: Floats, high: Floats, means: Floats, centres: Floats) -> tuple[Floats, Floats]:
    """The union of [low, high] and of the same interval shifted by (centre - mean)."""
    shift = centres - means
    return low + np.minimum(shift, 0.0), high + np.maximum(shift, 0.0)


def _clipped(low: Floats, high: Floats, domain: Domain) -> list[list[Ends]]:
    """(low, high) for each centre and attribute, within the domain."""
    ends = np.clip(np.stack([low, high], axis=2), domain.lower[:, None], domain.upper[:, None])
    return [[(a, b) for a, b in centre] for centre in ends.tolist()]


def _slabs(histogram: NoisyHistogram, placed: Placed, labels: NDArray[np.int64], axis: int) -> list[Ratio]:
    """The mean of each region along an axis as a ratio: its cells are summed by slabs across the axis."""
    shape, k = histogram.grid.shape, len(placed.centres)
    m = shape[axis]
    slab = np.arange(prod(shape)) // prod(shape[axis + 1 :]) % m + m * labels
    counts = np.bincount(slab, weights=placed.counts, minlength=k * m).astype(np.float64).reshape(k, m)
    times = np.bincount(slab, minlength=k * m).astype(np.float64).reshape(k, m)
    places, bounds = axis_centres(histogram, axis), _bounds(histogram.domain)[axis]
    return [Ratio(c[t > 0], t[t > 0], places[t > 0], bounds) for c, t in zip(counts, times, strict=True)]


def _listed_intervals(
    histogram: NoisyHistogram, placed: Placed, labels: NDArray[np.int64], alpha: float
) -> list[list[Ends]]:
    """Intervals for the mean of all rows in each region, listed or not, of a thresholded histogram.

    With v from 0 at an attribute's lower bound to 1 at its upper one, a region of n rows has sums S of v and n - S of
    1 - v. Both are at least what listed cells are certain to hold, and n is at most all rows less what the other
    regions are certain to hold: four statements, a quarter of the error each.

    Rows count at the middle of their cell. With offsets, the bounds on the mean offset from it are added
    (`core.intervals.listed_offsets`): three statements more, a seventh of the error each.
    """
    has_offsets = histogram.cells.offsets is not None
    listed, domain, k = ListedCells(histogram), histogram.domain, len(placed.centres)
    each = alpha / (7 if has_offsets else 4)
    if not len(listed.counts):
        return [_bounds(domain)] * k
    heights, rows = (histogram.cells.centres() + 1.0) / 2.0, listed.most_rows(each)
    low, high, means = (np.empty((k, len(domain.ordered))) for _ in range(3))
    within = np.zeros((3, k, len(domain.ordered)))  # the same for offsets, in the attributes' own units
    axes = [AxisOffsets(listed, x) for x in histogram.grid.ordered_axes] if has_offsets else []
    for i in range(k):
        inside = (labels == i).astype(np.float64)
        most = max(1.0, rows - float(listed.least(1.0 - inside[None], alpha=each)[0]))
        low[i] = listed.least((inside[:, None] * heights).T, alpha=each) / most
        high[i] = 1.0 - listed.least((inside[:, None] * (1.0 - heights)).T, alpha=each) / most
        weights = inside * placed.counts
        means[i] = weights @ heights / weights.sum() if weights.any() else 0.5
        if axes:
            certain = float(listed.least(inside[None], alpha=each)[0])
            within[:, i] = _offset_bounds(axes, labels == i, certain=certain, most=most, alpha=2 * each)
    # A mean of listed cells that contradicts the bounds is held all the same.
    low, high = np.clip(np.minimum(low, means), 0.0, 1.0), np.clip(np.maximum(high, means), 0.0, 1.0)
    centres = domain.from_unit(placed.centres)
    own = [domain.lower + side * domain.width for side in (low, high, means)]
    own = [side + offset for side, offset in zip(own, within, strict=True)]
    return _clipped(*_union_with_shifted(own[0], own[1], own[2], centres), domain)


def _offset_bounds(
    axes: Sequence[AxisOffsets], chosen: NDArray[np.bool_], *, certain: float, most: float, alpha: float
) -> Floats:
    """Low, high and value of the mean offset of a region's rows: three rows, a column for each ordered attribute."""
    ends = [(*axis.bounds(chosen, certain=certain, most=most, alpha=alpha), axis.mean(chosen)) for axis in axes]
    # A mean that contradicts the bounds is held all the same.
    return np.array([(min(low, mean), max(high, mean), mean) for low, high, mean in ends]).T


def noise_floor(histogram: NoisyHistogram, k: int, cells: NDArray[np.int64]) -> Floats:
    """The rows below which a region of so many cells counts as only noise, for each of k regions.

    The one-sided 95 % normal radius of the region's noise, or N / (4 k) if that is less, and at least one row.
    """
    return _floor(histogram.law.standard_deviation * np.sqrt(cells), expected_rows(histogram) / (4 * k))


def _floor(deviations: Floats, most: float) -> Floats:
    floor: Floats = np.maximum(np.minimum(float(ndtri(0.95)) * deviations, most), 1.0)
    return floor


def _noise(histogram: NoisyHistogram, placed: Placed, draws: Draws) -> list[float]:
    """The share of samples in which each region has fewer rows than its `noise_floor`."""
    k = len(placed.centres)
    labels = labels_of(placed.cells, placed.centres)
    if isinstance(histogram.cells, AdaptiveCells):
        deviations, rows = Regions.of(histogram.cells, labels, k).deviations, leaf_rows(histogram, histogram.cells)
        floor = _floor(deviations, rows / (4 * k))
    else:
        floor = noise_floor(histogram, k, np.bincount(labels, minlength=k))
    return [float((draws.counts[:, labels == i].sum(axis=1) < floor[i]).mean()) for i in range(k)]


def _own_clusterings(draws: Draws, moved: Floats, checkpoint: Checkpoint) -> Floats:
    """(samples, k, d): of two Lloyd runs on each sample the one of less WCSS, from `moved` and from its components."""
    other = lloyd(draws.places, draws.counts, draws.mu, checkpoint=checkpoint)
    squares = [(nearest(draws.places, run)[1] * draws.counts).sum(axis=1) for run in (moved, other)]
    return np.where((squares[1] < squares[0])[:, None, None], other, moved)


def _merges(centres: Floats, own: Floats) -> tuple[Merge, ...]:
    """Pairs of centres nearest to the same centre of a sample's own clustering, with the share of such samples."""
    k = len(centres)
    labels = nearest(centres, own)[0]
    shares = {(i, j): float((labels[:, i] == labels[:, j]).mean()) for i in range(k) for j in range(i + 1, k)}
    often = sorted(
        ((share, pair) for pair, share in shares.items() if share >= _LEAST_MERGE), key=lambda s: (-s[0], s[1])
    )
    return tuple(Merge(clusters=pair, probability=share) for share, pair in often)
