"""How much wider than their formula the intervals of adaptive releases have to be: `python -m bench.adaptive_noise`.

The cuts follow from the counts that are fused, so the weights of the fused estimate depend a little on its noise. The
radius of `core.adaptive.radius` is that of fixed weights times a margin. Here releases are drawn of rows that fill the
space evenly, with so many rows in each base cell; the number is swept over the thresholds of the cuts. The error is the
fused estimate less the exact counts of the same leaves, each by its share in the box: noise, and nothing of cut cells.

Boxes are base cells, and the first quarter and sixteenth of each along the first axis; the first half of the space; and
all of it. "Needed" is the factor on the radius of fixed weights with which as many intervals hold as the level says:
the quantile of |error| / radius at the level, for the number of rows where it is largest. Below the margin, the
intervals of the service hold. "Held" is the share that hold with the margin: over all numbers of rows, and in brackets
for the number of rows where it is least. The worst of many simulated values is too bad by chance, the more so the fewer
boxes there are; "se" is the standard error of a share of 95 % for one number of rows, if boxes were independent.
"""

from __future__ import annotations

import argparse
from math import sqrt
from typing import NamedTuple

import numpy as np
from rich.progress import track

from bench.published import Floats
from bench.report import Section, publish
from bench.synopses import rows_in_memory
from core.adaptive.fusion import Fusion
from core.adaptive.leaves import unit_boxes
from core.adaptive.radius import MARGIN, radii
from core.adaptive.release import LayerCounts, draw_layers
from core.budget import Epsilon
from core.domain.number import Number
from core.plan import DeclaredSize, Order, Plan, Rule, make_plan
from core.randomness import NoiseSource

LEVELS = (0.5, 0.95, 0.99)
BOXES = ("base cell", "quarter", "sixteenth", "half space", "all")
PARTS = {"base cell": 1.0, "quarter": 1 / 4, "sixteenth": 1 / 16}  # of a base cell, along the first axis
ROWS = (2, 6, 12, 20, 30, 45, 60, 80, 100, 125, 160, 200, 250, 320, 400, 500, 640, 800, 1000, 1200)  # of a base cell
DIMENSIONS = (1, 2, 3)
DRAWS = 40
_MAX_CELLS = 4_000_000


class Errors(NamedTuple):
    """Of boxes of one kind: |error| over the radius of fixed weights, by level; and error over standard deviation."""

    ratios: Floats
    standardised: Floats


def plan_of(d: int) -> Plan:
    """A layered plan for numbers at epsilon 1 with the usual base. The declared size shapes nothing else."""
    order = Order(
        attributes=tuple(Number(f"x{axis}", 0, 1) for axis in range(d)),
        epsilon=Epsilon.parse("1"),
        clusters=1,
        size=DeclaredSize(10**6),
        rule=Rule.ADAPTIVE,
    )
    return make_plan(order, max_cells=_MAX_CELLS)


def drawn(plan: Plan, rows: int, rng: np.random.Generator) -> dict[str, Errors]:
    """One release: the errors of all boxes."""
    shape = np.array(plan.grid.shape)
    places = np.indices(plan.grid.shape).reshape(len(shape), -1).T.repeat(rows, axis=0)
    memory = rows_in_memory((places + rng.random(places.shape)) / shape)
    layers = draw_layers(memory, plan, NoiseSource(), max_cells=_MAX_CELLS)
    exact = LayerCounts(layers, leaves=True)
    memory.count_into(exact)
    fusion = Fusion(layers)
    errors = fusion.leaves - exact.cells
    low, high = ((ends[:, 0] + 1) / 2 * shape[0] for ends in unit_boxes(layers, 2))
    begin = np.floor(low + 1e-9)  # of the base cell
    result = {}
    for name, part in PARTS.items():
        shares = np.clip((np.minimum(high, begin + part) - low) / (high - low), 0.0, 1.0)
        error = np.bincount(layers.leaf_base, shares * errors).astype(np.float64)
        result[name] = _errors(error, np.sqrt(variances(fusion, shares)), fusion.largest_scales)
    largest = fusion.largest_scales.max(keepdims=True)
    for name, shares in (("half space", (begin < shape[0] / 2).astype(np.float64)), ("all", np.ones(len(errors)))):
        deviation = np.array([sqrt(fusion.variance(shares))])
        result[name] = _errors(np.array([shares @ errors]), deviation, largest)
    return result


def variances(fusion: Fusion, shares: Floats) -> Floats:
    """The variance of the sum of shares times estimates over the leaves of each base cell by itself."""
    layers, first = fusion.layers, fusion.layers.coarse.first[:-1]
    n, starts = layers.leaves.sizes, layers.leaves.first[:-1]
    mean = np.add.reduceat(shares, starts) / n
    within = fusion.leaf_variance[layers.coarse_base] * (np.add.reduceat(shares**2, starts) - n * mean**2)
    summed = np.add.reduceat(fusion.u * mean, first)
    between = np.add.reduceat(within + fusion.u * mean**2, first) - summed**2 / fusion.total_u
    variance: Floats = between + fusion.t * (summed / fusion.total_u) ** 2
    return variance


def _errors(error: Floats, deviation: Floats, scale: Floats) -> Errors:
    fixed = np.stack([radii(deviation, scale, alpha=1 - level) / MARGIN for level in LEVELS])
    return Errors(np.abs(error) / fixed, error / deviation)


def measure(d: int, rows: int, draws: int) -> dict[str, Errors]:
    """All boxes of so many releases; of one attribute, whose base has eight cells, of eight times as many."""
    plan, rng = plan_of(d), np.random.default_rng([d, rows])
    each = [drawn(plan, rows, rng) for _ in range(draws * 64 // plan.grid.cell_count)]
    return {
        name: Errors(
            np.concatenate([one[name].ratios for one in each], axis=1),
            np.concatenate([one[name].standardised for one in each]),
        )
        for name in BOXES
    }


def summary(d: int, outcomes: dict[int, dict[str, Errors]]) -> list[list[str]]:
    """A line for each kind of box: needed factor, share held and bias, for the number of rows where each is worst."""
    lines = []
    for name in BOXES:
        boxes = [outcome[name] for outcome in outcomes.values()]
        needed = [max(float(np.quantile(each.ratios[i], level)) for each in boxes) for i, level in enumerate(LEVELS)]
        held = [[float((each.ratios[i] <= MARGIN).mean()) for each in boxes] for i in range(len(LEVELS))]
        number = len(boxes[0].standardised)
        bias = [float(each.standardised.mean()) for each in boxes]
        lines.append(
            [
                str(d),
                name,
                f"{number:,}",
                f"{sqrt(0.95 * 0.05 / number):.3f}",
                *(f"{value:.2f}" for value in needed),
                *(f"{np.mean(shares):.3f} ({min(shares):.3f})" for shares in held),
                f"{np.mean(bias):+.3f} ({max(bias, key=abs):+.2f})",
            ]
        )
    return lines


def main() -> None:
    """Simulate and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--dimensions", type=int, nargs="+", choices=DIMENSIONS, default=DIMENSIONS)
    asked = parser.parse_args()
    draws, lines = asked.draws, []
    for d in asked.dimensions:
        outcomes = {rows: measure(d, rows, draws) for rows in track(ROWS, description=f"d = {d}", transient=True)}
        lines += summary(d, outcomes)
    section = Section(
        "Intervals of adaptive releases: simulated against fixed weights",
        (
            f"epsilon 1, {len(ROWS)} numbers of rows in a base cell, {ROWS[0]} to {ROWS[-1]}; {draws} draws of each",
            f"the margin of the service is {MARGIN}; boxes: of each number of rows; in brackets: the worst of them",
        ),
        (
            "d",
            "box",
            "boxes",
            "se",
            *(f"needed, {level:.0%}" for level in LEVELS),
            *(f"held, {level:.0%}" for level in LEVELS),
            "bias, sd",
        ),
        lines,
    )
    publish([section], "adaptive_noise")


if __name__ == "__main__":
    main()
