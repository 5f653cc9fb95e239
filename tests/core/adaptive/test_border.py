"""Which parts of cells a box cuts: each of them once, by the axes along which it is cut."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from core.adaptive.border import Border, Item
from core.adaptive.parts import Cut


def _cut(dimensions: int, rng: np.random.Generator) -> Cut:
    parts = 2 ** rng.integers(0, 3, (5, dimensions))
    return Cut.of(parts + rng.integers(0, 20, parts.shape), parts)


def _items(cut: Cut, rng: np.random.Generator) -> tuple[np.ndarray, Item]:
    cells = rng.integers(0, len(cut.widths), 200)
    widths = cut.widths[cells]
    ends = np.sort(rng.integers(0, widths + 1, (2, *widths.shape)), axis=0)
    low, high = np.minimum(ends[0], widths - 1), np.maximum(ends[1], 1)
    high = np.maximum(high, low + 1)
    return cells, Item(low, high, np.minimum(high + rng.integers(0, 2, high.shape), widths))


def _brute(cut: Cut, cell: int, low: np.ndarray, high: np.ndarray, end: np.ndarray) -> dict[int, tuple[int, ...]]:
    """The number of each part that is touched and not whole, and the axes along which it is not whole."""
    found = {}
    n, w = cut.parts[cell].tolist(), cut.widths[cell].tolist()
    for i, places in enumerate(product(*map(range, n))):
        spans = [(-(-j * w[x] // n[x]), -(-(j + 1) * w[x] // n[x])) for x, j in enumerate(places)]
        if all(begin < end[x] and stop > low[x] for x, (begin, stop) in enumerate(spans)):
            axes = tuple(x for x, (begin, stop) in enumerate(spans) if begin < low[x] or stop > high[x])
            if axes:
                found[int(cut.first[cell]) + i] = axes
    return found


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_faces_have_every_part_that_is_cut_once(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    cut = _cut(dimensions, rng)
    cells, item = _items(cut, rng)
    faces = list(Border.of(cut, cells, item).faces())
    assert len({face.axes for face in faces}) == len(faces)  # parts that are cut along the same axes are together
    seen = sorted((o, p, face.axes) for face in faces for o, p in zip(face.owner, face.parts, strict=True))
    expected = sorted(
        (i, part, axes)
        for i, cell in enumerate(cells.tolist())
        for part, axes in _brute(cut, cell, item.low[i], item.high[i], item.end[i]).items()
    )
    assert seen == expected


def test_a_border_along_one_axis_is_that_of_the_cut_along_it() -> None:
    rng = np.random.default_rng(4)
    cut = _cut(2, rng)
    cells, item = _items(cut, rng)
    for x in range(2):
        alone = Cut.of(cut.widths[:, [x]], cut.parts[:, [x]])
        expected = Border.of(alone, cells, Item(*(each[:, [x]] for each in (item.low, item.high, item.end))))
        along = Border.of(cut, cells, item).along(x, alone)
        for name in ("begin", "stop", "first", "last"):
            np.testing.assert_array_equal(getattr(along, name), getattr(expected, name))
