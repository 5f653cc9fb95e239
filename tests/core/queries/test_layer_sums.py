"""Counts of boxes on adaptive releases, against going through every leaf."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from core.arrays import Floats
from core.domain.attribute import MISSING_LABEL, Ordered
from core.domain.category import Category
from core.domain.number import Number
from core.domain.whole import WholeValues
from core.queries.boxes import Box, Chosen, Range, Restriction
from core.queries.edges import Edges
from core.queries.layer_sums import LayerSums
from core.queries.range_count import RangeCounts, count_boxes, range_table
from tests.core.queries.layered import DOMAINS, Layered, layered, made_up, whole_world

LEVEL = 0.95
BOXES = 60


class Shares(NamedTuple):
    """For each leaf what part of it lies in a box, whether all of it does, and whether the box touches it."""

    share: Floats
    inside: NDArray[np.bool_]
    touched: NDArray[np.bool_]


def release(name: str, *, bought: bool = False, epsilon: str = "2") -> Layered:
    """A release with enough noise that estimates and raw counts differ."""
    domain = DOMAINS[name]
    return layered(domain, made_up(domain, 4000), epsilon, bought=bought)


def random_box(world: Layered, rng: np.random.Generator) -> Box:
    """Ranges and choices of random attributes, on their edges or not."""
    box: list[Restriction] = []
    for attribute in world.domain.attributes:
        kind = rng.integers(0, 4)
        if isinstance(attribute, Category):
            if kind:
                box.append(Chosen(attribute.name, tuple(rng.permutation(attribute.labels)[:kind].tolist())))
        elif attribute.keeps_missing and kind == 0:
            box.append(Chosen(attribute.name, (MISSING_LABEL,)))
        elif kind:
            assert isinstance(attribute, Ordered)
            box.append(_random_range(attribute, rng, narrow=kind == 1, on_edges=kind == 3))
    return tuple(box)


def _random_range(attribute: Ordered, rng: np.random.Generator, *, narrow: bool, on_edges: bool) -> Range:
    shares = np.sort(rng.random(2) * (0.1 if narrow else 1.0))
    if isinstance(attribute, WholeValues):
        values = np.minimum((shares * attribute.values).astype(np.int64), attribute.values - 1) + attribute.first
        return Range(attribute.name, *(values / attribute.steps_per_unit).tolist())
    if on_edges:
        places = np.sort(rng.choice(17, 2, replace=False)) / 16
        return Range(attribute.name, *(attribute.start + places * attribute.width).tolist())
    return Range(attribute.name, *(attribute.start + shares * attribute.width).tolist())


def shares_of(world: Layered, box: Box) -> Shares:
    """By going through every leaf along every axis."""
    layers, domain = world.cells.layers, world.domain
    low, high = layers.boxes(2)
    shares = Shares(*(np.ones(len(low), dtype=kind) for kind in (np.float64, np.bool_, np.bool_)))
    ordered = 0
    for x, attribute in enumerate(domain.attributes):
        places = layers.base_places[layers.leaf_base, x]
        along = low[:, ordered], high[:, ordered]
        ordered += isinstance(attribute, Ordered)
        for part in box:
            if part.attribute != attribute.name:
                continue
            if isinstance(part, Chosen):
                labels = attribute.labels if isinstance(attribute, Category) else ()
                last = layers.base.axes[x].cells - 1
                kept = np.isin(places, [labels.index(each) if labels else last for each in part.labels])
                each = Shares(kept.astype(np.float64), kept, kept)
            else:
                assert isinstance(attribute, Ordered)
                each = _along(attribute, part, *along)
            shares = Shares(shares.share * each.share, shares.inside & each.inside, shares.touched & each.touched)
    return shares


def _along(attribute: Ordered, part: Range, low: NDArray[np.int64], high: NDArray[np.int64]) -> Shares:
    """Leaves from code `low` to `high`; a range without a leaf at all has those of missing values, which begin where
    they end.
    """
    if isinstance(attribute, WholeValues):
        first, last = (round(end * attribute.steps_per_unit) - attribute.first for end in (part.lower, part.upper))
        begin, stop, end = first, last + 1, last + 1
    else:
        begin, stop = (round((end - attribute.start) / attribute.width * 2**32) for end in (part.lower, part.upper))
        end = min(stop + 1, 2**32)
    width = np.maximum(high - low, 1)
    share = np.clip(np.minimum(high, stop) - np.maximum(low, begin), 0, None) / width
    exists = high > low
    return Shares(share, exists & (low >= begin) & (high <= stop), exists & (low < end) & (high > begin))


def counted(world: Layered, boxes: list[Box]) -> RangeCounts:
    """The answers of the table."""
    return count_boxes(range_table(world.synopsis), tuple(boxes), level=LEVEL, simultaneous=False)


@pytest.mark.parametrize("bought", [False, True])
@pytest.mark.parametrize("name", [name for name in DOMAINS if name != "times"])
def test_boxes_count_as_going_through_every_leaf(name: str, *, bought: bool) -> None:
    """Estimate, deviation of the noise, leaves inside and leaves touched."""
    world, rng = release(name, bought=bought), np.random.default_rng(7)
    boxes = [random_box(world, rng) for _ in range(BOXES)]
    answers, fusion = counted(world, boxes), world.cells.fusion
    scale = np.abs(fusion.leaves).sum()
    for i, box in enumerate(boxes):
        shares = shares_of(world, box)
        count, fused = shares.share @ fusion.shown.leaves, shares.share @ fusion.leaves
        assert answers.count[i] == pytest.approx(count, abs=1e-9 * scale)
        assert answers.noise_low[i] <= min(count, fused) + 1e-9 * scale
        assert answers.noise_high[i] >= max(count, fused) - 1e-9 * scale
        assert answers.noise_sd[i] == pytest.approx(np.sqrt(fusion.variance(shares.share)), rel=1e-6)
        assert answers.without_cut[i] == pytest.approx(fusion.leaves[shares.inside].sum(), abs=1e-9 * scale)
        assert answers.with_cut[i] == pytest.approx(fusion.leaves[shares.touched].sum(), abs=1e-9 * scale)


@pytest.mark.parametrize("name", list(DOMAINS))
def test_with_hardly_any_noise_intervals_hold_the_exact_count(name: str) -> None:
    """Whatever is cut: the truth lies between the leaves inside and all that are touched."""
    world, rng = whole_world(name), np.random.default_rng(11)
    boxes = [random_box(world, rng) for _ in range(BOXES)]
    answers = counted(world, boxes)
    truth = np.array([_rows_in(world, box) for box in boxes])
    reach = 1.0  # at this epsilon a leaf is off by one in a million draws or so, and a base cell by a little
    assert ((answers.low - reach <= truth) & (truth <= answers.high + reach)).all()


def _rows_in(world: Layered, box: Box) -> int:
    kept = np.ones(len(world.columns[0]), dtype=np.bool_)
    for part in box:
        attribute = world.domain.attributes[world.domain.names.index(part.attribute)]
        if isinstance(part, Chosen):
            if isinstance(attribute, Category):
                kept &= np.isin(world.labels(part.attribute), part.labels)
            else:
                kept &= np.isnan(world.values(part.attribute))
        else:
            values = world.values(part.attribute)
            whole = isinstance(attribute, WholeValues)
            kept &= (values >= part.lower) & ((values <= part.upper) if whole else (values < part.upper))
    return int(kept.sum())


@pytest.mark.parametrize("name", ["one number", "two numbers", "whole values and a category"])
def test_snapped_boxes_end_at_edges_of_leaves(name: str) -> None:
    """Along every axis both ends are edges of leaves, and the box is not empty."""
    world, rng = release(name), np.random.default_rng(3)
    table = range_table(world.synopsis)
    assert isinstance(table, LayerSums)
    boxes = tuple(random_box(world, rng) for _ in range(BOXES))
    edges = table.nearest(Edges.of(boxes, world.domain, world.synopsis.grid))
    low, high = table.in_codes(edges)
    begins, ends = world.cells.layers.boxes(2)
    for x in range(low.shape[1]):
        lines = np.concatenate([begins[:, x], ends[:, x]])
        assert np.isin(low[:, x], lines).all()
        assert np.isin(high[:, x], lines).all()
        assert isinstance(world.domain.ordered[x], Number | WholeValues)
    assert (edges.low < edges.high).any(axis=1).all()


def test_many_boxes_are_counted_in_parts_as_they_are_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not grow with the number of boxes, and the answers do not depend on it."""
    world, rng = release("three numbers"), np.random.default_rng(5)
    boxes = [random_box(world, rng) for _ in range(40)]
    at_once = counted(world, boxes)
    monkeypatch.setattr("core.queries.layer_sums._AT_ONCE", 1)
    one_by_one = counted(world, boxes)
    assert (at_once.count == one_by_one.count).all()
    assert (at_once.noise_sd == one_by_one.noise_sd).all()
