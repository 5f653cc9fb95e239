"""Attribute kinds on real flights: counts and clusters beside the same columns as numbers made of codes.

`python -m bench.tables [--draws 2]`; 5 with FULL=1.

The coded side is what version 0.1 offered, used with care: whole numbers, days
and carriers are numbered from 0, an attribute of V values has the bounds 0 and V, and the values a to b are asked for
as [a, b + 1). Rows without a delay are dropped there and kept here. Both sides have the same epsilon, the same
declared size, the same readers and the same rule for the grid. The rows are used for scoring only.

Boxes come from fixed seeds. Noise comes from the operating system, as in the service, so figures differ a little from
run to run. All boxes of a release share its noise: a single release of few cells may cover 60 % or 100 % of its boxes,
so coverage needs many releases.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import pyarrow as pa
import pyarrow.csv
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from app.ingest.formats import MediaType
from app.ingest.limits import Limits
from app.ingest.upload import read_upload
from bench.flights import Column, flights
from bench.published import Floats
from bench.report import Section, chosen, publish
from core.budget import Epsilon
from core.clustering.kmeans import nearest
from core.domain.attribute import Attribute
from core.domain.domain import Domain
from core.plan import DeclaredSize, Order
from core.queries.boxes import Box
from core.queries.clusters import find_clusters
from core.queries.range_count import count_boxes, range_table
from core.randomness import NoiseSource
from core.records import OutOfRange
from core.release import draw
from core.synopsis import Synopsis

EPSILONS = ("1", "0.1")
COMBINATIONS: tuple[tuple[str, ...], ...] = (
    ("hour", "carrier"),
    ("carrier", "day"),
    ("hour", "day"),
    ("hour", "dep_delay"),
    ("hour", "carrier", "dep_delay"),
    ("hour", "dep_delay", "distance"),
)
CLUSTERED = tuple(names for names in COMBINATIONS if "carrier" not in names)  # codes of carriers have no distances
BOXES = 300
DRAWS = chosen(2, 5)
CLUSTERS = 4
CLUSTERED_DRAWS = 2  # clusters take a second each
STARTS = 10  # of k-means without privacy
LEVEL = 0.95
SANITY = 0.001  # of all rows: relative errors are those of at least so many, as usual for range counts
MAX_CELLS = 4_000_000  # the service's default

Ends = dict[str, tuple[int, int]]  # by column: codes from the first up to, and without, the second
Releases = dict[tuple[tuple[str, ...], str, bool], list[Synopsis]]  # by columns, epsilon, and whether they are typed


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Random boxes on some columns, and how many flights lie in each."""

    names: tuple[str, ...]
    ends: list[Ends]
    truth: Floats


@dataclass(frozen=True, slots=True)
class Errors:
    """Over boxes and draws: root mean square and mean relative error, coverage and median width of the intervals."""

    rmse: float
    relative: float
    coverage: float
    width: float


def columns(names: Sequence[str]) -> list[Column]:
    """The columns with these names."""
    return [flights()[name] for name in names]


def random_boxes(names: tuple[str, ...], seed: int) -> Boxes:
    """BOXES boxes: a range of each ordered column, any two ends equally likely, and a single carrier."""
    rng = np.random.default_rng(seed)
    ends = [{column.name: _ends(column, rng) for column in columns(names)} for _ in range(BOXES)]
    truth = [np.logical_and.reduce([flights()[n].holds(*pair) for n, pair in box.items()]).sum() for box in ends]
    return Boxes(names, ends, np.array(truth, dtype=np.float64))


def _ends(column: Column, rng: np.random.Generator) -> tuple[int, int]:
    lower, upper = int(column.coded.lower), int(column.coded.upper)
    if not column.typed.is_ordered:
        place = int(rng.integers(lower, upper))
        return place, place + 1
    low, high = sorted(rng.choice(np.arange(lower, upper + 1), 2, replace=False).tolist())
    return low, high


def kinds_of_boxes(names: tuple[str, ...]) -> list[Boxes]:
    """Boxes on each of the columns alone, and on all of them."""
    chosen = [*((name,) for name in names), names]
    return [random_boxes(each, seed) for seed, each in enumerate(chosen)]


def synopses(names: Sequence[str], epsilon: str, draws: int, *, typed: bool) -> list[Synopsis]:
    """Several releases of the same rows, read from CSV as the service reads them."""
    chosen = columns(names)
    attributes: tuple[Attribute, ...] = tuple(each.typed if typed else each.coded for each in chosen)
    body = io.BytesIO()
    pyarrow.csv.write_csv(pa.table({each.name: each.values if typed else each.codes for each in chosen}), body)
    size = DeclaredSize(len(chosen[0].codes))
    order = Order(attributes=attributes, epsilon=Epsilon.parse(epsilon), clusters=CLUSTERS, size=size)
    domain = Domain(attributes)
    with read_upload(
        [body.getvalue()],
        media_type=MediaType.CSV,
        gzip=False,
        order=order,
        domain=domain,
        out_of_range=OutOfRange.CLIP,
        max_cells=MAX_CELLS,
        limits=Limits(),
    ) as rows:
        return [
            draw(
                rows,
                order,
                NoiseSource(),
                max_cells=MAX_CELLS,
                domain=domain,
                out_of_range=OutOfRange.CLIP,
                dataset="flights",
                release_id="bench",
            )
            for _ in range(draws)
        ]


def errors(releases: Sequence[Synopsis], boxes: Boxes, *, typed: bool) -> Errors:
    """The boxes asked of every release."""
    asked = tuple(_box(ends, typed=typed) for ends in boxes.ends)
    answers = [count_boxes(range_table(each), asked, level=LEVEL, simultaneous=False) for each in releases]
    missed = np.array([answer.count - boxes.truth for answer in answers])
    held = [(answer.low <= boxes.truth) & (boxes.truth <= answer.high) for answer in answers]
    least = SANITY * len(flights()["hour"].codes)
    return Errors(
        rmse=sqrt(np.mean(missed**2)),
        relative=float(np.mean(np.abs(missed) / np.maximum(boxes.truth, least))),
        coverage=float(np.mean(held)),
        width=float(np.median([answer.high - answer.low for answer in answers])),
    )


def _box(ends: Ends, *, typed: bool) -> Box:
    return tuple(
        flights()[name].typed_part(*pair) if typed else flights()[name].coded_part(*pair) for name, pair in ends.items()
    )


def counts(releases: Releases, draws: int) -> Section:
    """A line for each combination, epsilon and kind of box."""
    lines = []
    for names in COMBINATIONS:
        boxes = kinds_of_boxes(names)
        for epsilon in EPSILONS:
            for each in boxes:
                ours, coded = (errors(releases[names, epsilon, typed], each, typed=typed) for typed in (True, False))
                lines.append([", ".join(names), epsilon, " and ".join(each.names), *_figures(ours, coded)])
    remarks = [
        f"{len(flights()['hour'].codes):,} flights, {BOXES} boxes of each kind, {draws} releases; `kinds / codes`.",
        f"The relative error is a mean, of at least {SANITY:.1%} of the rows; intervals are at {LEVEL:.0%}.",
    ]
    header = ["columns", "epsilon", "boxes on", "RMSE", "codes / kinds", "relative error", "coverage", "width"]
    return Section("Real flights: counts by attribute kinds beside codes", remarks, header, lines)


def _figures(ours: Errors, coded: Errors) -> list[str]:
    return [
        f"{ours.rmse:,.0f} / {coded.rmse:,.0f}",
        f"{coded.rmse / ours.rmse:.1f}",
        f"{ours.relative:.2%} / {coded.relative:.2%}",
        f"{ours.coverage:.3f} / {coded.coverage:.3f}",
        f"{ours.width:,.0f} / {coded.width:,.0f}",
    ]


def clusters(releases: Releases) -> Section:
    """Centres of the default method against k-means on the rows."""
    lines = []
    for names in CLUSTERED:
        points, weights = _distinct(names)
        best = KMeans(CLUSTERS, n_init=STARTS, random_state=0).fit(points, sample_weight=weights)
        for epsilon in EPSILONS:
            scores = [
                np.mean([_score(names, each, points, weights, best, typed=typed) for each in several], axis=0)
                for typed in (True, False)
                for several in [releases[names, epsilon, typed][:CLUSTERED_DRAWS]]
            ]
            lines.append([", ".join(names), epsilon, *(f"{a:.4f} / {b:.4f}" for a, b in zip(*scores, strict=True))])
    remarks = [
        f"k = {CLUSTERS}, {CLUSTERED_DRAWS} releases, `kinds / codes`; flights with a value of every column.",
        f"WCSS in [-1, 1]^d, relative to the best of {STARTS} starts of scikit-learn's KMeans on the rows (a local "
        "optimum, so ratios may be below 1); the distance is between its centres and ours in pairs.",
    ]
    header = ["columns", "epsilon", "WCSS / without privacy", "distance of centres"]
    return Section("Real flights: centres of clusters", remarks, header, lines)


def _distinct(names: tuple[str, ...]) -> tuple[Floats, Floats]:
    """The different rows without missing values in [-1, 1]^d, and how often each occurs."""
    codes = np.stack([column.codes for column in columns(names)], axis=1)
    different, often = np.unique(codes[~np.isnan(codes).any(axis=1)], axis=0, return_counts=True)
    return _scaled(different, names), often.astype(np.float64)


def _scaled(codes: Floats, names: tuple[str, ...]) -> Floats:
    lower, upper = (np.array([getattr(column.coded, end) for column in columns(names)]) for end in ("lower", "upper"))
    scaled: Floats = 2 * (codes - lower) / (upper - lower) - 1
    return scaled


def _score(
    names: tuple[str, ...], synopsis: Synopsis, points: Floats, weights: Floats, best: KMeans, *, typed: bool
) -> tuple[float, float]:
    """WCSS over that of k-means, and the root mean square distance of the centres from those of k-means."""
    answer = find_clusters(synopsis, CLUSTERS, level=LEVEL, seed=0)
    centres = np.array([cluster.centre for cluster in answer.clusters])
    if typed:  # from the attributes' own units to codes
        centres -= [getattr(column.typed, "first", 0) for column in columns(names)]
    centres = _scaled(centres, names)
    wcss = float(nearest(points, centres[None])[1][0] @ weights)
    squares = ((centres[:, None] - best.cluster_centers_[None]) ** 2).sum(axis=2)
    return wcss / best.inertia_, sqrt(squares[linear_sum_assignment(squares)].mean())


def run(draws: int = DRAWS) -> list[Section]:
    """Counts, then clusters, of the same releases."""
    releases = {
        (names, epsilon, typed): synopses(names, epsilon, draws, typed=typed)
        for names in COMBINATIONS
        for epsilon in EPSILONS
        for typed in (True, False)
    }
    return [counts(releases, draws), clusters(releases)]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Attribute kinds on real flights beside numbers made of codes.")
    parser.add_argument("--draws", type=int, default=DRAWS, help="releases of each combination")
    publish(run(parser.parse_args().draws), "tables")


if __name__ == "__main__":
    main()
