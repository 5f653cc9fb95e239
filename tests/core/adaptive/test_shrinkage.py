"""Shrunk estimates: they add up, leave what stands out from the noise alone, and are closer where rows are few."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from core.adaptive.cells import AdaptiveCells
from core.adaptive.cuts import NEWEST, Version
from core.adaptive.fusion import Fusion
from core.adaptive.layers import Layers
from core.adaptive.release import LayerCounts
from core.adaptive.shrinkage import OfLayers, shrunk
from core.arrays import Floats, Wholes
from core.domain.attribute import Missing
from core.domain.category import Category
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.integer import Integer
from core.domain.number import Number
from core.histogram import count
from core.queries.boxes import Range
from core.queries.range_count import RangeCounts, count_boxes, range_table
from core.records import OutOfRange, Records, take_in
from core.synopsis import Synopsis
from tests.core.adaptive.trees import World, laws_at, layers_on, worlds

CASES = settings(max_examples=60, deadline=None)
STORED = Path(__file__).parent / "version_1.synopsis"


@CASES
@given(worlds())
def test_layers_add_up_and_the_whole_is_that_of_fusion(world: World) -> None:
    """Leaves to coarse cells, those to base cells."""
    layers, fusion = world.layers, Fusion(world.layers)
    shown, scale = fusion.shown, 1e-9 * (1.0 + np.abs(fusion.leaves).sum())
    assert np.abs(np.bincount(layers.leaf_coarse, shown.leaves) - shown.coarse).max() <= scale
    assert np.abs(np.bincount(layers.coarse_base, shown.coarse) - shown.base).max() <= scale
    assert abs(shown.base.sum() - fusion.base.sum()) <= scale


def test_combinations_of_categories_and_missing_values_keep_their_estimates() -> None:
    """What is known of one of them says nothing about where the rows of another lie."""
    domain = Domain((Category("a", ("one", "two")), Number("x", 0, 1, Missing.KEEP), Integer("y", 0, 4)))
    layers = layers_on(domain.grid([2, 4, 3]), laws_at("0.2"), 2, rows=200.0)
    fusion = Fusion(layers)
    places = layers.base_places
    assert layers.base.cell_count == 2 * 5 * 3
    blocks = 2 * places[:, 0] + (places[:, 1] == 4)
    assert np.allclose(np.bincount(blocks, fusion.shown.base), np.bincount(blocks, fusion.base))
    assert np.abs(fusion.shown.base - fusion.base).max() > 1.0


def by_hand(P: float, fused: Floats, variances: Floats, shares: Floats) -> Floats:
    """The formula of `core.adaptive.shrinkage` for the parts of one cell."""
    V = variances.sum()
    parts = fused + variances / V * (P - fused.sum())
    r = max(P, 0.0) ** 2 / V
    return shares * P + r**2 / (1 + r**2) * (parts - shares * P)


def test_four_base_cells_by_hand() -> None:
    """Two pairs of base cells, then their leaves; the last base cell has three values and the others four."""
    layers = Layers(Grid((Integer("x", 0, 14).axis(4),)), laws_at("0.5"), np.array([900, 20, -15, 40]))
    layers.take_coarse(np.arange(layers.cut_base()) * 40)
    layers.take_leaves(np.arange(layers.cut_coarse()) * 9 - 30)
    assert layers.coarse.sizes.tolist()[0] > 1
    widths = layers.coarse.widths[:, 0]
    assert sorted(widths.tolist()) == [3, 4, 4, 4]
    fusion = Fusion(layers)
    pairs = by_hand(
        fusion.base.sum(),
        fusion.base.reshape(2, 2).sum(axis=1),
        fusion.t.reshape(2, 2).sum(axis=1),
        widths.reshape(2, 2).sum(axis=1) / 15,
    )
    base = np.concatenate(
        [
            by_hand(pairs[i], fusion.base[part], fusion.t[part], widths[part] / widths[part].sum())
            for i, part in enumerate((slice(0, 2), slice(2, 4)))
        ]
    )
    assert fusion.shown.base == pytest.approx(base, rel=1e-12)
    spans, coarse = layers.coarse_spans[1][:, 0], np.empty(len(layers.coarse))
    for i in range(4):
        of = layers.coarse_base == i
        coarse[of] = by_hand(base[i], fusion.coarse[of], fusion.u[of], spans[of] / widths[i])
    assert fusion.shown.coarse == pytest.approx(coarse, rel=1e-12)
    for i in range(len(coarse)):
        of = layers.leaf_coarse == i
        leaves = by_hand(
            coarse[i],
            fusion.leaves[of],
            np.full(of.sum(), fusion.leaf_variance[layers.coarse_base[i]]),
            layers.leaf_spans[1][of, 0] / spans[i],
        )
        assert fusion.shown.leaves[of] == pytest.approx(leaves, rel=1e-12)


def test_cells_without_rows_are_even_and_those_that_stand_out_stay() -> None:
    """A negative cell is shared out by volume alone; a thousand standard deviations leave nothing to shrink."""
    layers = Layers(Grid.uniform(2, 1), laws_at("1"), np.array([-50, -50]))
    layers.take_coarse(np.zeros(layers.cut_base(), dtype=np.int64))
    layers.cut_coarse()
    layers.take_leaves(np.full(len(layers.leaves), -40))
    fused = OfLayers(np.array([-90.0, 30.0]), np.array([-90.0, 30.0]), np.array([-90.0, 30.0]))
    ones = OfLayers(*(np.ones(2) for _ in range(3)))
    assert shrunk(layers, fused, ones).base.tolist() == [-30.0, -30.0]
    many = OfLayers(*(np.array([9e5, 1e5]) for _ in range(3)))
    assert shrunk(layers, many, ones).leaves == pytest.approx(many.leaves, rel=1e-12)


def sparse_release(seed: int) -> tuple[Fusion, Wholes]:
    """10,000 rows in a corner of two numbers at epsilon 0.1, and the rows of each leaf."""
    rng = np.random.default_rng(seed)
    domain = Domain((Number("x", 0, 1), Number("y", 0, 1)))
    points = np.clip(rng.exponential(0.08, (10_000, 2)), 0, 1)
    records: Records = take_in(tuple(points.T), domain, OutOfRange.CLIP).records
    grid, laws = domain.grid([8, 8]), laws_at("0.1")
    base = count(records, grid).cells
    layers = Layers(grid, laws, base + laws.base.simulate(base.shape, rng))
    layers.cut_base()
    coarse = LayerCounts(layers, leaves=False)
    coarse.add(records)
    counted = coarse.cells[layers.coarse_counted]
    layers.take_coarse(counted + laws.coarse.simulate(counted.shape, rng))
    layers.cut_coarse()
    leaves = LayerCounts(layers, leaves=True)
    leaves.add(records)
    noise = [laws.leaf(is_cut=cut).simulate(leaves.cells.shape, rng) for cut in (False, True)]
    layers.take_leaves(leaves.cells + np.where(layers.leaf_is_cut, noise[1], noise[0]))
    return Fusion(layers), leaves.cells


def test_shrunk_estimates_are_closer_where_most_of_the_space_is_empty() -> None:
    """Mean errors of leaves and base cells, 0.79 and 0.57 of those of fusion when this was written; and squares."""
    errors = []
    for seed in range(10):
        fusion, exact = sparse_release(seed)
        base = np.bincount(fusion.layers.leaf_base, exact)
        pairs = [(fusion.leaves - exact, fusion.shown.leaves - exact), (fusion.base - base, fusion.shown.base - base)]
        errors.append([[(np.abs(each).mean(), (each**2).mean()) for each in pair] for pair in pairs])
    before, after = np.moveaxis(np.mean(errors, axis=0), 1, 0)
    assert (after[:, 0] < [0.85, 0.65] * before[:, 0]).all(), after / before
    assert (after[:, 1] < before[:, 1]).all(), after / before


# Versions

COUNTS = [48.72038775732701, 611.4922806091797, 3.529078814794553]
LOW = [-5.933217327202382, 507.710656678628, 0.0]
HIGH = [168.68103321333967, 715.2739045397315, 22.67164759069687]


def counts_of(synopsis: Synopsis) -> RangeCounts:
    """Of three boxes."""
    boxes = (
        (Range("x", 0.1, 0.33), Range("y", 0.2, 0.9)),
        (Range("x", 0.5, 1.0),),
        (Range("x", 0.76, 0.99), Range("y", 0.01, 0.24)),
    )
    return count_boxes(range_table(synopsis), boxes, level=0.95, simultaneous=False)


def test_a_release_of_version_1_keeps_its_bytes_its_digest_and_its_answers() -> None:
    """Stored, and counted, by the code before there was another version."""
    data = STORED.read_bytes()
    synopsis = Synopsis.from_bytes(data)
    assert synopsis.to_bytes() == data
    assert synopsis.digest == sha256(data).hexdigest()
    assert synopsis.digest == "c56dcf0ed42077866245711a609a88c8961e8193e47773eed573d0ee63eeeb1d"
    assert isinstance(synopsis.cells, AdaptiveCells)
    assert synopsis.cells.layers.version is Version.FUSED
    answer = counts_of(synopsis)
    assert answer.count == pytest.approx(COUNTS, rel=1e-12)
    assert answer.low == pytest.approx(LOW, rel=1e-12)
    assert answer.high == pytest.approx(HIGH, rel=1e-12)


def test_the_newest_version_has_other_counts_and_the_same_bounds_of_noise() -> None:
    """The same integers under the newest version: cells and fused estimates are the same."""
    assert NEWEST is Version.SHRUNK
    data = STORED.read_bytes()
    old, new = (Synopsis.from_bytes(each) for each in (data, data.replace(b'"version":1', b'"version":2')))
    assert old.digest != new.digest
    before, after = counts_of(old), counts_of(new)
    assert (np.abs(before.count - after.count) > 0.01).any()
    assert (after.noise_sd == before.noise_sd).all()
    assert after.noise_low == pytest.approx(np.minimum(before.noise_low, after.count))
    assert after.noise_high == pytest.approx(np.maximum(before.noise_high, after.count))
    assert (after.without_cut == before.without_cut).all()
