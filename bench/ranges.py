"""Range counts on real rows: the rules of the service beside peers.

`python -m bench.ranges [--draws 5]`; with FULL=1 in the environment 20 draws, and the sets that were used for
development too. The rows are those of `bench.rangesets`, the peers those of `bench.range_peers`: Adaptive Grid and
Uniform Grid (Qardaji, Yang and Li 2013), PrivTree (Zhang, Xiao and Xie 2016), and diffprivlib's histogramdd. Every
method answers the same ranges, which follow from the set's name:

- *random*: along each axis between two uniform places,
- *1 %*: of the volume, with sides up to four times as long as others, at a uniform place.

Errors are against the exact counts: the root mean square over ranges and draws, and the mean of |error| / max(count,
N / 1000), the relative error of the paper on Adaptive Grid. An entry is the ratio to Adaptive Grid, its geometric mean
over sets, the standard error of that mean (sets are what varies), and the ratio of the worst set.

Sets that were used for development are in no mean. `hold` is the share of ranges whose exact count lies in the 95 %
interval of the answer; peers give no intervals. Peers know N.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from math import exp, sqrt
from typing import NamedTuple

import numpy as np
from rich.progress import track

from bench.published import Floats
from bench.range_peers import ADAPTIVE_GRID, peer_releases
from bench.range_workload import MEASURES, Workload
from bench.rangesets import Group, RangeSet, range_sets
from bench.report import Section, publish
from bench.synopses import drawn
from core.plan import Rule
from core.queries.range_count import count_boxes, range_table
from core.synopsis import Synopsis

EPSILONS = ("1", "0.1")
CLUSTERS = 4  # an order names K; counts depend on it through the rugnik grid, and through the switch at N epsilon / K
LEVEL = 0.95
DRAWS, FULL_DRAWS = 5, 20


class Method(NamedTuple):
    """A row of the tables: a rule of the service."""

    name: str
    rule: Rule
    declared: bool = True


METHODS = (
    Method("adaptive", Rule.ADAPTIVE),
    Method("adaptive, N bought", Rule.ADAPTIVE, declared=False),
    Method("eugkm", Rule.EUGKM),
    Method("rugnik", Rule.RUGNIK),
)
_OURS = METHODS[0].name
_DECLARED = {method.name for method in METHODS if method.declared}


class Outcome(NamedTuple):
    """A set at an epsilon: errors in the order of MEASURES, by method; cells and `hold` of the service's rules."""

    chosen: RangeSet
    rows: int
    epsilon: str
    errors: dict[str, Floats]
    cells: dict[str, float]
    hold: dict[str, float]

    def ratios(self, method: str) -> Floats:
        """The errors of a method over those of Adaptive Grid."""
        return self.errors[method] / self.errors[ADAPTIVE_GRID]


def _answers(synopsis: Synopsis, workload: Workload) -> tuple[Floats, float]:
    """The count of every range, and the share of ranges whose interval holds the exact count."""
    answer = count_boxes(range_table(synopsis), workload.boxes, level=LEVEL, simultaneous=False)
    return answer.count, float(((answer.low <= workload.exact) & (workload.exact <= answer.high)).mean())


def measure(chosen: RangeSet, draws: int) -> list[Outcome]:
    """Every method on one set, at each epsilon."""
    workload = Workload.of(chosen)
    return [_measure_at(chosen, workload, epsilon, draws) for epsilon in EPSILONS]


def _measure_at(chosen: RangeSet, workload: Workload, epsilon: str, draws: int) -> Outcome:
    rng = np.random.default_rng([*chosen.name.encode(), round(1000 * float(epsilon))])
    means: dict[str, list[Floats]] = {}
    cells: dict[str, list[int]] = {method.name: [] for method in METHODS}
    hold: dict[str, list[float]] = {method.name: [] for method in METHODS}
    for peers in peer_releases(workload.points, float(epsilon), draws, rng):
        for method in METHODS:
            synopsis = drawn(
                workload.rows, epsilon=epsilon, clusters=CLUSTERS, declared=method.declared, rule=method.rule
            )
            count, share = _answers(synopsis, workload)
            means.setdefault(method.name, []).append(workload.squares_and_shares(count))
            cells[method.name].append(len(synopsis.counts))
            hold[method.name].append(share)
        for name, peer in peers.items():
            means.setdefault(name, []).append(workload.squares_and_shares(peer.count(workload.ranges)))
    errors = {name: np.mean(each, axis=0) for name, each in means.items()}
    for each in errors.values():
        each[::2] = np.sqrt(each[::2])
    return Outcome(
        chosen,
        len(workload.points),
        epsilon,
        errors,
        {name: float(np.mean(each)) for name, each in cells.items()},
        {name: float(np.mean(each)) for name, each in hold.items()},
    )


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
        for name in (name for name in chosen[0].errors if name != ADAPTIVE_GRID):
            ratios = np.array([each.ratios(name) for each in chosen])
            hold = [each.hold[name] for each in chosen if name in each.hold]
            share = f"{np.mean(hold):.3f}" if hold else ""
            rows.append([epsilon, name, *(_mean(column.tolist()) for column in ratios.T), share])
    sets = len({each.chosen.name for each in measured})
    remarks = [f"{sets} sets. Geometric mean of the ratio to Adaptive Grid ± standard error (worst set)."]
    if d == 2:
        remarks.append(
            "Targets for `adaptive`: RMSE at most 0.9, relative error at most 0.75, a fifth of rugnik's RMSE."
        )
        remarks += [_beside_rugnik(measured, epsilon) for epsilon in EPSILONS]
    else:
        remarks.append("Adaptive Grid and Uniform Grid are for two attributes; this is our extension of them.")
    remarks += [line for epsilon in EPSILONS for line in _best(measured, epsilon)]
    title = f"Range counts, {d} attribute{'s' if d > 1 else ''}: ratio to Adaptive Grid"
    return Section(title, remarks, ["epsilon", "method", *MEASURES, "hold"], rows)


def _beside_rugnik(outcomes: Sequence[Outcome], epsilon: str) -> str:
    """How many times smaller the errors of `adaptive` are than those of `rugnik`, in a sentence."""
    ratios = np.array([each.errors["rugnik"] / each.errors[_OURS] for each in outcomes if each.epsilon == epsilon])
    means = ", ".join(
        f"{name} {exp(column.mean()):.1f}" for name, column in zip(MEASURES, np.log(ratios).T, strict=True)
    )
    return f"epsilon {epsilon}: rugnik / adaptive {means}."


def _best(outcomes: Sequence[Outcome], epsilon: str) -> Iterator[str]:
    """For each measure, on how many sets which method has the smallest error, in a sentence; all of them know N."""
    chosen = [each for each in outcomes if each.epsilon == epsilon]
    for i, measure_name in enumerate(MEASURES):
        wins: dict[str, int] = {}
        for each in chosen:
            names = [name for name in each.errors if name in _DECLARED or name not in each.hold]
            best = min(names, key=lambda name: each.errors[name][i])
            wins[best] = wins.get(best, 0) + 1
        ranked = ", ".join(f"{name} {sets}" for name, sets in sorted(wins.items(), key=lambda win: -win[1]))
        yield f"epsilon {epsilon}, {measure_name}, sets with the smallest error: {ranked}."


def detail(outcomes: Sequence[Outcome]) -> Section:
    """`adaptive` on every set."""
    rows = []
    for each in outcomes:
        name = f"{each.chosen.name} *" if each.chosen.group is Group.DEVELOPMENT else each.chosen.name
        start = [name, str(each.chosen.dimensions), f"{each.rows:,}", each.epsilon, f"{each.cells[_OURS]:,.0f}"]
        rows.append([*start, *(f"{ratio:.2f}" for ratio in each.ratios(_OURS)), f"{each.hold[_OURS]:.3f}"])
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
    parser = argparse.ArgumentParser(description="Range counts on real rows beside peers.")
    parser.add_argument("--draws", type=int, default=None, help="releases of each set")
    parser.add_argument("--reserve", action="store_true", help="the sets in reserve: only to confirm a changed rule")
    options = parser.parse_args()
    publish(run(options.draws, reserve=options.reserve), "ranges")


if __name__ == "__main__":
    main()
