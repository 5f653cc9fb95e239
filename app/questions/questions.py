"""Each question an analyst can ask, by its name and parameters, with its answer as plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

import numpy as np

from app.questions.answers import Prepared, Question
from core.checkpoint import Checkpoint
from core.clustering.methods import Choice, Method
from core.errors import InvalidQuery
from core.intervals.levels import Interval
from core.queries.boxes import Box, Range
from core.queries.clusters import Clusters, assign, find_clusters, scan
from core.queries.denoise import CountsKind
from core.queries.effort import (
    effort_of_boxes,
    effort_of_cells,
    effort_of_clusters,
    effort_of_moments,
    effort_of_scan,
)
from core.queries.estimates import Estimate
from core.queries.marginal import Marginal, edges_of, marginal
from core.queries.moments import moments
from core.queries.quantile import quantile
from core.queries.range_count import RangeCounts, count_boxes

MAX_BOXES = 10_000
MAX_SCAN = 32
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_WHERE = re.compile(rf"([^:]+):({_NUMBER})?\.\.({_NUMBER})?", re.ASCII)
_SCAN = re.compile(r"([0-9]{1,4})\.\.([0-9]{1,4})", re.ASCII)


def parse_box(where: Sequence[str]) -> Box:
    """`age:20..40`, `age:..40`, `age:20..`: one range each, [lower, upper)."""
    ranges = []
    for text in where:
        found = _WHERE.fullmatch(text)
        if found is None:
            raise InvalidQuery("Write a range as attribute:lower..upper, such as age:20..40, age:..40 or age:20..")
        name, lower, upper = found.groups()
        ranges.append(Range(name, float(lower) if lower else -inf, float(upper) if upper else inf))
    return tuple(ranges)


def ask_count(where: Sequence[str], level: float, snap: bool = False) -> Question:
    """How many rows lie in a box? With `snap`, in the box of whole cells whose edges are nearest."""
    box = parse_box(where)

    def answer(prepared: Prepared, _checkpoint: Checkpoint) -> Mapping[str, Any]:
        counted = count_boxes(prepared.table, (box,), level=level, simultaneous=False, snap=snap)
        columns = _columns(counted)
        fields = {
            "count": float(columns["counts"][0]),
            "interval": {"level": level, "low": float(columns["low"][0]), "high": float(columns["high"][0])},
            "noise": {name: float(values[0]) for name, values in columns["noise"].items()},
            "discretisation": {name: float(values[0]) for name, values in columns["discretisation"].items()},
        }
        return {**fields, "snapped": _snapped(prepared, box, counted)} if snap else fields

    parameters = {"where": sorted(where), "level": level}
    asked = {**parameters, "snap": True} if snap else parameters
    return Question("count", asked, answer, effort=partial(effort_of_boxes, boxes=1))


def _snapped(prepared: Prepared, box: Box, counted: RangeCounts) -> Mapping[str, Any]:
    """The edges that the ranges of a box were moved to, in the attributes' own units."""
    synopsis, restricted = prepared.synopsis, {part.attribute for part in box}
    moved = {}
    for x, attribute in enumerate(synopsis.domain.attributes):
        if attribute.name in restricted:
            edges = edges_of(attribute, synopsis.grid.cells_per_axis)
            ends = (int(counted.edges.low[0, x]), int(counted.edges.high[0, x]))
            moved[attribute.name] = _ends((float(edges[ends[0]]), float(edges[ends[1]])))
    return moved


def ask_counts(boxes: Sequence[Sequence[str]], level: float, simultaneous: bool) -> Question:
    """How many rows lie in each of many boxes?"""
    parsed = tuple(parse_box(where) for where in boxes)

    def answer(prepared: Prepared, _checkpoint: Checkpoint) -> Mapping[str, Any]:
        return _columns(count_boxes(prepared.table, parsed, level=level, simultaneous=simultaneous))

    parameters = {"boxes": len(boxes), "level": level, "simultaneous": simultaneous}
    return Question("counts", parameters, answer, effort=partial(effort_of_boxes, boxes=len(boxes)))


def _columns(counted: RangeCounts) -> Mapping[str, Any]:
    return {
        "counts": counted.count,
        "low": counted.low,
        "high": counted.high,
        "noise": {"low": counted.noise_low, "high": counted.noise_high, "sd": counted.noise_sd},
        "discretisation": {"low": counted.without_cut, "high": counted.with_cut},
    }


def ask_marginal(attributes: Sequence[str], level: float, counts: CountsKind, cells: int | None = None) -> Question:
    """The histogram of some attributes; with `cells`, neighbours are added up until an axis has at most so many."""

    def answer(prepared: Prepared, _checkpoint: Checkpoint) -> Mapping[str, Any]:
        found = marginal(prepared.synopsis, tuple(attributes), level=level, counts=counts, cells=cells)
        told = {
            "attributes": [{"name": a.name, "edges": found.edges(a)} for a in found.domain.attributes],
            "counts": found.counts.reshape((found.cells_per_axis,) * found.grid.dimensions),
            "noise_sd": found.noise_sd,
            **reach_or_bounds(found),
        }
        return told if cells is None else {**told, "cells_summed": found.group}

    parameters = {"attributes": list(attributes), "level": level, "counts": counts.value}
    return Question("marginal", parameters if cells is None else {**parameters, "cells": cells}, answer)


def reach_or_bounds(found: Marginal) -> Mapping[str, Any]:
    """One reach for all cells, or, where a threshold left cells out, bounds for each."""
    level = found.level
    if found.bounds is None or found.bounds_all is None:
        return {"reach": {"level": level, "each": found.reach, "all": found.reach_all}, "bounds": None}
    each, together = (
        {
            end: side.reshape((found.cells_per_axis,) * found.grid.dimensions)
            for end, side in zip(("low", "high"), pair, strict=True)
        }
        for pair in (found.bounds, found.bounds_all)
    )
    return {"reach": None, "bounds": {"level": level, "each": each, "all": together}}


def ask_quantiles(attribute: str, qs: Sequence[float], level: float) -> Question:
    """Quantiles of one attribute."""

    def answer(prepared: Prepared, _checkpoint: Checkpoint) -> Mapping[str, Any]:
        found = [quantile(prepared.synopsis, attribute, q, level=level) for q in qs]
        return {
            "quantiles": [
                {"q": f.q, "value": f.value, "interval": _interval(f.interval), "discretisation": _ends(f.cell)}
                for f in found
            ]
        }

    parameters = {"attribute": attribute, "q": list(qs), "level": level}
    return Question("quantiles", parameters, answer, effort=partial(effort_of_cells, passes=len(qs)))


def ask_moments(level: float) -> Question:
    """Size, means, variances, covariances, correlations."""

    def answer(prepared: Prepared, _checkpoint: Checkpoint) -> Mapping[str, Any]:
        found = moments(prepared.synopsis, level=level)
        return {
            "size": _estimate(found.size),
            "attributes": [
                {
                    "name": a.name,
                    "mean": _estimate(a.mean),
                    "variance": _estimate(a.variance),
                    "discretisation": {"mean": a.discretisation, "sd": a.discretisation},
                }
                for a in found.attributes
            ],
            "pairs": [
                {
                    "attributes": list(p.names),
                    "covariance": _estimate(p.covariance),
                    "correlation": _estimate(p.correlation),
                }
                for p in found.pairs
            ],
        }

    return Question("moments", {"level": level}, answer, effort=effort_of_moments)


def ask_clusters(k: int, level: float, seed: int, method: Method) -> Question:
    """k clusters with what noise leaves certain about them."""

    def answer(prepared: Prepared, checkpoint: Checkpoint) -> Mapping[str, Any]:
        synopsis = prepared.synopsis
        found = find_clusters(synopsis, k, level=level, seed=seed, method=method, checkpoint=checkpoint)
        return _clusters(prepared, found)

    parameters = {"k": k, "level": level, "seed": seed, "method": method.value}
    return Question("clusters", parameters, answer, effort=partial(effort_of_clusters, k=k, asked=method), costly=True)


def _clusters(prepared: Prepared, found: Clusters) -> Mapping[str, Any]:
    synopsis = prepared.synopsis
    half = (synopsis.domain.width / synopsis.grid.cells_per_axis / 2).tolist()
    return {
        "attributes": list(synopsis.domain.names),
        "centers": [cluster.centre for cluster in found.clusters],
        "sizes": [cluster.size for cluster in found.clusters],
        "uncertainty": [
            {
                "center": [_interval(interval) for interval in cluster.centre_intervals],
                "region": [_interval(interval) for interval in cluster.region],
                "size": _interval(cluster.size_interval),
                "noise_probability": cluster.noise_probability,
            }
            for cluster in found.clusters
        ],
        "merges": [{"clusters": merge.clusters, "probability": merge.probability} for merge in found.merges],
        "discretisation": {"center": half},
        "inertia": found.inertia,
        "stability": found.stability,
        **_method(found.choice),
        "warnings": list(found.warnings),
    }


def _method(choice: Choice) -> Mapping[str, str]:
    return {"method": choice.method.value, "method_reason": choice.reason}


def ask_scan(ks: str, seed: int) -> Question:
    """Inertia and stability for several k, written 2..10."""
    found = _SCAN.fullmatch(ks)
    if found is None:
        raise InvalidQuery("Write the k to scan as first..last, such as 2..10.")
    first, last = int(found[1]), int(found[2])
    if not 1 <= first <= last or last - first >= MAX_SCAN:
        raise InvalidQuery(f"A scan goes upwards from 1 or more and takes at most {MAX_SCAN} values of k.")

    ks_asked = range(first, last + 1)

    def answer(prepared: Prepared, checkpoint: Checkpoint) -> Mapping[str, Any]:
        found = scan(prepared.synopsis, ks_asked, seed=seed, checkpoint=checkpoint)
        lines = [{"k": line.k, "inertia": line.inertia, "stability": line.stability} for line in found.lines]
        return {"scan": lines, **_method(found.choice)}

    return Question("scan", {"k": ks, "seed": seed}, answer, effort=partial(effort_of_scan, ks=ks_asked), costly=True)


def ask_assignment(points: Sequence[Sequence[float]], k: int, seed: int, method: Method) -> Question:
    """Which of k centres is nearest to each of the analyst's own points?"""

    def answer(prepared: Prepared, checkpoint: Checkpoint) -> Mapping[str, Any]:
        synopsis = prepared.synopsis
        if any(len(point) != synopsis.domain.dimensions for point in points):
            names = ", ".join(synopsis.domain.names)
            raise InvalidQuery(f"Each point has one number for each attribute of the release: {names}.")
        found = find_clusters(synopsis, k, level=0.95, seed=seed, method=method, checkpoint=checkpoint)
        labels = assign(synopsis, found, np.array(points, dtype=np.float64).reshape(-1, synopsis.domain.dimensions))
        centres = [cluster.centre for cluster in found.clusters]
        return {"labels": labels, "centers": centres, **_method(found.choice)}

    parameters = {"k": k, "seed": seed, "method": method.value, "points": len(points)}
    return Question("assign", parameters, answer, effort=partial(effort_of_clusters, k=k, asked=method))


def _interval(interval: Interval) -> dict[str, float]:
    return {"level": interval.level, "low": interval.low, "high": interval.high}


def _ends(ends: tuple[float, float]) -> dict[str, float]:
    return {"low": ends[0], "high": ends[1]}


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {"value": estimate.value, "interval": _interval(estimate.interval)}
