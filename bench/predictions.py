"""How far the predicted error of cut cells is from that on real rows: `python -m bench.predictions FILE.npz`.

FILE has two-dimensional histograms, one array each. Their rows are spread evenly within the histogram's cells, and
bounds lie up to 15 % beyond them. No noise is in the measured errors: an adaptive release is cut by noisy counts, and
its leaves then hold exact ones. "Everywhere": ranges at random places, beside the prediction for rows that fill the
space. "At rows": ranges a sixteenth as large around random rows, beside the prediction for rows that fill a sixteenth.
The constant of the prediction is the literature's; nothing is fitted to these sets.
"""

from __future__ import annotations

import sys
from math import sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.published import Floats
from core.adaptive.cells import AdaptiveCells
from core.adaptive.leaves import unit_boxes
from core.adaptive.release import Counter, LayerCounts, draw_layers
from core.alternatives import ASSUMPTION, COMPARED_SHARES, OCCUPIED, Purpose, compare
from core.budget import Epsilon
from core.domain.number import Number
from core.histogram import Counts
from core.plan import DeclaredSize, Order, Plan, Rule, make_plan
from core.randomness import NoiseSource
from core.records import Records

MAX_CELLS = 4_000_000
MOST_ROWS = 500_000
RANGES = 200
CLUSTERS = 8


class Held:
    """Records that can be counted more than once."""

    def __init__(self, records: Records) -> None:
        self.records = records

    def count_into(self, counter: Counter) -> None:
        """Pass every record to `counter`."""
        counter.add(self.records)


def points_of(histogram: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Rows in [0, 1)^2: spread evenly within cells, with margins on each side."""
    rows = np.repeat(np.indices(histogram.shape).reshape(2, -1).T, histogram.ravel(), axis=0)
    if len(rows) > MOST_ROWS:
        rows = rows[rng.choice(len(rows), MOST_ROWS, replace=False)]
    low, high = rng.uniform(0, 0.15, 2), rng.uniform(0, 0.15, 2)
    points: Floats = (low + (rows + rng.random(rows.shape)) / np.array(histogram.shape)) / (1 + low + high)
    return points


def cells_of(plan: Plan, records: Records) -> tuple[Floats, Floats, Floats]:
    """Lower and upper ends of the cells of a release in [0, 1]^2, and their exact counts."""
    if plan.is_layered:
        layers = AdaptiveCells.of(draw_layers(Held(records), plan, NoiseSource(), max_cells=MAX_CELLS)).layers
        leaves = LayerCounts(layers, leaves=True)
        leaves.add(records)
        low, high = ((ends + 1) / 2 for ends in unit_boxes(layers, 2))
        return low, high, leaves.cells.astype(np.float64)
    counts = Counts.zero(plan.grid)
    counts.add(records)
    shape = np.array(plan.grid.shape)
    places = np.indices(plan.grid.shape).reshape(2, -1).T
    return places / shape, (places + 1) / shape, counts.cells.ravel().astype(np.float64)


def estimates(cells: tuple[Floats, Floats, Floats], begins: Floats, length: float) -> Floats:
    """Counts over squares of this length, with the rows of every cell spread evenly in it."""
    low, high, counts = cells
    answers = []
    for begin in begins:
        touched = np.flatnonzero(((low < begin + length) & (high > begin)).all(axis=1))
        inside = np.minimum(high[touched], begin + length) - np.maximum(low[touched], begin)
        answers.append((inside / (high[touched] - low[touched])).prod(axis=1) @ counts[touched])
    return np.array(answers)


def truths(rows: Floats, begins: Floats, length: float) -> Floats:
    """Rows in squares of this length; the rows are sorted by their first coordinate."""
    first, last = (np.searchsorted(rows[:, 0], begins[:, 0] + end) for end in (0.0, length))
    answers = []
    for begin, start, stop in zip(begins[:, 1], first, last, strict=True):
        column = rows[start:stop, 1]
        answers.append(np.count_nonzero((column >= begin) & (column < begin + length)))
    return np.array(answers, dtype=np.float64)


def main() -> None:
    """Print a table: measured over predicted error of cut cells, for each set, epsilon, rule, picture and share."""
    rng = np.random.default_rng(20_260_714)
    print("| set | rows | epsilon | rule | everywhere, 1 % | everywhere, 10 % | at rows, 1 % | at rows, 10 % |")
    print("|---|---|---|---|---|---|---|---|")
    ratios: dict[str, list[float]] = {}
    with np.load(Path(sys.argv[1]), allow_pickle=False) as sets:
        for name in sets.files:
            rows = points_of(sets[name], rng)
            rows = rows[np.argsort(rows[:, 0])]
            records = Records(tuple((column * 2**32).astype(np.uint32) for column in rows.T))
            for epsilon in ("1", "0.1"):
                for rule, line in lines_of(rows, records, epsilon, rng):
                    ratios.setdefault(rule, []).extend(line)
                    shown = " | ".join(f"{ratio:.2f}" for ratio in line)
                    print(f"| {name} | {len(rows):,} | {epsilon} | {rule} | {shown} |", flush=True)
    for rule, figures in ratios.items():
        mean = np.exp(np.log(figures).mean())
        print(f"{rule}: geometric mean {mean:.2f}, least {min(figures):.2f}, largest {max(figures):.2f}")
    print(f"A plan says, with ranges that should be these: {ASSUMPTION}")


def lines_of(rows: Floats, records: Records, epsilon: str, rng: np.random.Generator) -> list[tuple[str, list[float]]]:
    """Measured over predicted, for each rule: both pictures, both shares."""
    order = Order(
        attributes=(Number("x", 0, 1), Number("y", 0, 1)),
        epsilon=Epsilon.parse(epsilon),
        clusters=CLUSTERS,
        size=DeclaredSize(len(rows)),
    )
    comparison = compare(order, purpose=Purpose.COUNTS, max_cells=MAX_CELLS)
    assert comparison is not None
    ranges = {}
    for occupied in OCCUPIED:
        for share in COMPARED_SHARES:
            length = sqrt(share * occupied)
            begins = rng.uniform(0, 1 - length, (RANGES, 2))
            if occupied < 1:
                begins = np.clip(rows[rng.integers(len(rows), size=RANGES)] - length / 2, 0, 1 - length)
            ranges[occupied, share] = begins, length, truths(rows, begins, length)
    lines = []
    for alternative in comparison.alternatives:
        plan = make_plan(
            Order(
                attributes=order.attributes,
                epsilon=order.epsilon,
                clusters=CLUSTERS,
                size=order.size,
                rule=Rule(alternative.rule),
            ),
            max_cells=MAX_CELLS,
        )
        cells = cells_of(plan, records)
        line = []
        for prediction in alternative.predictions:
            for count in prediction.counts or ():
                begins, length, truth = ranges[prediction.occupied, count.share]
                error = np.sqrt(np.mean((estimates(cells, begins, length) - truth) ** 2))
                line.append(float(error) / count.discretisation)
        lines.append((alternative.rule, line))
    return lines


if __name__ == "__main__":
    main()
