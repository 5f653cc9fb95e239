"""Range counts on real rows: the rules of the service beside Adaptive Grid (Qardaji, Yang and Li 2013).

`python -m bench.ranges [--draws 5]`; with FULL=1 in the environment 20 draws, and the sets that were used for
development too. The rows are those of `bench.rangesets`. Every method answers the same ranges, which follow from the
set's name:

- *random*: along each axis between two uniform places,
- *1 %*: of the volume, with sides up to four times as long as others, at a uniform place.

Errors are against the exact counts: the root mean square over ranges and draws, and the mean of |error| / max(count,
N / 1000), the relative error of the paper on Adaptive Grid. An entry is the ratio to Adaptive Grid, its geometric mean
over sets, the standard error of that mean (sets are what varies), and the ratio of the worst set.

Sets that were used for development are in no mean. `hold` is the share of ranges whose
exact count lies in the 95 % interval of the answer.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np
from rich.progress import track

from bench.peers.adaptive_grid import adaptive_grid
from bench.published import Floats
from bench.rangesets import Group, RangeSet, range_sets
from bench.report import Section, publish
from bench.synopses import RowsInMemory, drawn, rows_in_memory
from core.plan import Rule
from core.queries.boxes import Box, Range
from core.queries.range_count import count_boxes, range_table
from core.synopsis import Synopsis

EPSILONS = ("1", "0.1")
KINDS = ("random", "1 %")
MEASURES = tuple(f"{name}, {kind}" for kind in KINDS for name in ("RMSE", "relative"))
CLUSTERS = 4  # an order names K; counts depend on it through the rugnik grid, and through the switch at N epsilon / K
RANGES = 300  # of each kind
LEVEL = 0.95
DRAWS, FULL_DRAWS = 5, 20


class Method(NamedTuple):
    """A row of the tables."""

    name: str
    rule: Rule
    declared: bool = True


METHODS = (
    Method("adaptive", Rule.ADAPTIVE),
    Method("adaptive, N bought", Rule.ADAPTIVE, declared=False),
    Method("eugkm", Rule.EUGKM),
    Method("rugnik", Rule.RUGNIK),
)


class Outcome(NamedTuple):
    """A set at an epsilon. Errors by measure: of Adaptive Grid, and (methods, measures); cells and `hold` by method."""

    chosen: RangeSet
    rows: int
    epsilon: str
    peer: Floats
    errors: Floats
    cells: Floats
    hold: Floats


def ranges_of(kind: str, d: int, rng: np.random.Generator) -> Floats:
    """(ranges, 2, d): lower and upper ends in [0, 1]."""
    if kind == "random":
        return np.sort(rng.random((RANGES, 2, d)), axis=1)
    stretch = rng.uniform(-log(2), log(2), (RANGES, d))
    sides = 0.01 ** (1 / d) * np.exp(stretch - stretch.mean(axis=1, keepdims=True))
    lower = rng.random((RANGES, d)) * (1 - sides)
    return np.stack([lower, lower + sides], axis=1)


def exact_counts(rows: Floats, ranges: Floats) -> Floats:
    """How many rows lie in each range."""
    first, *others = rows[np.argsort(rows[:, 0], kind="stable")].T.copy()
    counts = np.empty(len(ranges))
    for i, (lower, upper) in enumerate(ranges):
        start, stop = np.searchsorted(first, (lower[0], upper[0]))
        inside = np.ones(stop - start, dtype=np.bool_)
        for x, column in enumerate(others, start=1):
            inside &= (column[start:stop] >= lower[x]) & (column[start:stop] < upper[x])
        counts[i] = np.count_nonzero(inside)
    return counts


def _answers(synopsis: Synopsis, boxes: tuple[Box, ...]) -> tuple[Floats, Floats, Floats]:
    """Count, low and high of every range."""
    answer = count_boxes(range_table(synopsis), boxes, level=LEVEL, simultaneous=False)
    return answer.count, answer.low, answer.high


def _boxes(ranges: Floats) -> tuple[Box, ...]:
    return tuple(
        tuple(Range(f"x{x}", low, high) for x, (low, high) in enumerate(zip(lower, upper, strict=True)))
        for lower, upper in ranges.tolist()
    )


def _squares_and_shares(errors: Floats, exact: Floats, size: int) -> Floats:
    """By kind of range: the mean square of the errors, and the mean relative error."""
    relative = np.abs(errors) / np.maximum(exact, size / 1000)
    means = [(part**2, share) for part, share in zip(np.split(errors, 2), np.split(relative, 2), strict=True)]
    return np.array([each.mean() for pair in means for each in pair])


class Workload(NamedTuple):
    """The rows of a set, as values and as records, and the ranges with their exact counts."""

    points: Floats
    rows: RowsInMemory
    ranges: Floats
    boxes: tuple[Box, ...]
    exact: Floats

    @classmethod
    def of(cls, chosen: RangeSet) -> Workload:
        """The ranges follow from the name of the set."""
        points = chosen.rows()
        rng = np.random.default_rng(list(chosen.name.encode()))
        ranges = np.concatenate([ranges_of(kind, chosen.dimensions, rng) for kind in KINDS])
        return cls(points, rows_in_memory(points), ranges, _boxes(ranges), exact_counts(points, ranges))


def measure(chosen: RangeSet, draws: int) -> list[Outcome]:
    """Every method on one set, at each epsilon."""
    workload = Workload.of(chosen)
    return [_measure_at(chosen, workload, epsilon, draws) for epsilon in EPSILONS]


def _measure_at(chosen: RangeSet, workload: Workload, epsilon: str, draws: int) -> Outcome:
    points, exact, n = workload.points, workload.exact, len(workload.points)
    rng = np.random.default_rng([*chosen.name.encode(), round(1000 * float(epsilon))])
    peer, errors = np.zeros(4), np.zeros((len(METHODS), 4))
    cells, hold = np.zeros(len(METHODS)), np.zeros(len(METHODS))
    for _ in range(draws):
        answers = adaptive_grid(points, float(epsilon), rng).count(workload.ranges)
        peer += _squares_and_shares(answers - exact, exact, n) / draws
        for i, method in enumerate(METHODS):
            synopsis = drawn(
                workload.rows, epsilon=epsilon, clusters=CLUSTERS, declared=method.declared, rule=method.rule
            )
            count, low, high = _answers(synopsis, workload.boxes)
            errors[i] += _squares_and_shares(count - exact, exact, n) / draws
            cells[i] += len(synopsis.counts) / draws
            hold[i] += ((low <= exact) & (exact <= high)).mean() / draws
    for each in (peer, *errors):
        each[::2] = np.sqrt(each[::2])
    return Outcome(chosen, n, epsilon, peer, errors, cells, hold)


def _mean(ratios: Sequence[float]) -> str:
    """Geometric mean, its standard error, and the worst."""
    logs = np.log(ratios)
    mean = exp(logs.mean())
    error = mean * logs.std(ddof=1) / sqrt(len(logs)) if len(logs) > 1 else float("nan")
    return f"{mean:.2f} ± {error:.2f} ({max(ratios):.2f})"


def summary(outcomes: Sequence[Outcome], d: int, group: Group) -> Section:
    """Geometric means over the sets of a group with d attributes."""
    measured = [each for each in outcomes if each.chosen.dimensions == d and each.chosen.group is group]
    rows = []
    for epsilon in EPSILONS:
        chosen = [each for each in measured if each.epsilon == epsilon]
        for i, method in enumerate(METHODS):
            ratios = np.array([each.errors[i] / each.peer for each in chosen])
            hold = np.mean([each.hold[i] for each in chosen])
            rows.append([epsilon, method.name, *(_mean(column.tolist()) for column in ratios.T), f"{hold:.3f}"])
    sets = len({each.chosen.name for each in measured})
    remarks = [f"{sets} sets. Geometric mean of the ratio to Adaptive Grid ± standard error (worst set)."]
    if d == 2:
        remarks.append(
            "Targets for `adaptive`: RMSE at most 0.9, relative error at most 0.75, a fifth of rugnik's RMSE."
        )
        remarks += [_beside_rugnik(measured, epsilon) for epsilon in EPSILONS]
    else:
        remarks.append("Adaptive Grid is for two attributes; this is our extension of it.")
    title = f"Range counts, {d} attribute{'s' if d > 1 else ''}: ratio to Adaptive Grid"
    return Section(title, remarks, ["epsilon", "rule", *MEASURES, "hold"], rows)


def _beside_rugnik(outcomes: Sequence[Outcome], epsilon: str) -> str:
    """How many times smaller the errors of `adaptive` are than those of `rugnik`, in a sentence."""
    ratios = np.array([each.errors[-1] / each.errors[0] for each in outcomes if each.epsilon == epsilon])
    means = ", ".join(
        f"{name} {exp(column.mean()):.1f}" for name, column in zip(MEASURES, np.log(ratios).T, strict=True)
    )
    return f"epsilon {epsilon}: rugnik / adaptive {means}."


def detail(outcomes: Sequence[Outcome]) -> Section:
    """`adaptive` on every set."""
    rows = []
    for each in outcomes:
        ratios = [f"{ratio:.2f}" for ratio in each.errors[0] / each.peer]
        name = f"{each.chosen.name} *" if each.chosen.group is Group.DEVELOPMENT else each.chosen.name
        start = [name, str(each.chosen.dimensions), f"{each.rows:,}", each.epsilon, f"{each.cells[0]:,.0f}"]
        rows.append([*start, *ratios, f"{each.hold[0]:.3f}"])
    header = ["rows", "d", "N", "epsilon", "leaves", *MEASURES, "hold"]
    return Section("Range counts: `adaptive` / Adaptive Grid", ["* used for development."], header, rows)


def run(draws: int | None = None, *, reserve: bool = False) -> list[Section]:
    """Means by the number of attributes, and every set."""
    full = os.environ.get("FULL") == "1"
    draws = draws or (FULL_DRAWS if full else DRAWS)
    group = Group.RESERVE if reserve else Group.HELD_OUT
    groups = {group, Group.DEVELOPMENT} if full else {group}
    chosen = [each for each in range_sets() if each.group in groups]
    outcomes = [outcome for each in track(chosen, "range counts") for outcome in measure(each, draws)]
    means = [summary(outcomes, d, group) for d in ((2,) if reserve else (2, 3, 1))]
    return [*means, detail(outcomes)]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Range counts on real rows beside Adaptive Grid.")
    parser.add_argument("--draws", type=int, default=None, help="releases of each set")
    parser.add_argument("--reserve", action="store_true", help="the sets in reserve: only to confirm a changed rule")
    options = parser.parse_args()
    publish(run(options.draws, reserve=options.reserve), "ranges")


if __name__ == "__main__":
    main()
