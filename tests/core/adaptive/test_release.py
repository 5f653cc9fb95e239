"""Drawing an adaptive release: what one unit more changes in each layer, and what that costs.

Noisy counts are scripted where neighbours are compared: the proof is about what is counted next, given all that was
released before.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.adaptive.cells import AdaptiveCells
from core.adaptive.layers import Layers
from core.adaptive.release import Counter, LayerCounts, draw_layers
from core.adaptive.shares import LayerLaws
from core.arrays import Wholes
from core.budget import Epsilon
from core.cells import DenseCells
from core.domain.attribute import Attribute
from core.domain.category import Category
from core.domain.domain import Domain
from core.domain.integer import Integer
from core.errors import InvalidOrder
from core.histogram import Counts
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.discrete_laplace_sampler import draw_noise
from core.plan import DeclaredSize, EstimatedSize, Order, Plan, Rule
from core.randomness import NoiseSource
from core.records import OutOfRange, Records
from core.release import draw
from core.synopsis import Synopsis
from core.unit import RECORD, Unit
from tests.core.adaptive.trees import World, bases, laws_at, layers_on, random_counts
from tests.core.rows import numbers
from tests.core.strategies import epsilons

MOST_CELLS = 1000


class Held:
    """Records that can be counted again and again, in batches."""

    def __init__(self, records: Records, unit: Unit = RECORD) -> None:
        self.records, self.unit = records, unit

    def __len__(self) -> int:
        return len(self.records)

    def count_on(self, plan: Plan) -> Counts:
        """On a grid."""
        counts = Counts.zero(plan.grid)
        self.count_into(counts)
        return counts

    def count_into(self, counter: Counter) -> None:
        """Two batches."""
        half = len(self.records) // 2
        for part in (slice(None, half), slice(half, None)):
            counter.add(Records(tuple(column[part] for column in self.records.columns)))


class Tape(NoiseSource):
    """Entropy that is the same on every playing."""

    def __init__(self, seed: int) -> None:
        self.bytes = random.Random(seed).randbytes

    def read(self, count: int) -> bytes:
        """The next bytes of the tape."""
        return self.bytes(count)


Drawn = list[tuple[DiscreteLaplace, Wholes]]


def exact_draws(records: Records, plan: Plan, seed: int, rows: float) -> tuple[Drawn, Layers]:
    """The exact counts that a release asks noise for, with their laws, if the noisy counts come out as scripted."""
    drawn: Drawn = []
    rng = np.random.default_rng(seed)

    def scripted(counts: Wholes, law: DiscreteLaplace, noise: NoiseSource) -> Wholes:
        assert isinstance(noise, NoiseSource)
        drawn.append((law, counts.copy()))
        return random_counts(len(counts), rng, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.adaptive.release._noised", scripted)
        return drawn, draw_layers(Held(records), plan, NoiseSource(), max_cells=MOST_CELLS)


def loss(before: Drawn, after: Drawn) -> Fraction:
    """The most that the log-probability of an outcome can differ by: rates times differences, over all draws."""
    total = Fraction(0)
    for (law, counts), (other_law, other_counts) in zip(before, after, strict=True):
        assert law == other_law
        assert len(counts) == len(other_counts)
        total += law.exact_rate * int(np.abs(counts - other_counts).sum())
    return total


def joined(first: Records, second: Records) -> Records:
    """The rows of both."""
    return Records(tuple(np.concatenate(pair) for pair in zip(first.columns, second.columns, strict=True)))


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Plan, Records, Records, int, float]:
    """A layered plan, records, the records of one unit more, and the script of the noisy counts."""
    domain, base = draw(bases())
    epsilon, c = draw(epsilons(least=10)), draw(st.integers(1, 5))
    unit = RECORD if c == 1 else Unit("p", c)
    order = Order(
        attributes=domain.attributes,
        epsilon=epsilon,
        clusters=1,
        size=DeclaredSize(1000),
        rule=Rule.ADAPTIVE,
        unit=unit,
    )
    plan = Plan(order=order, size=1000, wanted=3, grid=base, is_layered=True)
    seed, rows = draw(st.integers(0, 2**32)), 3000.0 * c / float(epsilon)
    template = layers_on(base, LayerLaws.of(epsilon, unit), seed, rows=rows, max_cells=MOST_CELLS)
    world = World(domain, template, str(epsilon), unit, np.random.default_rng(seed))
    return plan, world.records(draw(st.integers(0, 20))), world.records(c), seed, rows


@settings(max_examples=60)
@given(neighbours())
def test_one_record_more_changes_one_exact_count_of_each_counted_layer(
    drawn: tuple[Plan, Records, Records, int, float],
) -> None:
    """Given the noisy counts before: one base cell, its coarse cell if the base cell was cut, and one leaf."""
    plan, records, more, seed, rows = drawn
    single = Records(tuple(column[:1] for column in more.columns))
    before, layers = exact_draws(records, plan, seed, rows)
    after, others = exact_draws(joined(records, single), plan, seed, rows)
    for layer in range(3):
        assert all((a == b).all() for a, b in zip(layers.boxes(layer), others.boxes(layer), strict=True))
    changes = [other - counts for (_, counts), (_, other) in zip(before, after, strict=True)]
    assert all(change.sum() == np.abs(change).sum() for change in changes)
    base, *coarse, uncut, cut = [int(change.sum()) for change in changes]
    was_cut = bool(layers.coarse.sizes[changes[0].argmax()] > 1)
    assert base == 1
    assert sum(coarse) == cut == was_cut
    assert uncut == (not was_cut)


@settings(max_examples=60)
@given(neighbours())
def test_one_unit_more_costs_the_epsilon_of_the_histogram_and_not_a_billionth_more(
    drawn: tuple[Plan, Records, Records, int, float],
) -> None:
    """A record, or c rows of a person in any base cells, cut and uncut: the rates of what they change add up."""
    plan, records, more, seed, rows = drawn
    before, _ = exact_draws(records, plan, seed, rows)
    after, _ = exact_draws(joined(records, more), plan, seed, rows)
    assert loss(before, after) == Fraction(plan.order.histogram_epsilon.nano, 10**9)


def shares(epsilon: Epsilon, unit: Unit, tenths: tuple[int, int, int, int]) -> LayerLaws:
    """Laws of base, coarse cells, uncut and cut leaves by tenths of epsilon."""
    return LayerLaws(*(DiscreteLaplace(epsilon.nano * each // 10, unit.max_rows) for each in tenths))


@pytest.mark.parametrize("tenths", [(2, 2, 9, 7), (1, 3, 9, 7), (1, 2, 10, 7), (1, 2, 9, 8), (1, 2, 9, 9)])
def test_a_layer_with_too_much_epsilon_is_caught(
    tenths: tuple[int, int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rates that are drawn are what is added up: a share too large in any layer shows on its path."""
    domain = Domain(numbers(1))
    order = Order(
        attributes=domain.attributes,
        epsilon=Epsilon.parse("1"),
        clusters=1,
        size=DeclaredSize(1000),
        rule=Rule.ADAPTIVE,
    )
    plan = Plan(order=order, size=1000, wanted=8, grid=domain.grid([8]), is_layered=True)
    none = Records((np.empty(0, dtype=np.uint32),))

    def losses() -> set[Fraction]:
        costs = set()
        for cell in range(8):
            single = Records((np.array([cell << 29], dtype=np.uint32),))
            costs.add(loss(exact_draws(none, plan, 5, 3000.0)[0], exact_draws(single, plan, 5, 3000.0)[0]))
        return costs

    assert losses() == {Fraction(1)}
    monkeypatch.setattr(LayerLaws, "of", lambda epsilon, unit: shares(epsilon, unit, tenths))
    assert max(losses()) > 1


@given(epsilons(least=10), st.integers(1, 1000))
def test_the_epsilons_of_every_path_add_up_to_the_last_billionth(epsilon: Epsilon, c: int) -> None:
    """Base, coarse cell and leaf; base and leaf. Each has a billionth or more, and all are for c rows."""
    laws = LayerLaws.of(epsilon, RECORD if c == 1 else Unit("p", c))
    base, coarse, uncut, cut = (law.nano for law in (laws.base, laws.coarse, laws.leaf_uncut, laws.leaf_cut))
    assert base + coarse + cut == base + uncut == epsilon.nano
    assert (base, coarse) == (epsilon.nano // 10, epsilon.nano // 5)
    assert min(base, coarse, uncut, cut) >= 1
    assert {law.rows_per_unit for law in (laws.base, laws.coarse, laws.leaf_uncut, laws.leaf_cut)} == {c}
    assert (laws.leaf(is_cut=True), laws.leaf(is_cut=False)) == (laws.leaf_cut, laws.leaf_uncut)


def uniform_rows(number: int, d: int, seed: int = 0) -> Records:
    """Records that crowd towards the lower corner."""
    values = np.random.default_rng(seed).uniform(size=(d, number)) ** 4
    return Records(tuple((column * (2**32 - 2)).astype(np.uint32) for column in values))


def adaptive_order(epsilon: str, d: int, size: DeclaredSize | EstimatedSize, unit: Unit = RECORD) -> Order:
    """An order of d numbers."""
    return Order(
        attributes=numbers(d), epsilon=Epsilon.parse(epsilon), clusters=2, size=size, rule=Rule.ADAPTIVE, unit=unit
    )


def drawn_release(rows: Held, order: Order, noise: NoiseSource, max_cells: int = 10**5) -> Synopsis:
    """A whole draw with the usual names."""
    return draw(
        rows,
        order,
        noise,
        max_cells=max_cells,
        domain=Domain(order.attributes),
        out_of_range=OutOfRange.CLIP,
        dataset="d",
        release_id="r",
    )


@pytest.mark.parametrize("unit", [RECORD, Unit("p", 3)])
def test_the_noise_of_every_layer_is_drawn_at_its_own_rate_from_the_one_source(unit: Unit) -> None:
    """Drawn again bit by bit from the same tape: base at 0.1, coarse cells at 0.2, leaves at 0.9 or 0.7, over c."""
    order = adaptive_order("1", 2, DeclaredSize(20_000), unit)
    records = uniform_rows(20_000, 2)
    layers = drawn_release(Held(records, unit), order, Tape(1)).cells.layers  # type: ignore[attr-defined]
    assert layers.leaf_is_cut.any()
    assert not layers.leaf_is_cut.all()
    tape, c = Tape(1), unit.max_rows

    def noise(nano: int, number: int) -> Wholes:
        return draw_noise(DiscreteLaplace(nano, c), number, tape)

    exact = Counts.zero(layers.base)
    exact.add(records)
    assert (layers.base_counts == exact.cells + noise(10**8, layers.base.cell_count)).all()
    coarse, leaves = LayerCounts(layers, leaves=False), LayerCounts(layers, leaves=True)
    coarse.add(records)
    leaves.add(records)
    counted = layers.coarse_counted
    assert (layers.coarse_counts[counted] == coarse.cells[counted] + noise(2 * 10**8, counted.sum())).all()
    for is_cut, nano in ((False, 9 * 10**8), (True, 7 * 10**8)):
        mine = layers.leaf_is_cut == is_cut
        assert (layers.leaf_counts[mine] == leaves.cells[mine] + noise(nano, mine.sum())).all()
    assert exact.cells.sum() == coarse.cells.sum() == leaves.cells.sum() == len(records)


def laws_asked(monkeypatch: pytest.MonkeyPatch) -> list[DiscreteLaplace]:
    """The laws of all noise that is drawn from now on, with a number of draws."""
    asked: list[DiscreteLaplace] = []

    def spy(law: DiscreteLaplace, size: int, noise: NoiseSource) -> NDArray[np.int64]:
        if size:
            asked.append(law)
        return draw_noise(law, size, noise)

    for module in ("core.release", "core.adaptive.release"):
        monkeypatch.setattr(f"{module}.draw_noise", spy)
    return asked


def test_a_bought_size_is_part_of_the_same_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1.000000007 a twentieth buys the size, the rest the layers: either path adds up to the last billionth."""
    asked = laws_asked(monkeypatch)
    order = adaptive_order("1.000000007", 2, EstimatedSize())
    synopsis = drawn_release(Held(uniform_rows(20_000, 2)), order, Tape(3))
    assert isinstance(synopsis.cells, AdaptiveCells)
    size, base, coarse, uncut, cut = (law.nano for law in asked)
    assert size == 50_000_000
    assert size + base + coarse + cut == size + base + uncut == 1_000_000_007
    assert synopsis.histogram_epsilon.nano == 950_000_007


def test_without_signal_one_grid_is_drawn_with_all_of_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """N epsilon / K below 100: a single count, no layers."""
    asked = laws_asked(monkeypatch)
    synopsis = drawn_release(Held(uniform_rows(100, 2)), adaptive_order("1", 2, DeclaredSize(199)), Tape(0))
    assert isinstance(synopsis.cells, DenseCells)
    assert asked == [DiscreteLaplace(10**9)]
    assert synopsis.rule is Rule.ADAPTIVE


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("max_cells", [100, 5000])
def test_no_layer_exceeds_the_limit_and_the_bytes_are_read_back(d: int, max_cells: int) -> None:
    """At a large epsilon, where far more leaves are wanted."""
    order = adaptive_order("10", d, DeclaredSize(30_000))
    synopsis = drawn_release(Held(uniform_rows(30_000, d)), order, Tape(d), max_cells)
    layers = synopsis.cells.layers  # type: ignore[attr-defined]
    assert layers.base.cell_count <= len(layers.coarse) <= len(layers.leaves) <= max_cells
    assert layers.skipped.leaves > 0
    assert Synopsis.from_bytes(synopsis.to_bytes()).digest == synopsis.digest


EXTREMES: dict[str, tuple[str, int, Callable[[], Records]]] = {
    "nobody at the least epsilon": ("0.00000001", 10**12, lambda: uniform_rows(0, 1)),
    "a crowd at the least epsilon": ("0.00000001", 10**12, lambda: uniform_rows(1000, 1)),
    "a crowd at the largest epsilon": ("100", 10**4, lambda: uniform_rows(10**4, 1)),
    "nobody where many were declared": ("1", 10**12, lambda: uniform_rows(0, 1)),
}


@pytest.mark.parametrize("case", EXTREMES)
def test_rows_never_decide_whether_an_adaptive_release_is_drawn(case: str) -> None:
    """Whatever is declared and whoever is there, with no warning."""
    epsilon, declared, rows = EXTREMES[case]
    synopsis = drawn_release(Held(rows()), adaptive_order(epsilon, 1, DeclaredSize(declared)), NoiseSource())
    assert isinstance(synopsis.cells, AdaptiveCells)
    assert np.isfinite(synopsis.cells.estimates).all()
    assert np.isfinite(synopsis.cells.variances).all()
    assert Synopsis.from_bytes(synopsis.to_bytes()).digest == synopsis.digest


def test_an_attribute_with_a_single_value_is_released() -> None:
    """Its one leaf has what is left after the base: 0.9 of epsilon."""
    order = Order(
        attributes=(Integer("x", 7, 7),),
        epsilon=Epsilon.parse("100"),
        clusters=1,
        size=DeclaredSize(500),
        rule=Rule.ADAPTIVE,
    )
    synopsis = drawn_release(Held(Records((np.zeros(500, dtype=np.uint32),))), order, NoiseSource())
    assert synopsis.counts.tolist() == [500]


@pytest.mark.parametrize("attributes", [(Category("a", ("one", "two")),), numbers(4)])
def test_no_ordered_attribute_and_more_than_three_are_refused_with_a_sentence(
    attributes: tuple[Attribute, ...],
) -> None:
    """Categories alone have nothing to halve."""
    with pytest.raises(InvalidOrder, match="no categories"):
        Order(
            attributes=attributes,
            epsilon=Epsilon.parse("1"),
            clusters=1,
            size=DeclaredSize(1000),
            rule=Rule.ADAPTIVE,
        )


def test_exact_counts_do_not_show_themselves() -> None:
    """Not when printed, and they cannot be sent."""
    layers = layers_on(Domain(numbers(1)).grid([2]), laws_at("1"), 0)
    counts = LayerCounts(layers, leaves=True)
    assert repr(counts) == "LayerCounts(…)"
    with pytest.raises(TypeError):
        counts.__reduce__()
