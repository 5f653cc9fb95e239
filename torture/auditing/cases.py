"""The cases of the audit: every rule, every form of a release, records and persons, and an upload format with each.

Each unit of interest lies in a place of its own, and where it does, everything but its own row is known.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.formats import MediaType
from torture.auditing.case import Answer, Case, Columns
from torture.auditing.guesses import Coins, Scores

_SIDE = 100.0


def _repeated(values: list[tuple[Any, ...]], times: NDArray[np.int64], names: list[str]) -> Columns:
    """Columns in which each row stands so many times."""
    chosen = [value for value, count in zip(values, times.tolist(), strict=True) for _ in range(count)]
    return {name: [row[x] for row in chosen] for x, name in enumerate(names)}


# --- a grid of numbers: one unit in the middle of each cell


def _squares(name: str, rule: str, cells: int, media_type: MediaType, **size: Any) -> Case:
    attributes = [{"name": each, "lower": 0, "upper": _SIDE} for each in ("x", "y")]
    middles = [_SIDE * (place + 0.5) / cells for place in range(cells)]
    places = list(product(middles, middles))

    def file(coins: Coins) -> Columns:
        return _repeated(places, coins.astype(np.int64), ["x", "y"])

    def scores(synopsis: Answer) -> Scores:
        assert len(synopsis["counts"]) == cells**2, (len(synopsis["counts"]), cells**2)
        return np.array(synopsis["counts"], dtype=float)

    order = {"epsilon": "1", "clusters": 4, "rule": rule, **size}
    return Case(name, attributes, order, cells**2, file, scores, media_type)


# --- categories, whole numbers, missing values: one unit, or person, in each combination

_WARDS = [f"ward {number}" for number in range(300)]
_MIXED = [
    {"name": "ward", "kind": "category", "values": _WARDS, "other": True, "missing": "keep"},
    {"name": "stage", "kind": "integer", "lower": 0, "upper": 4, "missing": "keep"},
]
_PLACES = list(product([*_WARDS, "elsewhere", ""], [0, 1, 2, 3, 4, ""]))


def _mixed_scores(synopsis: Answer) -> Scores:
    assert len(synopsis["counts"]) == len(_PLACES)
    return np.array(synopsis["counts"], dtype=float)


def _mixed_file(coins: Coins) -> Columns:
    return _repeated(_PLACES, coins.astype(np.int64), ["ward", "stage"])


def _persons_file(rows: int, coins: Coins) -> Columns:
    """Each person has so many rows, all in one place: of them `max_rows` count."""
    named = [(*place, f"p{number}") for number, place in enumerate(_PLACES)]
    return _repeated(named, rows * coins.astype(np.int64), ["ward", "stage", "patient"])


_MIXED_ORDER = {"epsilon": "1", "clusters": 1, "size": {"declared": 10**6}}


# --- layers: at each combination of two categories many rows at one point, and one more or not

_TENS, _UNITS, _POINT = 50, 10, 0.3
_AROUND = 170  # a base cell is cut from about here on, so that both kinds of path come about
_LAYERED: list[dict[str, Any]] = [
    {"name": "tens", "kind": "category", "values": [f"t{number}" for number in range(_TENS)]},
    {"name": "units", "kind": "category", "values": [f"u{number}" for number in range(_UNITS)]},
    {"name": "x", "lower": 0, "upper": 1},
]
_COMBINED = [(f"t{tens}", f"u{units}", _POINT) for tens in range(_TENS) for units in range(_UNITS)]
_SHARES = {"base": 0.1, "coarse": 0.2}


def _layered_file(coins: Coins) -> Columns:
    return _repeated(_COMBINED, _AROUND + coins.astype(np.int64), ["tens", "units", "x"])


def _layered_scores(synopsis: Answer) -> Scores:
    """On the path of each combination: the shares of epsilon that speak for one row more, less those against it."""
    scores, left, edges = np.zeros(len(_COMBINED)), np.ones(len(_COMBINED)), np.array(synopsis["layers"]["edges"][2])
    for name in ("base", "coarse", "leaf"):
        layer = synopsis["layers"][name]
        tens, units, lower = (np.array(column) for column in layer["lower"])
        upper, counts = np.array(layer["upper"][2]), np.array(layer["counts"])
        here = (edges[lower] <= _POINT) & (edges[upper] > _POINT)
        number = tens[here] * _UNITS + units[here]
        share = left[number] if name == "leaf" else _SHARES[name]
        scores[number] += share * np.where(counts[here] > _AROUND, 1.0, -1.0)
        left[number] -= share
    return scores


# --- listed cells and their sums of offsets: a row more in the corner of a cell that has as many as the threshold


def _listed(name: str, dimensions: int, cells: int, base: int, *, offsets: bool, **more: Any) -> Case:
    names = [f"x{number}" for number in range(dimensions)]
    places = list(product(range(cells), repeat=dimensions))
    middles = [tuple(_SIDE * (place + 0.5) / cells for place in each) for each in places]
    corners = [tuple(_SIDE * place / cells + 0.01 for place in each) for each in places]
    known = _repeated(middles, np.full(len(places), base), names)

    def file(coins: Coins) -> Columns:
        own = _repeated(corners, coins.astype(np.int64), names)
        return {each: known[each] + own[each] for each in names}

    def scores(synopsis: Answer) -> Scores:
        assert synopsis["grid"]["cells"] == len(places), synopsis["grid"]
        seen = np.full(len(places), -1.0)
        for place, cell in enumerate(synopsis["cells"]):
            seen[cell] = _seen(synopsis, place, base, offsets=offsets)
        return seen

    attributes = [{"name": each, "lower": 0, "upper": _SIDE} for each in names]
    order = {"epsilon": "1", "clusters": 2, "size": {"declared": 1000}}
    return Case(name, attributes, order, len(places), file, scores, MediaType.NDJSON, **more)


def _seen(synopsis: Answer, place: int, base: int, *, offsets: bool) -> float:
    """Half for the count, half for the sums: how much nearer they are to those with the row in the lowest corner."""
    count = 1.0 if synopsis["counts"][place] > base else -1.0
    if not offsets:
        return count
    steps, sums = synopsis["offsets"]["steps"], np.array(synopsis["offsets"]["sums"][place], dtype=float)
    nearer = np.abs(sums).max() - np.abs(sums + steps).max()
    return float(count + nearer / steps) / 2


# --- a bought size: one unit in all, which the size and its cell both speak of


def _bought(name: str, media_type: MediaType) -> Case:
    attributes = [{"name": "ward", "kind": "category", "values": ["a", "b"]}]

    def file(coins: Coins) -> Columns:
        return {"ward": ["b"] * 5 + ["a"] * int(coins[0])}

    def scores(synopsis: Answer) -> Scores:
        return np.array([float(synopsis["size"] > 5) + float(synopsis["counts"][0] > 0) - 1.0])

    order = {"epsilon": "3", "clusters": 1, "size": {"estimate": "0.5"}}
    return Case(name, attributes, order, 1, file, scores, media_type, releases=1600, share=0.5)


PERSON = {"kind": "person", "column": "patient", "max_rows": 3}
_DECLARED = {"size": {"declared": 20_000}}

CASES = (
    _squares("rugnik, dense", "rugnik", 36, MediaType.CSV, **_DECLARED),
    _squares("eugkm, dense", "eugkm", 45, MediaType.PARQUET, **_DECLARED),
    Case("categories, whole numbers, missing values", _MIXED, _MIXED_ORDER, len(_PLACES), _mixed_file, _mixed_scores),
    Case(
        "persons with 100 rows, 3 counted",
        _MIXED,
        _MIXED_ORDER,
        len(_PLACES),
        partial(_persons_file, 100),
        _mixed_scores,
        unit=PERSON,
        releases=20,
    ),
    Case(
        "adaptive, all layers of a path",
        _LAYERED,
        {"epsilon": "1", "clusters": 1, "size": {"declared": 10**6}, "rule": "adaptive"},
        len(_COMBINED),
        _layered_file,
        _layered_scores,
        MediaType.ARROW_STREAM,
        releases=60,
        share=0.7,
    ),
    _listed("listed cells", 5, 4, 5, offsets=False, settings={"max_cells": 16}),
    _listed("listed cells with sums of offsets", 7, 2, 20, offsets=True, releases=160, share=0.65),
    _bought("a bought size", MediaType.NDJSON),
)
