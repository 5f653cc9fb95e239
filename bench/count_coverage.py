"""Coverage of the 95 % intervals of counts over random boxes: a section of `bench.coverage`.

For every rule, set of rows and epsilon, 200 releases with 10 random boxes each: half of them cut cells, half are moved
to cell edges (`snap`). The length of a side is uniform on a logarithmic scale, from 2 % of its attribute to all of it.
Below N epsilon / K = 100 the rule adaptive releases the grid of rugnik. Sizes are bought for half of the releases.
Boxes of a release share its noise, so that standard errors are those between releases. "Width" is the median width of
an interval over the true count, for boxes of at least 20 rows.
"""

from __future__ import annotations

from dataclasses import replace
from multiprocessing.pool import Pool
from typing import NamedTuple

import numpy as np
from rich.progress import track

from bench.published import Floats, Setting, dataset
from bench.realsets import real_sets
from bench.report import Section, chosen
from bench.synopses import released
from core.budget import NOTHING
from core.cells import DenseCells
from core.histogram import count
from core.plan import Rule
from core.queries.boxes import Box, Range
from core.queries.edges import Edges
from core.queries.layer_sums import LayerSums
from core.queries.range_count import count_boxes, range_table
from core.queries.tables import RangeTable, SummedArea
from core.records import OutOfRange, take_in
from core.synopsis import Synopsis

LEVEL = 0.95
RULES = (Rule.RUGNIK, Rule.EUGKM, Rule.ADAPTIVE)
EPSILONS = ("0.1", "1")
RELEASES, BOXES = chosen(40, 200), 10
REAL = ("iris petals", "tumours, radius and texture", "digits, 2 components", "colours of a temple")
MADE_UP = ("packed Gaussians", "a heap in a corner", "whole numbers")
_FEW_ROWS = 20


class Task(NamedTuple):
    """One release of one set of rows."""

    rule: Rule
    rows: str
    epsilon: str
    seed: int


class Held(NamedTuple):
    """Shares of the intervals of one release that hold: boxes that cut cells, and boxes of whole cells; and widths."""

    cut: float
    whole: float
    widths: list[float]


def rows_of(name: str, seed: int) -> Floats:
    """Rows in [-1, 1]^d: a real set, which is always the same, or rows drawn from the seed."""
    rng = np.random.default_rng([seed, 14])
    match name:
        case "packed Gaussians":
            return dataset(Setting(4, 800, 2), 7000 + seed)
        case "a heap in a corner":
            return np.clip(rng.gamma(1.2, 0.05, size=(3000, 2)) - 1, -1, 1)
        case "whole numbers":  # hours and minutes: many rows on edges of boxes and cells
            return np.stack([rng.integers(0, 24, 4000) / 12 - 1, rng.integers(0, 60, 4000) / 30 - 1], axis=1)
        case _:
            return next(each.points for each in real_sets() if each.name == name)


def measure(task: Task) -> Held:
    """Counts of random boxes of one release, compared with the rows."""
    points = rows_of(task.rows, task.seed)
    rng = np.random.default_rng([task.seed, len(task.rows), round(1000 * float(task.epsilon)), len(task.rule)])
    bought = task.seed % 2 == 1
    release = released(points, epsilon=task.epsilon, clusters=4, declared=not bought, rng=rng, rule=task.rule)
    boxes = tuple(_box(points.shape[1], rng) for _ in range(BOXES))
    half = BOXES // 2
    table = range_table(release)
    cut = count_boxes(table, boxes[:half], level=LEVEL, simultaneous=False)
    whole = count_boxes(table, boxes[half:], level=LEVEL, simultaneous=False, snap=True)
    truth = np.array([_rows_in(points, box) for box in boxes[:half]])
    of_cells = _rows_in_moved(release, table, points, boxes[half:])
    pairs = (cut, truth), (whole, of_cells)
    held = [(answer.low - 1e-9 <= t) & (t <= answer.high + 1e-9) for answer, t in pairs]
    widths = [((answer.high - answer.low) / np.maximum(t, 1.0))[t >= _FEW_ROWS] for answer, t in pairs]
    return Held(float(held[0].mean()), float(held[1].mean()), np.concatenate(widths).tolist())


def _box(dimensions: int, rng: np.random.Generator) -> Box:
    """A random box in [-1, 1]^d."""
    lengths = 2.0 * np.exp(rng.uniform(np.log(0.02), 0.0, dimensions))
    starts = rng.uniform(-1.0, 1.0 - lengths)
    sides = zip(starts.tolist(), lengths.tolist(), strict=True)
    return tuple(Range(f"x{x}", start, start + length) for x, (start, length) in enumerate(sides))


def _rows_in(points: Floats, box: Box) -> int:
    """The rows in a box, by comparison; an upper end at the bound of the domain is inside."""
    inside = np.ones(len(points), dtype=np.bool_)
    for x, part in enumerate(box):
        assert isinstance(part, Range)
        inside &= (points[:, x] >= part.lower) & ((points[:, x] < part.upper) | (part.upper >= 1.0))
    return int(inside.sum())


def _rows_in_moved(release: Synopsis, table: RangeTable, points: Floats, boxes: tuple[Box, ...]) -> Floats:
    """The rows in boxes whose ends moved to edges of cells, or of leaves."""
    records = take_in(tuple(points.T), release.domain, OutOfRange.CLIP).records
    if isinstance(table, LayerSums):
        codes = np.stack([column.astype(np.int64) for column in records.columns], axis=1)
        low, high = table.in_codes(table.nearest(Edges.of(boxes, release.domain, release.grid)))
        inside = (codes >= low[:, None]) & (codes < high[:, None])
        rows: Floats = inside.all(axis=2).sum(axis=1).astype(np.float64)
        return rows
    cells = DenseCells(release.grid, count(records, release.grid).cells)
    exact = SummedArea(replace(release, cells=cells, size_epsilon=NOTHING, size_declared=True))
    return count_boxes(exact, boxes, level=LEVEL, simultaneous=False, snap=True).count


def section(pool: Pool) -> Section:
    """A line for each rule, set of rows and epsilon."""
    lines = [(rule, name, epsilon) for rule in RULES for name in (*MADE_UP, *REAL) for epsilon in EPSILONS]
    rows, failures = [], 0
    for rule, name, epsilon in track(lines, "coverage of counts"):
        tasks = [Task(rule, name, epsilon, seed) for seed in range(RELEASES)]
        held = pool.map(measure, tasks, chunksize=8)
        shares = np.array([[each.cut, each.whole, (each.cut + each.whole) / 2] for each in held])
        mean, error = shares.mean(axis=0), shares.std(axis=0, ddof=1) / np.sqrt(RELEASES)
        holds = bool((mean + 3 * error >= LEVEL).all())
        failures += not holds
        width = float(np.median(np.concatenate([each.widths for each in held])))
        cells = [f"{100 * m:.1f} ± {100 * e:.1f}" for m, e in zip(mean, error, strict=True)]
        rows.append([rule.value, name, epsilon, *cells, f"{width:.2f}", "yes" if holds else "no"])
    remarks = [
        f"{RELEASES * BOXES:,} boxes a line, of {RELEASES} releases; s.e. between releases.",
        "Sizes are declared and bought in turn.",
        f"Lines below {100 * LEVEL:.0f} % minus three standard errors: {failures} of {len(lines)}.",
    ]
    header = ["rule", "rows", "eps", "cut", "whole", "both", "width / count", "at least 95 % - 3 s.e."]
    return Section(f"Coverage of counts at {100 * LEVEL:.0f} %, in %", remarks, header, rows)
