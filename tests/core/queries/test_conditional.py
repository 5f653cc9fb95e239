"""Shares of one attribute within cells of another: those of the counts, with intervals that hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import core.queries.conditional
from core.cells import DenseCells
from core.errors import InvalidQuery
from core.queries.conditional import conditional
from tests.core.queries.layered import whole_world
from tests.core.queries.worlds import least_hits, rows, shaken, synopsis_of

DRAWS = 60


@pytest.mark.parametrize(("epsilon", "size", "m"), [("1", 600, 10), ("0.1", 600, 8), ("4", 300, 10)])
def test_intervals_cover_however_few_rows_a_cell_has(epsilon: str, size: int, m: int) -> None:
    """Every share of every cell of the other attribute; where there may be no rows, there are none."""
    exact = synopsis_of(rows(size), m)
    assert isinstance(exact.cells, DenseCells)
    counts = exact.cells.table().T.astype(float)
    truth = counts / np.maximum(counts.sum(axis=1), 1.0)[:, None]
    hits, given = np.zeros(truth.shape), 0.0
    for seed in range(DRAWS):
        answer = conditional(shaken(exact, epsilon, seed), "a", "b", level=0.95)
        low, high = answer.bounds
        hits += ((low <= truth + 1e-9) & (truth <= high + 1e-9)) | ~answer.has_shares[:, None]
        given += answer.has_shares.mean()
        assert np.isnan(answer.shares[~answer.has_shares]).all()
        assert (low[~answer.has_shares] == 0.0).all()
        assert (high[~answer.has_shares] == 1.0).all()
    assert hits.min() >= least_hits(DRAWS), hits
    assert hits.mean() >= 0.94 * DRAWS
    assert 0.2 * DRAWS < given < DRAWS


def test_shares_of_other_forms_of_release_hold_too() -> None:
    """By bounds on counts: of the leaves of an adaptive release, and of what a threshold left."""
    whole = whole_world("two numbers")
    answer = conditional(whole.synopsis, "x", "y", level=0.95, cells=4)
    x, y = (np.clip(((whole.values(name) - low) / 2.5).astype(int), 0, 3) for name, low in (("x", 0), ("y", -5)))
    counts = np.zeros((4, 4))
    np.add.at(counts, (y, x), 1)
    truth = counts / np.maximum(counts.sum(axis=1), 1.0)[:, None]
    assert answer.has_shares.any()
    assert ((answer.bounds[0] <= truth + 1e-9) & (truth <= answer.bounds[1] + 1e-9))[answer.has_shares].all()
    exact = synopsis_of(rows(3000), 6)
    assert isinstance(exact.cells, DenseCells)
    truth = exact.cells.table().T / np.maximum(exact.cells.table().T.sum(axis=1), 1.0)[:, None]
    listed = conditional(replace(exact, cells=exact.cells.reaching(4)), "a", "b", level=0.95)
    assert listed.has_shares.any()
    assert ((listed.bounds[0] <= truth + 1e-9) & (truth <= listed.bounds[1] + 1e-9))[listed.has_shares].all()


def test_categories_and_missing_values() -> None:
    """A category has a distribution for each value; rows without a value of the other attribute are left out."""
    whole = whole_world("whole values and a category")
    answer = conditional(whole.synopsis, "age", "sex", level=0.95, cells=2)
    assert len(answer.rows) == answer.given[1].cells
    missing = np.isnan(whole.values("age"))
    assert answer.rows.sum() == pytest.approx((~missing).sum(), abs=1)
    assert answer.shares[answer.has_shares].sum(axis=1) == pytest.approx(1.0, abs=0.01)


def test_what_cannot_be_asked_is_refused_in_a_sentence() -> None:
    """The same attribute twice, an unknown one, too many shares, too high a level for bounds."""
    exact = synopsis_of(rows(), 150)
    for of, given, word in (("a", "a", "two different"), ("a", "nobody", "no attribute"), ("a", "b", "too many")):
        with pytest.raises(InvalidQuery, match=word):
            conditional(exact, of, given, level=0.95)
    with pytest.raises(InvalidQuery, match=r"answers levels up to 0\.999998 here"):
        conditional(whole_world("two numbers").synopsis, "x", "y", level=0.999999)


def test_too_many_shares_are_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number follows from the grid alone: no counts are summed for a refusal."""
    monkeypatch.setattr(core.queries.conditional, "marginal", None)
    with pytest.raises(InvalidQuery, match="200 x 200 shares are too many"):
        conditional(synopsis_of(rows(10), 200), "a", "b", level=0.95)
