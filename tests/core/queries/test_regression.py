"""Least squares: those of the gridded rows, with intervals that hold, and no number where none can be told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.cells import DenseCells, ThresholdedCells
from core.domain.domain import Domain
from core.domain.integer import Integer
from core.domain.number import Number
from core.errors import InvalidQuery
from core.queries.boxes import Range
from core.queries.estimates import axis_centres
from core.queries.marginal import raw_marginal
from core.queries.regression import Regression, regression
from core.queries.slices import slice_of, with_values
from core.synopsis import Synopsis
from tests.core.queries.layered import DOMAINS, layered, made_up, whole_world
from tests.core.queries.mixed import world
from tests.core.queries.statistical_worlds import four_columns, four_of, middles
from tests.core.queries.worlds import least_hits, rows, shaken, synopsis_of

DRAWS = 150


def by_numpy(synopsis: Synopsis, target: str, on: tuple[str, ...]) -> tuple[np.ndarray, float]:
    """Coefficients and R squared of rows at the middles of their cells."""
    points, counts = middles(synopsis)
    names = synopsis.domain.names
    z = np.column_stack([np.ones(len(points)), points[:, [names.index(name) for name in on]]])
    v = points[:, names.index(target)]
    root = np.sqrt(counts)
    c = np.linalg.lstsq(z * root[:, None], v * root, rcond=None)[0]
    centred = v - counts @ v / counts.sum()
    return c, float(1.0 - counts @ (v - z @ c) ** 2 / (counts @ centred**2))


def held(answer: Regression, truth: np.ndarray, share: float) -> np.ndarray:
    """Which intervals hold, R squared last. A coefficient that cannot be told is not wrong."""
    hits = [
        each.interval is None or each.interval.low - 1e-9 <= value <= each.interval.high + 1e-9
        for each, value in zip(answer.coefficients, truth, strict=True)
    ]
    return np.array([*hits, answer.r_squared_interval.low <= share + 1e-9 <= answer.r_squared_interval.high + 2e-9])


@pytest.mark.parametrize("on", [("a",), ("c", "a"), ("a", "b", "c")])
def test_without_noise_they_are_those_of_the_gridded_rows(on: tuple[str, ...]) -> None:
    """Compared with a least-squares solver on the cells' middles; of a slice too."""
    exact = four_of(four_columns(3000), 6)
    truth, share = by_numpy(exact, "y", on)
    answer = regression(exact, "y", on, level=0.95)
    assert [each.value for each in answer.coefficients] == pytest.approx(truth)
    assert answer.r_squared == pytest.approx(share)
    part = slice_of(exact, (Range("c", 50, 100),))
    inside = regression(part, "y", on, level=0.95)
    z, counts = part.domain.from_unit(part.grid.centres()), part.counts.astype(float)
    design = np.column_stack([np.ones(len(z)), z[:, [part.domain.names.index(name) for name in on]]])
    expected = np.linalg.solve((design.T * counts) @ design, (design.T * counts) @ z[:, 3])
    assert [each.value for each in inside.coefficients] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("epsilon", "size", "m", "told"), [("1", 600, 12, 0.9), ("0.3", 600, 8, 0.5), ("0.1", 40, 6, 0.0)]
)
def test_intervals_of_one_predictor_cover(epsilon: str, size: int, m: int, told: float) -> None:
    """From strong to weak signal; where there is none, hardly any coefficient is told."""
    exact = synopsis_of(rows(size), m)
    truth, share = by_numpy(exact, "b", ("a",))
    hits, given = np.zeros(3), 0
    for seed in range(DRAWS):
        answer = regression(shaken(exact, epsilon, seed), "b", ("a",), level=0.95)
        hits += held(answer, truth, share)
        given += answer.coefficients[1].interval is not None
    assert hits.min() >= least_hits(DRAWS), hits
    assert given >= told * DRAWS if told else given < 0.2 * DRAWS


def test_intervals_of_three_predictors_cover_and_are_no_wider_than_the_noise() -> None:
    """Also of a sum over a fourth axis; half their width is near 1.96 standard deviations of what was estimated."""
    exact = four_of(four_columns(20_000), 6)
    on = ("a", "b", "c")
    truth, share = by_numpy(exact, "y", on)
    hits, values, widths = np.zeros(5), [], []
    for seed in range(DRAWS):
        answer = regression(shaken(exact, "1", seed), "y", on, level=0.95)
        hits += held(answer, truth, share)
        values.append([each.value for each in answer.coefficients])
        widths.append([each.interval.high - each.interval.low for each in answer.coefficients if each.interval])
    assert hits.min() >= least_hits(DRAWS), hits
    ratio = np.median(widths, axis=0) / 2 / (1.96 * np.std(np.array(values, dtype=float), axis=0))
    assert ratio.max() < 1.4, ratio


def test_the_grid_moves_coefficients_by_less_than_it_says_and_sheppard_moves_them_back() -> None:
    """Rows of a smooth density: slopes at the middles are too flat, and the correction is nearer by far."""
    values = four_columns(20_000)
    exact = four_of(values, 16)
    design = np.column_stack([np.ones(len(values)), values[:, :1]])
    own = np.linalg.lstsq(design, values[:, 3], rcond=None)[0]
    for each, value in zip(regression(exact, "y", ("a",), level=0.95).coefficients, own, strict=True):
        assert each.shift is not None
        assert abs(each.value - value) <= each.shift
    coarse = regression(four_of(values, 6), "y", ("a",), level=0.95).coefficients[1]
    assert abs(coarse.sheppard - own[1]) < abs(coarse.value - own[1]) / 5


@pytest.mark.parametrize("values", [40, 50])
def test_sheppards_correction_of_whole_values(values: int) -> None:
    """Of runs of two values, which vary by a quarter, and of runs of two and three."""
    rng = np.random.default_rng(2)
    x = np.clip(np.rint(rng.normal(values / 2, values / 8, 40_000)), 0, values - 1)
    y = np.clip(0.5 + 0.8 * (x / values - 0.5) + rng.normal(0, 0.02, len(x)), 0, 0.999)
    domain = Domain((Integer("a", 0, values - 1), Number("y", 0, 1)))
    grid = domain.grid([20, 200])
    places = grid.axes[0].cell_of(x.astype(np.uint32)) * 200 + np.floor(y * 200).astype(np.int64)
    cells = DenseCells(grid, np.bincount(places, minlength=grid.cell_count))
    exact = replace(synopsis_of(rows(10), 2), domain=domain, cells=cells)
    own, answer = np.polyfit(x, y, 1)[0], regression(exact, "y", ("a",), level=0.95).coefficients[1]
    assert abs(answer.sheppard - own) < abs(answer.value - own) / 10


def test_r_squared_of_rows_in_few_cells_covers() -> None:
    """Where noise makes fits look better than they are: with as many rows in few cells, slopes are uncertain."""
    rng = np.random.default_rng(5)
    a = rng.normal(3, 0.3, 3000)
    exact = synopsis_of(np.column_stack([a, a - 3 + rng.normal(0, 0.2, 3000)]), 16)
    truth, share = by_numpy(exact, "b", ("a",))
    answers = [regression(shaken(exact, "1.5", seed), "b", ("a",), level=0.95) for seed in range(300)]
    assert sum(held(each, truth, share)[-1] for each in answers) >= 0.95 * len(answers)
    assert all(
        (each.r_squared_interval.low, each.r_squared_interval.high) == (0.0, 1.0)
        for each in answers
        if each.coefficients[1].interval is None
    )


def test_the_grid_moves_coefficients_of_correlated_predictors_by_less_than_it_says() -> None:
    """Rows at the edges of their cells, of two predictors on opposite sides, by the sign of the residual."""
    m, size, rng = 150, 20_000, np.random.default_rng(1)
    axes = Domain(tuple(Number(name, 0, 1) for name in ("a", "b", "y")))
    points = np.clip(rng.multivariate_normal([0.5, 0.5], 0.15**2 * np.array([[1, 0.97], [0.97, 1]]), size), 0, 0.999)
    sign = np.where(rng.random(size) < 0.5, 1, -1)[:, None]
    places = np.column_stack([np.floor(points * m), np.where(sign > 0, 398, 1)])
    values = (places + 0.5 + sign * np.array([0.499, -0.499, 0.499])) / [m, m, 400]
    grid = axes.grid([m, m, 400])
    numbers, counts = np.unique((places @ [400 * m, 400, 1]).astype(np.int64), return_counts=True)
    release = replace(synopsis_of(rows(10), 2), domain=axes, cells=ThresholdedCells(grid, numbers, counts, 1))
    own = np.linalg.lstsq(np.column_stack([np.ones(size), values[:, :2]]), values[:, 2], rcond=None)[0]
    for each, value in zip(regression(release, "y", ("a", "b"), level=0.95).coefficients, own, strict=True):
        assert abs(each.value - value) <= each.shift


def test_of_an_adaptive_release_they_are_those_of_its_leaves() -> None:
    """Near the rows' own at a high epsilon, covered at a low one."""
    whole = whole_world("three numbers")
    columns = np.stack([whole.values(name) for name in ("x", "y", "z")], axis=1)
    design = np.column_stack([np.ones(len(columns)), columns[:, :2]])
    own = np.linalg.lstsq(design, columns[:, 2], rcond=None)[0]
    answer = regression(whole.synopsis, "z", ("x", "y"), level=0.95)
    spread = columns.std(axis=0)
    for x, each in enumerate(answer.coefficients[1:]):
        assert each.value is not None
        assert abs(each.value - own[1 + x]) * spread[x] < 0.03 * spread[2]
    domain, hits = DOMAINS["two numbers"], np.zeros(3)
    columns_of = made_up(domain, 1200)
    for _ in range(40):
        release = layered(domain, columns_of, "0.7")
        counts, z = release.exact_leaves().astype(float), domain.from_unit(release.cells.centres())
        design = np.column_stack([np.ones(len(z)), z[:, 0]])
        truth = np.linalg.solve((design.T * counts) @ design, (design.T * counts) @ z[:, 1])
        left = counts @ (z[:, 1] - design @ truth) ** 2
        share = 1 - left / (counts @ (z[:, 1] - counts @ z[:, 1] / counts.sum()) ** 2)
        hits += held(regression(release.synopsis, "y", ("x",), level=0.95), truth, share)
    assert hits.min() >= least_hits(40, 0.9), hits


def test_a_threshold_leaves_values_without_intervals_and_says_so() -> None:
    """Nothing bounds where the rows that are not listed lie."""
    exact = four_of(four_columns(20_000), 6)
    assert isinstance(exact.cells, DenseCells)
    answer = regression(replace(exact, cells=exact.cells.reaching(5)), "y", ("a",), level=0.95)
    assert all(each.interval is None and each.value is not None for each in answer.coefficients)
    assert (answer.r_squared_interval.low, answer.r_squared_interval.high) == (0.0, 1.0)
    assert "threshold" in (answer.undetermined or "")


def test_what_cannot_be_asked_is_refused_in_a_sentence() -> None:
    """A category, an unknown name, a name twice, none at all."""
    whole = whole_world("whole values and a category").synopsis
    for on, word in ((("sex",), "group_by=sex"), (("nobody",), "no attribute"), (("hour",), "once"), ((), "1 to 12")):
        with pytest.raises(InvalidQuery, match=word):
            regression(whole, "hour", on, level=0.95)


def test_rows_without_a_value_are_left_out() -> None:
    """Of the target or of a predictor, whatever the kinds: coefficients are those of the cells of values."""
    compared = 0
    for seed in range(16):
        made = world(seed, 4)
        names = [each.name for each in made.domain.ordered if each.name != "at"]  # of microseconds, lost in doubles
        if len(names) < 2:
            continue
        answer = regression(made.synopsis, names[0], (names[1],), level=0.95)
        part = with_values(made.synopsis, names[:2])
        x, v = (axis_centres(part, part.domain.names.index(name)) for name in (names[1], names[0]))
        counts = raw_marginal(part, (names[1], names[0])).reshape(len(x), len(v)).astype(float)
        if len(x) < 2:
            assert answer.coefficients[1].value is None
            continue
        x, v, n = x[:, None], v[None], counts.sum()
        mean_x, mean_v = (counts * x).sum() / n, (counts * v).sum() / n
        slope = (counts * (x - mean_x) * (v - mean_v)).sum() / (counts * (x - mean_x) ** 2).sum()
        assert answer.coefficients[1].value == pytest.approx(slope, abs=1e-9 * abs(v).max())
        compared += 1
    assert compared > 4
