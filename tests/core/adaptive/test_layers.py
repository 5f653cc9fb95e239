"""Layers: who reads the counts works out the same boxes, and every record lies in exactly one of them."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.adaptive.cells import AdaptiveCells
from core.adaptive.cuts import COARSE_CONSTANT, LEAF_CONSTANT, MOST_HALVINGS
from core.adaptive.layers import Layers, Skipped
from core.adaptive.leaves import unit_boxes
from core.adaptive.release import locate
from core.arrays import Wholes
from core.budget import Epsilon
from core.canonical import canonical_json
from core.domain.category import Category
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.integer import Integer
from core.domain.number import Number
from core.errors import InvalidOrder, InvalidSynopsis
from core.histogram import cell_indices
from core.plan import Rule
from core.records import OutOfRange
from core.synopsis import Synopsis
from core.unit import RECORD
from tests.core.adaptive.test_cuts import brute_force
from tests.core.adaptive.trees import World, bases, laws_at, layers_on, random_counts, worlds
from tests.core.rows import numbers

CASES = settings(max_examples=40)


def integers_of(layers: Layers) -> Wholes:
    """All noisy counts as they are stored."""
    return np.concatenate(list(layers.integers()))


@CASES
@given(worlds())
def test_every_record_lies_in_the_box_of_its_leaf_and_in_no_other(world: World) -> None:
    """Codes at the edges, missing values and categories included; compared with every box of every layer."""
    layers, records = world.layers, world.records(40)
    base = cell_indices(records, layers.base)
    coarse, leaves = (locate(layers, records, leaves=each) for each in (False, True))
    assert (layers.leaf_coarse[leaves] == coarse).all()
    assert (layers.coarse_base[coarse] == base).all()
    ordered = layers.base.ordered_axes
    codes = np.stack([records.columns[x].astype(np.int64) for x in ordered], axis=1)
    places = layers.base.places(base)
    bases = (np.arange(layers.base.cell_count), layers.coarse_base, layers.leaf_base)
    for layer, numbers_ in enumerate((base, coarse, leaves)):
        low, high = layers.boxes(layer)
        own = layers.base_places[bases[layer]]
        for row, number in enumerate(numbers_.tolist()):
            inside = (low <= codes[row]) & (codes[row] < high)
            for i, x in enumerate(ordered):
                axis = layers.base.axes[x]
                if axis.keeps_missing:
                    is_missing = places[row, x] == axis.value_cells
                    at_missing = own[:, x] == axis.value_cells
                    inside[:, i] = at_missing if is_missing else inside[:, i] & ~at_missing
            categories = [x for x in range(layers.base.dimensions) if x not in ordered]
            same = (own[:, categories] == places[row, categories]).all(axis=1)
            assert np.flatnonzero(inside.all(axis=1) & same).tolist() == [number]


@CASES
@given(worlds())
def test_no_cell_is_empty_and_the_cells_of_a_layer_cover_their_base_cell(world: World) -> None:
    """Volumes in codes, exact whole numbers, add up; cells of missing values have no extent along that axis."""
    layers = world.layers
    low, high = layers.boxes(0)
    volumes = [prod(max(side, 1) for side in box) for box in (high - low).tolist()]
    for layer, parents in ((1, layers.coarse_base), (2, layers.leaf_base)):
        low, high = layers.boxes(layer)
        missing = np.stack(
            [
                layers.base_places[parents, x] == layers.base.axes[x].value_cells
                if layers.base.axes[x].keeps_missing
                else np.zeros(len(parents), dtype=bool)
                for x in layers.base.ordered_axes
            ],
            axis=1,
        )
        assert ((high > low) == ~missing).all()
        sums = [0] * len(volumes)
        for parent, box in zip(parents.tolist(), (high - low).tolist(), strict=True):
            sums[parent] += prod(max(side, 1) for side in box)
        assert sums == volumes


@CASES
@given(worlds())
def test_unit_boxes_are_the_boxes(world: World) -> None:
    """From -1 to 1 over all codes; NaN for missing values alone."""
    for layer in range(3):
        codes = np.array([axis.codes for axis in world.layers.axes])
        (low, high), (begin, end) = unit_boxes(world.layers, layer), world.layers.boxes(layer)
        assert (np.isnan(low) == (begin == end)).all()
        present = begin < end
        for unit, code in ((low, begin), (high, end)):
            assert (np.abs((unit + 1) / 2 * codes - code) <= 1e-15 * codes)[present].all()


def stored(world: World) -> Synopsis:
    """A synopsis of the layers of a world."""
    return Synopsis(
        dataset="d",
        release="r",
        domain=world.domain,
        cells=AdaptiveCells.of(world.layers),
        epsilon=Epsilon.parse(world.epsilon),
        size_epsilon=Epsilon(0),
        clusters=3,
        rule=Rule.ADAPTIVE,
        out_of_range=OutOfRange.CLIP,
        size=1000,
        size_declared=True,
        unit=world.unit,
    )


@CASES
@given(worlds())
def test_a_reader_works_out_the_same_boxes_from_bytes(world: World) -> None:
    """Every box of every layer, every count, and the bytes themselves."""
    data = stored(world).to_bytes()
    read = Synopsis.from_bytes(data)
    assert read.to_bytes() == data
    assert isinstance(read.cells, AdaptiveCells)
    other = read.cells.layers
    assert (other.skipped, other.laws) == (world.layers.skipped, world.layers.laws)
    assert (integers_of(other) == integers_of(world.layers)).all()
    for layer in range(3):
        for mine, theirs in zip(world.layers.boxes(layer), other.boxes(layer), strict=True):
            assert (mine == theirs).all()


def bounds(counts: Wholes, layers: Layers, widths: Wholes, *, leaves: bool, skipped: int) -> int:
    """The sum of min(2^halvings, steps) over cells by exact fractions, with so many halvings skipped."""
    total = 0
    constant = LEAF_CONSTANT if leaves else COARSE_CONSTANT
    for i, (count, box) in enumerate(zip(counts.tolist(), widths.tolist(), strict=True)):
        d = sum(side > 1 for side in box)
        rate = layers.laws.leaf(is_cut=leaves and bool(layers.coarse_counted[i])).exact_rate
        wanted = brute_force(count, rate, constant, d) if d else 0
        total += min(2 ** max(wanted - skipped, 0), prod(box))
    return total


@settings(max_examples=25)
@given(bases(), st.sampled_from(["0.7", "20"]), st.integers(0, 2**32), st.integers(1, 400))
def test_skipped_is_the_least_that_keeps_within_the_limit(
    drawn: tuple[Domain, Grid], epsilon: str, seed: int, limit: int
) -> None:
    """One halving less to skip would allow more cells than the limit; no layer has more than it."""
    base = drawn[1]
    layers = layers_on(base, laws_at(epsilon), seed, rows=1e5, max_cells=limit)
    room = max(limit, base.cell_count)
    assert len(layers.coarse) <= room
    assert len(layers.leaves) <= max(limit, len(layers.coarse))
    newest = np.where(layers.coarse_counted, layers.coarse_counts, layers.base_counts[layers.coarse_base])
    base_widths = layers.coarse.widths
    for leaves, skipped, counts, widths, most in (
        (False, layers.skipped.coarse, layers.base_counts, base_widths, room),
        (True, layers.skipped.leaves, newest, layers.leaves.widths, max(limit, len(layers.coarse))),
    ):
        assert bounds(counts, layers, widths, leaves=leaves, skipped=skipped) <= most
        if skipped:
            assert bounds(counts, layers, widths, leaves=leaves, skipped=skipped - 1) > most


@pytest.mark.parametrize("narrow", [None, 1, 2])
def test_a_single_long_axis_keeps_within_the_limit_too(narrow: int | None) -> None:
    """A cell of 2^32 steps with the largest count that can be: no more parts than allowed, from above 2^20 too."""
    short = () if narrow is None else (Integer("y", 1, narrow).axis(1),)
    for limit in (1, 1000, 2**20, 2**21 + 3):
        layers = Layers(Grid((Number("x", 0, 1).axis(1), *short)), laws_at("1"), np.array([2**63 - 1]))
        assert layers.cut_base(max_cells=limit) <= limit
        assert len(layers.coarse) > limit // 4


def test_an_attribute_with_a_single_value_is_counted_and_not_cut() -> None:
    """Its base cell is its coarse cell and its leaf, however many rows there are."""
    layers = layers_on(Grid((Integer("x", 7, 7).axis(1),)), laws_at("1"), 0, rows=1e6)
    assert (len(layers.coarse), len(layers.leaves)) == (1, 1)
    assert not layers.leaf_is_cut.any()
    assert [ends.tolist() for ends in layers.boxes(2)] == [[[0]], [[1]]]


def test_all_values_of_a_short_axis_become_leaves_and_no_more() -> None:
    """Five values take three halvings and have five parts."""
    layers = Layers(Grid((Integer("x", 0, 4).axis(1),)), laws_at("1"), np.array([10**6]))
    assert layers.cut_base(max_cells=100) == 5
    layers.take_coarse(np.full(5, 10**6))
    assert layers.cut_coarse(max_cells=100) == 5


def test_moments_beyond_2_to_the_32_are_cut_in_steps_of_many_and_none_is_lost() -> None:
    """An axis of 2^52 + 1 values in one cell: steps of 2^21 values, the last one short."""
    axis = Integer("x", 0, 2**52).axis(1)
    layers = Layers(Grid((axis,)), laws_at("1"), np.array([10**9]))
    layers.take_coarse(np.full(layers.cut_base(max_cells=10**5), 10**5))
    layers.cut_coarse(max_cells=10**5)
    assert layers.axes[0].shift == 21
    low, high = (ends[:, 0].tolist() for ends in layers.boxes(2))
    assert (low[0], high[-1]) == (0, 2**52 + 1)
    assert all(end == begin for end, begin in zip(high, low[1:], strict=False))
    assert all(before < after for before, after in pairwise(low))


# Hostile bytes

GRID = Grid((Number("x", 0, 1).axis(2), Category("a", ("one", "two")).axis(2), Integer("y", 0, 9).axis(2)))


@settings(max_examples=150)
@given(st.data())
def test_any_integers_are_the_counts_of_layers_or_are_refused(data: st.DataObject) -> None:
    """Cut short, made longer, or with any number in the place of another: refused, or read and written back."""
    laws = laws_at(data.draw(st.sampled_from(["0.00000001", "1", "100"])))
    layers = layers_on(GRID, laws, data.draw(st.integers(0, 1000)), max_cells=300)
    integers = integers_of(layers).copy()
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, min(20, len(integers) - 1)))
        integers[place] = data.draw(st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-10, 10**5)))
    integers = integers[: data.draw(st.one_of(st.none(), st.integers(0, len(integers))))]
    more = np.array(data.draw(st.lists(st.integers(-5, 500), max_size=5)), dtype=np.int64)
    integers = np.append(integers, more)
    skipped = data.draw(st.one_of(st.just(layers.skipped), st.builds(Skipped, st.integers(0, 70), st.integers(0, 70))))
    try:
        read = Layers.from_integers(GRID, laws, integers, skipped)
    except InvalidSynopsis:
        return
    assert (integers_of(read) == integers).all()
    assert read.skipped == skipped


def test_the_right_integers_alone_are_taken() -> None:
    """One count more, one less, or another number of skipped halvings."""
    laws = laws_at("1")
    layers = layers_on(GRID, laws, 1, rows=1e5, max_cells=2000)
    right = integers_of(layers)
    assert layers.skipped.leaves > 0
    assert (integers_of(Layers.from_integers(GRID, laws, right, layers.skipped)) == right).all()
    wrong_skips = [Skipped(), Skipped(layers.skipped.coarse, layers.skipped.leaves + 1), Skipped(MOST_HALVINGS + 1, 0)]
    for integers, skipped in (
        (right[:-1], layers.skipped),
        (np.append(right, 0), layers.skipped),
        (right[:0], layers.skipped),
        *((right, skipped) for skipped in wrong_skips),
    ):
        with pytest.raises(InvalidSynopsis):
            Layers.from_integers(GRID, laws, integers, skipped)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("first", [2**63 - 1, 10**12, 10**8])
def test_counts_that_ask_for_more_cells_than_there_are_take_no_memory(d: int, first: int) -> None:
    """A file of 4 MiB whose first counts would make billions of parts: refused in the memory of a few copies of it."""
    integers = np.zeros(2**19 + 1, dtype=np.int64)
    integers[:9] = first
    base = Grid.uniform(1, d)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidSynopsis):
            Layers.from_integers(base, laws_at("1"), integers, Skipped())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 * 2**20


@pytest.mark.parametrize(
    "base",
    [Grid((Category("a", ("one", "two")).axis(2),)), Grid.uniform(1, 4), Grid.uniform(1, 16)],
    ids=["categories alone", "4 numbers", "16 numbers"],
)
def test_layers_on_axes_that_no_order_has_are_refused(base: Grid) -> None:
    """One to three ordered attributes."""
    with pytest.raises(InvalidSynopsis):
        Layers.from_integers(base, laws_at("1"), np.zeros(2 * base.cell_count, dtype=np.int64), Skipped())


def small() -> Synopsis:
    """A synopsis of a single number."""
    domain = Domain(numbers(1))
    layers = layers_on(domain.grid([2]), laws_at("1"), 3, max_cells=100)
    return stored(World(domain, layers, "1", RECORD, np.random.default_rng(0)))


HOSTILE = {
    "another rule": {"rule": "rugnik"},
    "another version": {"layers": {"skipped": [0, 0], "version": 3}},
    "a version that equals one": {"layers": {"skipped": [0, 0], "version": True}},
    "a version that equals two": {"layers": {"skipped": [0, 0], "version": 2.0}},
    "no skipped": {"layers": {"version": 1}},
    "a single skipped": {"layers": {"skipped": [0], "version": 1}},
    "skipped is true": {"layers": {"skipped": [False, 0], "version": 1}},
    "skipped below nothing": {"layers": {"skipped": [-1, 0], "version": 1}},
    "skipped beyond 64 bits": {"layers": {"skipped": [10**30, 0], "version": 1}},
    "layers are a list": {"layers": []},
    "one more field": {"layers": {"skipped": [0, 0], "version": 1, "x": 1}},
    "an epsilon that no order has": {"epsilon": "999"},
    "an epsilon that cannot be shared": {"epsilon": "0.000000009"},
    "a base of billions": {"grid": {"cells": [65536]}},
    "a threshold": {"threshold": 3},
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_header_that_no_release_has_is_refused(case: str) -> None:
    """With the sentence of all bytes that are no synopsis, and no other error."""
    magic, header, counts = small().to_bytes().split(b"\n", 2)
    fields = json.loads(header)
    assert Synopsis.from_bytes(b"\n".join([magic, canonical_json(fields), counts])).digest == small().digest
    with pytest.raises(InvalidSynopsis):
        Synopsis.from_bytes(b"\n".join([magic, canonical_json(fields | HOSTILE[case]), counts]))


def test_layers_are_written_in_format_3_alone() -> None:
    """The same header under the name of another format is not canonical."""
    data = small().to_bytes()
    for other in (b"1", b"2"):
        with pytest.raises(InvalidSynopsis):
            Synopsis.from_bytes(data.replace(b"synopsis 3", b"synopsis " + other, 1))


def test_random_counts_of_these_tests_cut_cells() -> None:
    """The properties above are not about layers without parts."""
    layers = layers_on(GRID, laws_at("1"), 1)
    assert layers.coarse_counted.any()
    assert not layers.coarse_counted.all()
    assert len(layers.leaves) > len(layers.coarse) > GRID.cell_count
    assert (random_counts(100, np.random.default_rng(0)) < 0).any()


def test_an_epsilon_below_ten_billionths_is_refused() -> None:
    """A share of it would be nothing."""
    with pytest.raises(InvalidOrder):
        laws_at("0.000000009")
