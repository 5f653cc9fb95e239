"""Slices: a part of a noisy histogram that is made of whole cells, so that every question can be asked of it.

Of an adaptive release a slice has exactly the bounds that were asked for, and leaves may be cut
(`core.queries.adaptive_slices`).

The noise of a cell does not depend on which other cells are looked at. So the cells of a slice have the law of the
whole release, and what holds for questions to a release holds for questions to a slice that was chosen beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.cells import Cells, DenseCells
from core.domain.attribute import Attribute, Missing, Ordered
from core.domain.axis import Axis
from core.domain.category import Category
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.errors import InvalidQuery
from core.mechanisms.law import NoiseLaw
from core.noisy_histogram import NoisyHistogram, WholeSize
from core.queries.adaptive_slices import LeafPart, leaf_part, leaves_with_values
from core.queries.boxes import Box, Chosen, require_attributes
from core.queries.edges import Edges

Places = NDArray[np.int64] | None  # the cells of an axis, ascending; None for all of them


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The whole cells nearest to a box: their attributes, their grid, and their places on the axes of the whole.

    `where` tells this part in the texts that ask for it again, by attribute; attributes without a restriction are left
    out.
    """

    domain: Domain
    grid: Grid
    places: tuple[Places, ...]
    where: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slice(NoisyHistogram):
    """Some cells of a release as a histogram of their own. Its size is the sum of its cells: nothing was bought for it.

    `where` tells which cells, as texts by attribute.
    """

    domain: Domain
    cells: Cells
    noise_law: NoiseLaw
    clusters: int
    size: int
    whole: WholeSize | None
    where: dict[str, str]
    size_declared: bool = False
    bought: NoiseLaw | None = None

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise of each cell."""
        return self.noise_law

    @property
    def size_law(self) -> NoiseLaw | None:
        """None, unless the slice has all rows of its release."""
        return self.bought

    @property
    def whole_size(self) -> WholeSize | None:
        """What is certain about the whole release that this is a part of."""
        return self.whole


def part_of(histogram: NoisyHistogram, box: Box) -> Part:
    """The whole cells nearest to a box. InvalidQuery where the box makes no sense.

    Of an adaptive release, the leaves that have a part in it; it then has no places on axes.
    """
    if isinstance(histogram.cells, AdaptiveCells):
        part = leaf_part(histogram, histogram.cells, box)
        return Part(part.domain, part.cells.grid, (), _texts(part))
    grid = histogram.grid
    edges = Edges.of((box,), histogram.domain, grid).nearest(grid)
    restricted = {restriction.attribute for restriction in box}
    places = tuple(_places(edges, x) if name in restricted else None for x, name in enumerate(histogram.domain.names))
    return _part(histogram, places)


def slice_of(histogram: NoisyHistogram, box: Box) -> Slice:
    """The slice of the whole cells nearest to a box: each end of a range moves to the nearest edge of a cell.

    A range within one cell becomes that cell. InvalidQuery where the box makes no sense. A slice of an adaptive release
    has the box as it is.
    """
    if isinstance(histogram.cells, AdaptiveCells):
        return _slice_of_leaves(histogram, leaf_part(histogram, histogram.cells, box))
    return _slice(histogram, part_of(histogram, box))


def group(histogram: NoisyHistogram, name: str) -> list[tuple[str, Slice]]:
    """A slice for each cell of a category, in order, with its label. InvalidQuery where it is no category."""
    domain = histogram.domain
    require_attributes(domain, (name,))
    attribute = domain.attributes[domain.names.index(name)]
    if not isinstance(attribute, Category):
        raise InvalidQuery(f"Answers are grouped by a category; {name} is none. Ask for ranges of it one by one.")
    return [(label, slice_of(histogram, (Chosen(name, (label,)),))) for label in attribute.labels]


def with_values(histogram: NoisyHistogram, names: Sequence[str]) -> NoisyHistogram:
    """The rows with a value of each of these attributes; the histogram itself where none of them can be missing."""
    if isinstance(histogram.cells, AdaptiveCells):
        part = leaves_with_values(histogram, histogram.cells, names)
        return histogram if part is None else _slice_of_leaves(histogram, part)
    places: list[Places] = [None] * histogram.grid.dimensions
    for x, (attribute, axis) in enumerate(zip(histogram.domain.attributes, histogram.grid.axes, strict=True)):
        if attribute.name in names and axis.keeps_missing:
            places[x] = np.arange(axis.value_cells)
    if all(each is None for each in places):
        return histogram
    return _slice(histogram, _part(histogram, tuple(places)))


def numeric_part(histogram: NoisyHistogram) -> NoisyHistogram:
    """The rows that have a value of every ordered attribute, over these attributes alone: what distances need.

    Cells are summed over categories, so that the noise of each is the sum of as many draws. Listed cells stay as they
    are: what was left out below a threshold has no sum. Leaves of an adaptive release stay as they are, too: those of
    different categories overlap. InvalidQuery where no attribute is ordered.
    """
    domain = histogram.domain
    if not domain.ordered:
        raise InvalidQuery("Every attribute of this release is a category: there are no distances to go by.")
    part = with_values(histogram, [attribute.name for attribute in domain.ordered])
    cells, axes = part.cells, part.domain.ordered_axes
    if len(axes) == domain.dimensions or not isinstance(cells, DenseCells):
        return part
    summed = prod(axis.cells for axis in part.grid.axes if not axis.is_ordered)
    return Slice(
        domain=Domain(part.domain.ordered),
        cells=DenseCells(part.grid.select(axes), cells.marginal(axes)),
        noise_law=part.law.summed(summed),
        clusters=part.clusters,
        size=part.size,
        size_declared=part.size_declared,
        bought=part.size_law,
        whole=part.whole_size,
        where=part.where if isinstance(part, Slice) else {},
    )


def _slice(histogram: NoisyHistogram, part: Part) -> Slice:
    cells = histogram.cells.restricted(part.grid, part.places)
    whole = histogram.whole_size
    if whole is not None:
        whole = whole.less(
            rows=float(histogram.counts.sum() - cells.counts.sum()),
            listed=len(histogram.counts) - len(cells.counts),
            cells=(histogram.grid.cell_count - part.grid.cell_count) * histogram.law.draws,
        )
    before = histogram.where if isinstance(histogram, Slice) else {}
    return Slice(
        domain=part.domain,
        cells=cells,
        noise_law=histogram.law,
        clusters=histogram.clusters,
        size=max(1, int(cells.counts.sum())),
        whole=whole,
        where=before | part.where,
    )


def _slice_of_leaves(histogram: NoisyHistogram, part: LeafPart) -> Slice:
    """No whole size: it is of use to thresholded releases only."""
    before = histogram.where if isinstance(histogram, Slice) else {}
    return Slice(
        domain=part.domain,
        cells=part.cells,
        noise_law=histogram.law,
        clusters=histogram.clusters,
        size=max(1, round(float(part.cells.estimates.sum()))),
        whole=None,
        where=before | _texts(part),
    )


def _texts(part: LeafPart) -> dict[str, str]:
    """The texts that ask for a part again."""
    return {each.name: _written(each) for each in part.domain.attributes if each.name in part.restricted}


def _part(histogram: NoisyHistogram, places: tuple[Places, ...]) -> Part:
    attributes: list[Attribute] = []
    axes: list[Axis] = []
    where = {}
    for attribute, axis, chosen in zip(histogram.domain.attributes, histogram.grid.axes, places, strict=True):
        kept, kept_axis = (attribute, axis) if chosen is None else _restricted(attribute, axis, chosen)
        attributes.append(kept)
        axes.append(kept_axis)
        if chosen is not None:
            where[attribute.name] = _written(kept)
    return Part(Domain(tuple(attributes)), Grid(tuple(axes)), places, where)


def _places(edges: Edges, x: int) -> NDArray[np.int64]:
    runs = zip(edges.low[0, :, x].tolist(), edges.high[0, :, x].tolist(), strict=True)
    return np.concatenate([np.arange(int(low), int(high), dtype=np.int64) for low, high in runs])


def _restricted(attribute: Attribute, axis: Axis, places: NDArray[np.int64]) -> tuple[Attribute, Axis]:
    """The attribute of these cells. The cell of missing values alone is a category: no value of it is on a line."""
    if isinstance(attribute, Ordered) and places[0] == axis.value_cells:
        return Category(attribute.name, ("any",), missing=Missing.KEEP).restricted(axis, np.array([1]))
    return attribute.restricted(axis, places)


def _written(attribute: Attribute) -> str:
    """A restricted attribute as the text that asks for it."""
    if isinstance(attribute, Category):
        return ",".join(attribute.labels)
    bounds = attribute.declaration()
    return "..".join(_end(bounds[end]) for end in ("lower", "upper"))


def _end(bound: float | str) -> str:
    return str(bound).removesuffix(".0")
