"""Counts on the paper's data: intervals have their coverage, and with negligible noise answers are exact."""

from __future__ import annotations

import numpy as np
import pytest

from bench.published import Setting, dataset
from core.budget import Epsilon
from core.domain.domain import Domain
from core.domain.number import Number
from core.histogram import count
from core.plan import DeclaredSize, Order, make_plan
from core.queries.boxes import Box, Range
from core.queries.range_count import SummedArea, count_boxes
from core.randomness import NoiseSource
from core.records import OutOfRange, Records
from core.release import release
from core.synopsis import Synopsis
from tests.core.queries.worlds import LEVEL, least_hits
from tests.core.rows import take_rows

SETTINGS = [Setting(2, 100, 2), Setting(4, 800, 3), Setting(8, 1600, 2)]
DRAWS = 200


def world(setting: Setting) -> tuple[Domain, np.ndarray, Records]:
    """The first dataset of a setting, as it is and as records."""
    domain = Domain(tuple(Number(name, -1, 1) for name in "xyz"[: setting.d]))
    points = dataset(setting, 100)
    return domain, points, take_rows(points, domain, OutOfRange.CLIP).records


def released(setting: Setting, domain: Domain, records: Records, epsilon: str) -> Synopsis:
    """One release with the paper's grid for this epsilon."""
    size = DeclaredSize(setting.N)
    order = Order(dimensions=setting.d, epsilon=Epsilon.parse(epsilon), clusters=setting.K, size=size)
    plan = make_plan(order, max_cells=10**6)
    return release(
        count(records, plan.grid),
        plan,
        NoiseSource(),
        domain=domain,
        out_of_range=OutOfRange.CLIP,
        dataset="paper",
        release_id="r",
    )


def aligned_box(synopsis: Synopsis, seed: int) -> Box:
    """A box of whole cells."""
    m, rng = synopsis.grid.cells_per_axis, np.random.default_rng(seed)
    edges = np.linspace(-1, 1, m + 1)
    ends = [sorted(rng.choice(m + 1, 2, replace=False)) for _ in synopsis.domain.names]
    return tuple(Range(name, edges[a], edges[b]) for name, (a, b) in zip(synopsis.domain.names, ends, strict=True))


def inside(points: np.ndarray, box: Box) -> int:
    """How many of the paper's points lie in a box."""
    kept = np.ones(len(points), dtype=bool)
    for x, part in enumerate(box):
        kept &= (points[:, x] >= part.lower) & (points[:, x] < part.upper)
    return int(kept.sum())


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_count_intervals_cover_the_papers_points(setting: Setting, epsilon: str) -> None:
    """The number of points in a box of whole cells lies in its interval as often as it says."""
    domain, points, records = world(setting)
    hits = 0
    for seed in range(DRAWS):
        synopsis = released(setting, domain, records, epsilon)
        box = aligned_box(synopsis, seed)
        answers = count_boxes(SummedArea(synopsis), (box,), level=LEVEL, simultaneous=False, snap=True)
        hits += bool(answers.low[0] <= inside(points, box) <= answers.high[0])
    assert hits >= least_hits(DRAWS)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_at_epsilon_100_every_cell_is_exact(setting: Setting) -> None:
    """Noise at epsilon 100 is zero but for one draw in 10^43: counts are those of the points, cell by cell."""
    domain, points, records = world(setting)
    synopsis = released(setting, domain, records, "100")
    assert synopsis.counts.sum() == setting.N
    for seed in range(20):
        box = aligned_box(synopsis, seed)
        answers = count_boxes(SummedArea(synopsis), (box,), level=LEVEL, simultaneous=False, snap=True)
        assert answers.count[0] == answers.low[0] == answers.high[0] == inside(points, box)
