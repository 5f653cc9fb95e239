"""release: the one bridge from private to public, and all that crosses it is noised."""

from __future__ import annotations

import inspect
import os
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.budget import Epsilon
from core.cells import ThresholdedCells
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.number import Number
from core.errors import InvalidOrder, InvalidRecords, InvalidSynopsis
from core.histogram import Counts, OccupiedCounts, count
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.plan import DeclaredSize, EstimatedSize, Order, Plan, make_plan
from core.randomness import NoiseSource
from core.records import OutOfRange
from core.release import draw, noisy_size, release
from core.synopsis import Synopsis
from core.unit import RECORD, Unit
from tests.core.rows import numbers, take_rows
from tests.core.strategies import batches

DOMAIN = Domain((Number("x", 0, 1), Number("y", -5, 5)))


class Tape(NoiseSource):
    """Entropy that is the same on every playing, to tell the counts apart from their noise."""

    def __init__(self, seed: int) -> None:
        self.bytes = random.Random(seed).randbytes

    def read(self, count: int) -> bytes:
        """The next bytes of the tape."""
        return self.bytes(count)


def plan_for(
    epsilon: str, *, m: int | None = None, size: DeclaredSize | EstimatedSize | None = None, noisy: int | None = None
) -> Plan:
    """A plan for two attributes, on a grid of m per axis where one is given."""
    order = Order(attributes=numbers(2), epsilon=Epsilon.parse(epsilon), clusters=2, size=size or DeclaredSize(500))
    plan = make_plan(order, max_cells=10**6, noisy_size=noisy)
    return plan if m is None else Plan(order=order, size=plan.size, wanted=m, grid=Grid.uniform(m, 2))


def publish(counts: Counts, plan: Plan, noise: NoiseSource | None = None, **changes: object) -> Synopsis:
    """A release of the counts with the usual names."""
    names: dict = {
        "domain": DOMAIN,
        "out_of_range": OutOfRange.CLIP,
        "dataset": "clinic",
        "release_id": "r1",
        **changes,
    }
    return release(counts, plan, noise or NoiseSource(), **names)


def counts_of(values: NDArray[np.float64], plan: Plan) -> Counts:
    """The exact counts of some rows on a plan's grid."""
    return count(take_rows(values, DOMAIN, OutOfRange.CLIP).records, plan.grid)


@pytest.mark.parametrize("grid", [Grid.uniform(4, 2), Grid.uniform(3, 1), Grid.uniform(9, 1), Grid.uniform(3, 3)])
def test_counts_of_another_grid_are_refused(grid: Grid) -> None:
    """Only counts on the planned grid are released, even where another has as many cells."""
    with pytest.raises(InvalidRecords):
        publish(Counts.zero(grid), plan_for("1", m=3))


def test_a_domain_of_other_dimensions_is_refused() -> None:
    """The domain that is published has one attribute for each axis of the grid."""
    with pytest.raises(InvalidSynopsis):
        publish(Counts.zero(Grid.uniform(3, 2)), plan_for("1", m=3), domain=Domain((Number("x", 0, 1),)))


def test_at_epsilon_100_the_counts_come_out_as_they_went_in() -> None:
    """P(Z != 0) = 2 p / (1 + p) is 7 x 10^-44 there: no cell of 10,000 moves."""
    plan = plan_for("100", m=100)
    exact = np.arange(10_000) % 77
    assert (publish(Counts(plan.grid, exact), plan).counts == exact).all()


def test_every_cell_is_noised_empty_or_not() -> None:
    """At epsilon 10^-9 a cell keeps its count with probability 5 x 10^-10: of 2,500, half of them empty, none does."""
    plan = plan_for("0.000000001", m=50)
    exact = np.where(np.arange(2500) % 2, 10**6, 0)
    noisy = publish(Counts(plan.grid, exact), plan).counts
    # 2,500 x 5 x 10^-10 = 1.25 x 10^-6: one unmoved cell is allowed for, two have probability 10^-12.
    assert (noisy == exact).sum() <= 1
    assert (noisy < 0).any()
    assert len(set(noisy.tolist())) > 2490  # any two agree with probability 10^-3, ten pairs of them never


def test_the_exact_counts_are_left_as_they_were() -> None:
    """Noise is added to a copy: releasing the same Counts twice noises the same numbers twice."""
    plan = plan_for("0.01", m=10)
    counts = Counts(plan.grid, np.arange(100))
    one, other = publish(counts, plan), publish(counts, plan)
    assert (counts.cells == np.arange(100)).all()
    assert (one.counts != other.counts).any()


@given(st.data())
def test_neighbours_under_one_declared_size_differ_in_one_count_by_one(data: st.DataObject) -> None:
    """With the same noise two neighbours differ by one in one cell, and in nothing else that is public."""
    plan = plan_for("0.5")
    values = data.draw(batches(DOMAIN))
    extra = data.draw(batches(DOMAIN, least=1, most=1))
    place = data.draw(st.integers(0, len(values)))
    seed = data.draw(st.integers(0, 2**32))
    one = publish(counts_of(values, plan), plan, Tape(seed))
    other = publish(counts_of(np.insert(values, place, extra, axis=0), plan), plan, Tape(seed))
    difference = other.counts - one.counts
    kept = len(take_rows(extra, DOMAIN, OutOfRange.CLIP).records)
    assert difference.sum() == np.abs(difference).sum() == kept <= 1
    assert header(one) == header(other)


@pytest.mark.parametrize("rows", [0, 1, 499, 500, 100_000])
def test_the_number_of_rows_shows_nowhere_but_in_the_noisy_counts(rows: int) -> None:
    """Under one declared size the header of no rows is the header of 100,000, byte for byte and as long."""
    plan = plan_for("0.5")
    values = np.random.default_rng(rows).uniform(size=(rows, 2))
    none, some = publish(Counts.zero(plan.grid), plan), publish(counts_of(values, plan), plan)
    assert header(none) == header(some)
    assert len(none.to_bytes()) == len(some.to_bytes())


def header(synopsis: Synopsis) -> bytes:
    """All of a synopsis but its counts."""
    return synopsis.to_bytes()[: -8 * synopsis.grid.cell_count]


def test_provenance_is_that_of_the_order() -> None:
    """What the synopsis says of itself is what was ordered and planned."""
    plan = plan_for("1", size=EstimatedSize(), noisy=-3)
    synopsis = publish(Counts.zero(plan.grid), plan, out_of_range=OutOfRange.DROP)
    assert (synopsis.epsilon, synopsis.size_epsilon, synopsis.histogram_epsilon) == (
        Epsilon.parse("1"),
        Epsilon.parse("0.05"),
        Epsilon.parse("0.95"),
    )
    assert (synopsis.size, synopsis.size_declared) == (1, False)
    assert (synopsis.dataset, synopsis.release, synopsis.out_of_range) == ("clinic", "r1", OutOfRange.DROP)
    assert (synopsis.grid, synopsis.domain) == (plan.grid, DOMAIN)
    assert publish(Counts.zero(Grid.uniform(3, 2)), plan_for("1", m=3)).size_declared


def test_cells_get_the_rest_of_the_epsilon_and_the_size_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an order at 1 with an estimate the size is noised at 0.05 and the cells at 0.95: together no more than 1."""
    asked: list[tuple[int, DiscreteLaplace]] = []

    def spy(law: DiscreteLaplace, size: int, noise: NoiseSource) -> NDArray[np.int64]:
        assert isinstance(noise, NoiseSource)
        asked.append((size, law))
        return np.full(size, 7, dtype=np.int64)

    monkeypatch.setattr("core.release.draw_noise", spy)
    order = Order(attributes=numbers(2), epsilon=Epsilon.parse("1"), clusters=2, size=EstimatedSize())
    bought = noisy_size(1000, order, NoiseSource())
    assert bought == 1007
    plan = make_plan(order, max_cells=10**4, noisy_size=bought)
    assert (publish(Counts.zero(plan.grid), plan).counts == 7).all()
    laws = [DiscreteLaplace.at(Epsilon.parse(text)) for text in ("0.05", "0.95")]
    assert asked == [(1, laws[0]), (plan.grid.cell_count, laws[1])]


def test_a_declared_size_is_not_bought() -> None:
    """There is no epsilon to buy it with, and asking is refused."""
    with pytest.raises(InvalidOrder):
        noisy_size(1000, plan_for("1").order, NoiseSource())


def test_a_release_uses_no_generator_but_the_operating_system() -> None:
    """With every function of numpy.random and random patched to raise, and urandom counted, a release still works."""
    urandom, asked = os.urandom, []

    def counted(size: int) -> bytes:
        asked.append(size)
        return urandom(size)

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a generator that is not the operating system's was used")

    order = Order(attributes=numbers(2), epsilon=Epsilon.parse("0.013"), clusters=2, size=EstimatedSize())
    # Inside the test only: the plugin that shuffles the tests seeds these very functions between them.
    with pytest.MonkeyPatch.context() as patch:
        for module in (np.random, random):
            for name in dir(module):
                if not name.startswith("_") and callable(getattr(module, name)):
                    patch.setattr(module, name, forbidden)
        patch.setattr(os, "urandom", counted)
        plan = make_plan(order, max_cells=10**4, noisy_size=noisy_size(500, order, NoiseSource()))
        synopsis = publish(Counts.zero(plan.grid), plan)
    assert np.any(synopsis.counts)
    assert sum(asked) >= 4 * plan.grid.cell_count


def test_noise_has_no_default_and_no_seed() -> None:
    """Randomness is a parameter that must be given, and nothing among the others could stand for a seed."""
    for bridge in (release, noisy_size):
        parameters = inspect.signature(bridge, eval_str=True).parameters
        assert parameters["noise"].annotation is NoiseSource
        assert parameters["noise"].default is inspect.Parameter.empty
        assert not any("seed" in name or "rng" in name for name in parameters)


def test_a_plan_with_a_threshold_lists_the_cells_that_reach_it() -> None:
    """At epsilon 100 the listed cells are those with that many rows, on a grid that nobody could noise cell by cell."""
    order = Order(attributes=numbers(8), epsilon=Epsilon.parse("100"), clusters=2, size=DeclaredSize(500))
    plan = Plan(order=order, size=500, wanted=100, grid=Grid.uniform(100, 8), threshold=7)
    domain = Domain(tuple(Number(f"x{i}", 0, 1) for i in range(8)))
    rows = np.repeat(np.array([[0.005] * 8, [0.995] * 8, [0.505] * 8]), [6, 7, 20], axis=0)
    counts = OccupiedCounts(plan.grid)
    counts.add(take_rows(rows, domain, OutOfRange.CLIP).records)
    synopsis = publish(counts, plan, domain=domain)
    assert synopsis.threshold == 7
    assert isinstance(synopsis.cells, ThresholdedCells)
    assert synopsis.grid.places(synopsis.cells.numbers).tolist() == [[50] * 8, [99] * 8]
    assert synopsis.counts.tolist() == [20, 7]


def test_with_hardly_any_noise_every_cell_that_holds_a_row_is_listed() -> None:
    """20,000 rows of five attributes at epsilon 100, hardly two in one cell: all are listed, and none is made up."""
    order = Order(attributes=numbers(5), epsilon=Epsilon.parse("100"), clusters=5, size=EstimatedSize())
    plan = make_plan(order, max_cells=10**5, noisy_size=20_000)
    domain = Domain(tuple(Number(f"x{i}", 0, 1) for i in range(5)))
    counts = OccupiedCounts(plan.grid)
    counts.add(take_rows(np.random.default_rng(0).uniform(size=(20_000, 5)), domain, OutOfRange.CLIP).records)
    synopsis = publish(counts, plan, domain=domain)
    assert synopsis.threshold == 1
    assert synopsis.counts.sum() == 20_000


def test_counts_of_the_wrong_kind_are_refused() -> None:
    """A threshold goes with occupied cells, a whole grid with counts of every cell."""
    plain = plan_for("1", m=3)
    thresholded = Plan(order=plain.order, size=1, wanted=3, grid=plain.grid, threshold=9)
    with pytest.raises(InvalidRecords):
        publish(OccupiedCounts(plain.grid), plain)
    with pytest.raises(InvalidRecords):
        publish(Counts.zero(plain.grid), thresholded)


class ScriptedRows:
    """Rows of which only the number, the counts and the unit matter."""

    def __init__(self, size: int, unit: Unit = RECORD) -> None:
        self.size = size
        self.unit = unit
        self.plans: list[Plan] = []

    def __len__(self) -> int:
        return self.size

    def count_on(self, plan: Plan) -> Counts:
        """None in any cell."""
        self.plans.append(plan)
        return Counts.zero(plan.grid)


@pytest.mark.parametrize("size", [DeclaredSize(400), EstimatedSize()])
def test_a_draw_buys_the_size_once_and_plans_from_it(
    size: DeclaredSize | EstimatedSize, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grid follows from the noisy number of rows, drawn once; from a declared one the rows are not asked."""
    bought: list[int] = []

    def noised(exact: int, *_: object) -> int:
        bought.append(exact)
        return 777

    monkeypatch.setattr("core.release.noisy_size", noised)
    order = Order(attributes=numbers(2), epsilon=Epsilon.parse("1"), clusters=3, size=size)
    rows = ScriptedRows(5)
    synopsis = draw(
        rows,
        order,
        NoiseSource(),
        max_cells=10_000,
        domain=DOMAIN,
        out_of_range=OutOfRange.CLIP,
        dataset="d",
        release_id="r",
    )
    estimated = isinstance(size, EstimatedSize)
    assert bought == ([5] if estimated else [])
    assert rows.plans == [make_plan(order, max_cells=10_000, noisy_size=777 if estimated else None)]
    assert synopsis.size == (777 if estimated else 400)


PERSONS = Unit("patient", 3)


@pytest.mark.parametrize(
    ("bounded", "ordered"), [(RECORD, PERSONS), (PERSONS, RECORD), (Unit("patient", 4), PERSONS), (PERSONS, PERSONS)]
)
def test_rows_are_drawn_for_the_unit_that_they_were_bounded_for_alone(bounded: Unit, ordered: Unit) -> None:
    """With rows that nobody bounded, noise at epsilon / c would protect a person less than it says."""
    order = Order(attributes=numbers(2), epsilon=Epsilon.parse("1"), clusters=3, size=DeclaredSize(400), unit=ordered)
    rows = ScriptedRows(5, bounded)
    names = {"domain": DOMAIN, "out_of_range": OutOfRange.CLIP, "dataset": "d", "release_id": "r"}
    if bounded == ordered:
        assert draw(rows, order, NoiseSource(), max_cells=10_000, **names).unit == ordered
        return
    with pytest.raises(InvalidRecords, match="unit"):
        draw(rows, order, NoiseSource(), max_cells=10_000, **names)
    assert rows.plans == []
