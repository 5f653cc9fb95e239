"""The effort of a question group by group is estimated without making the groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.questions.groups import GroupedQuestion, asked_with
from app.questions.prepared import Prepared
from app.questions.question import registered
from core.budget import Epsilon
from core.cells import Cells, DenseCells, ThresholdedCells
from core.domain.domain import Domain
from core.domain.kinds import attribute_of
from core.plan import Rule
from core.queries.effort import effort_of_slices
from core.records import OutOfRange
from core.synopsis import Synopsis

GROUPS = 50
DOMAIN = Domain(
    (
        attribute_of({"name": "x", "lower": 0, "upper": 1}),
        attribute_of({"name": "shop", "kind": "category", "values": [f"s{n}" for n in range(GROUPS)]}),
        attribute_of({"name": "y", "lower": 0, "upper": 1, "missing": "keep"}),
    )
)
GRID = DOMAIN.grid(20)


def skewed() -> ThresholdedCells:
    """Most listed cells are in the first groups."""
    rng = np.random.default_rng(7)
    places = np.stack(
        [rng.integers(0, 20, 3000), np.minimum(rng.geometric(0.2, 3000) - 1, GROUPS - 1), rng.integers(0, 21, 3000)],
        axis=1,
    )
    numbers = np.unique(GRID.numbers(places))
    return ThresholdedCells(GRID, numbers, np.full(len(numbers), 60), 50)


def prepared(cells: Cells) -> Prepared:
    """A release with these cells."""
    return Prepared(
        Synopsis(
            dataset="d",
            release="r",
            domain=DOMAIN,
            cells=cells,
            epsilon=Epsilon.parse("1"),
            size_epsilon=Epsilon.parse("0.05"),
            clusters=2,
            rule=Rule.RUGNIK,
            out_of_range=OutOfRange.CLIP,
            size=1000,
            size_declared=False,
        )
    )


QUESTIONS: dict[str, dict[str, Any]] = {
    "clusters": {"k": 3},
    "clusters/scan": {"k": "2..3"},
    "count": {},
    "marginal": {"attributes": "x"},
    "moments": {},
    "quantiles": {"attribute": "x", "q": [0.5]},
}
CELLS: dict[str, Cells] = {
    "dense": DenseCells(GRID, np.ones(GRID.cell_count, dtype=np.int64)),
    "thresholded": skewed(),
}


@pytest.mark.parametrize("where", [(), ("x:0..0.5",), ("shop:s1,s2,s9", "y:(missing)")], ids=str)
@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS)
@pytest.mark.parametrize("path", QUESTIONS)
def test_the_estimate_for_all_groups_makes_few_of_them_and_is_not_below_their_sum(
    path: str, cells: Cells, where: tuple[str, ...]
) -> None:
    """A slice of each group took minutes where the estimate was seconds, and nobody could stop it."""
    ask = next(each for each in registered() if each.answer.path == path)
    question = asked_with(ask, {**QUESTIONS[path], "group_by": "shop", "where": list(where)})
    assert isinstance(question, GroupedQuestion)
    release = prepared(cells)
    estimate = question.effort(release).seconds
    assert len(release._parts._values) <= 2
    groups = question._groups(release)[0].values()
    each = [asked.effort(release).seconds for asked in groups]
    slicing = effort_of_slices(release.histogram, len(each)) if path != "count" else 0.0
    assert estimate >= (sum(each) + slicing) * (1 - 1e-9)


@pytest.mark.parametrize(
    "where", [("shop:s3",), ("x:0.1..0.3", "y:(missing)"), ("x:0..0.1", "shop:s0,s4,s49")], ids=str
)
def test_a_part_lists_the_cells_that_the_part_of_all_cells_lists(where: tuple[str, ...]) -> None:
    """With the same numbers on the grid of the part, and the same counts."""
    listed = skewed()
    counts = np.zeros(GRID.cell_count, dtype=np.int64)
    counts[listed.numbers] = listed.counts
    of_all = prepared(DenseCells(GRID, counts)).part(where).histogram.cells
    of_listed = prepared(listed).part(where).histogram.cells
    assert isinstance(of_all, DenseCells)
    wanted = of_all.reaching(listed.threshold)
    assert len(wanted.numbers) > 0
    assert of_listed.listed is not None
    assert of_listed.listed.tolist() == wanted.numbers.tolist()
    assert of_listed.counts.tolist() == wanted.counts.tolist()
