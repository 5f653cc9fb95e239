"""No estimate lies outside its own interval, or at an end of it, unless the answer says why in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import Any

import numpy as np
import pytest

from app.questions.encoding import encode
from app.questions.prepared import Prepared
from app.questions.question import Question, registered
from app.questions.reasons import Reasons
from app.questions.synopsis import synopsis as whole_synopsis
from core.budget import NOTHING, Epsilon
from core.cells import DenseCells, ThresholdedCells
from core.checkpoint import carry_on
from core.domain.attribute import Attribute, Missing
from core.domain.category import Category
from core.domain.dates import Date, Datetime
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.integer import Integer
from core.domain.number import Number
from core.queries.cluster_scan import NOTHING_STANDS_OUT
from core.queries.denoise import CountsKind
from core.synopsis import Synopsis
from rugnik import wire
from tests.core.queries.worlds import rows, synopsis_of
from tests.support.service.questions import EXAMPLES, Example

DAY, MOMENT = date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)
KINDS: tuple[tuple[Attribute, ...], ...] = (
    (Number("age", 0, 100), Number("income", 0, 1000)),
    (Integer("age", 15, 64), Number("income", 0, 1000)),
    (Number("age", 0, 100, Missing.KEEP), Integer("income", 0, 999), Category("sex", ("f", "m"))),
)
# Kinds that the examples have no parts of: asked for quantiles and moments alone.
DAYS = (Date("age", DAY, DAY + timedelta(days=40)), Datetime("income", MOMENT, MOMENT + timedelta(seconds=9)))
WORLDS = [(seed, epsilon) for seed in range(6) for epsilon in ("0.02", "1", "100")]
READ = {"k": int, "level": float, "cells": int, "count": int, "seed": int, "counts": CountsKind}


def synopsis_at(seed: int, epsilon: str, attributes: tuple[Attribute, ...]) -> Synopsis:
    """Random counts on a random grid: few rows or many, in all cells or in few, every cell or those of a threshold."""
    rng = np.random.default_rng([seed, round(100 * float(epsilon))])
    least = {"age": 1, "income": 3, "sex": 2}
    shape = [int(rng.integers(least[each.name], 9 if each.is_ordered else 3)) for each in attributes]
    grid = Grid(tuple(attribute.axis(cells) for attribute, cells in zip(attributes, shape, strict=True)))
    rows_per_cell = rng.choice([0.0, 0.3, 40.0]) * (rng.random(grid.cell_count) < rng.choice([0.2, 1.0]))
    amount = Epsilon.parse(epsilon)
    bought = Epsilon(amount.nano // 10) if seed % 2 else NOTHING
    p = -np.expm1(-float(amount - bought))
    noise = rng.geometric(p, grid.cell_count) - rng.geometric(p, grid.cell_count)
    counts = rng.poisson(rows_per_cell) + noise
    cells: DenseCells | ThresholdedCells = DenseCells(grid, counts.astype(np.int64))
    if seed % 3 == 2:
        threshold = max(1, round(3 / float(amount)))
        listed = np.flatnonzero(counts >= threshold)
        cells = ThresholdedCells(grid, listed, counts[listed].astype(np.int64), threshold)
    size = max(1, int(counts.sum() + rng.integers(-5, 6)))
    made = replace(synopsis_of(rows(10), 2), domain=Domain(attributes), cells=cells, epsilon=amount)
    return replace(made, size_epsilon=bought, size_declared=not bought, size=size)


def question_of(example: Example) -> Question:
    """An example as the service would ask it."""
    if example.answer is wire.Synopsis:
        return whole_synopsis(0.95)
    (registration,) = (each for each in registered() if each.answer is example.answer)
    if example.body is not None:
        return registration.question({"body": example.body})
    own: dict[str, Any] = {}
    for name, texts in example.parameters.items():
        read = READ.get(name, str) if example.answer is not wire.Scan else str
        own[name] = read(texts[0])
    if example.answer is wire.Quantiles:
        own["q"] = [0.0, *map(float, example.parameters["q"]), 1.0]
    if "snap" in own:
        own["snap"] = True
    where = example.parameters.get("where")
    own.pop("where", None)
    return registration.question(own, where)


Triple = tuple[Any, Any, Any]


def instant(value: Any) -> Any:
    """Texts of dates and moments as something that compares."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def triples(answer: Any) -> Iterator[Triple]:
    """Every value of an answer with its interval: (value, low, high)."""
    if isinstance(answer, list):
        yield from chain.from_iterable(map(triples, answer))
    if not isinstance(answer, dict):
        return
    for values, low, high in columns(answer):
        yield from zip(*(map(instant, np.ravel(side).tolist()) for side in (values, low, high)), strict=True)
    yield from chain.from_iterable(map(triples, answer.values()))


def columns(answer: dict[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Values with their intervals that stand in one object: single ones, or lists of the same length."""
    match answer:
        case {"value": value, "interval": interval} if value is not None and interval is not None:
            yield value, interval["low"], interval["high"]
        case {"count": value, "interval": interval, "noise": noise}:
            yield from ((value, ends["low"], ends["high"]) for ends in (interval, noise))
        case {"counts": values, "low": low, "high": high, "noise": noise}:
            yield from ((values, low, high), (values, noise["low"], noise["high"]))
        case {"shares": values, "low": low, "high": high} if values is not None:
            yield values, low, high
        case {"counts": values, "bounds": {"each": each}}:
            yield values, each["low"], each["high"]
        case {"counts": values, "reach": {"each": each}}:
            yield values, np.array(values) - each, np.array(values) + each
        case {"centers": centres, "sizes": sizes, "uncertainty": certain}:
            yield sizes, [each["size"]["low"] for each in certain], [each["size"]["high"] for each in certain]
            for kind in ("center", "region"):
                low, high = ([[ends[side] for ends in each[kind]] for each in certain] for side in ("low", "high"))
                yield centres, low, high


def _about_values(answer: Mapping[str, Any]) -> list[str]:
    """The notes of an answer, but for that of a scan that recommends nothing."""
    return [note for note in answer.get("notes", ()) if note != NOTHING_STANDS_OUT]


def assert_inside(question: Question, prepared: Prepared) -> int:
    """Returns the number of values at an end of their interval."""
    answer = json.loads(encode(question.answer(prepared, carry_on)))
    each = list(triples(answer))
    assert all(low <= value <= high for value, low, high in each), (question.name, question.parameters)
    at_end = sum(not low < value < high for value, low, high in each)
    assert not at_end or _about_values(answer), (question.name, question.parameters, each)
    assert all(" at an end of the interval: " in note or "biased" in note for note in _about_values(answer))
    return at_end


ASKED = [example for example in EXAMPLES if example.answer not in (wire.Rows, wire.Assignment)]


@pytest.mark.parametrize(("seed", "epsilon"), WORLDS)
def test_a_value_is_inside_its_interval_or_the_answer_says_why(seed: int, epsilon: str) -> None:
    """All example questions, of random releases; also of a part of one."""
    prepared = Prepared(synopsis_at(seed, epsilon, KINDS[seed % len(KINDS)]))
    for example in ASKED:
        assert_inside(question_of(example), prepared)
    for example in (Example(wire.Moments), Example(wire.Quantiles, "attribute=age&q=0.3")):
        assert_inside(question_of(example).about(["income:..500"]), prepared)


@pytest.mark.parametrize(("seed", "epsilon"), WORLDS)
def test_dates_are_inside_their_interval_or_the_answer_says_why(seed: int, epsilon: str) -> None:
    """Their texts are rounded, so that a mean may have the text of an end."""
    prepared = Prepared(synopsis_at(seed, epsilon, DAYS))
    for example in (
        Example(wire.Moments),
        Example(wire.Quantiles, "attribute=age&q=0.3"),
        Example(wire.Clusters, "k=1"),
    ):
        assert_inside(question_of(example), prepared)


def test_the_random_releases_have_values_at_ends() -> None:
    """Otherwise the two tests above would show nothing."""
    at_ends = [
        sum(assert_inside(question_of(example), Prepared(synopsis_at(seed, "100", KINDS[0]))) for example in ASKED)
        for seed in (0, 2)
    ]
    assert min(at_ends) > 0


def test_reasons_name_what_they_are_about_and_stay_short() -> None:
    """Values inside need none; many values with the same reason share a sentence."""
    reasons = Reasons()
    reasons.about("the size", 5.0, 4.0, 6.0)
    assert reasons.notes == ()
    reasons.about("the variance of age", 0.0, 0.0, 6.0, least=0.0)
    for i in range(9):
        reasons.about(f"centre {i}", 5.0, 5.0, 5.0)
    first, second = reasons.notes
    assert first.startswith("The variance of age at an end of the interval: it is at the end of what is possible")
    assert second.startswith("Centre 0, centre 1, centre 2, centre 3, centre 4, centre 5 and 3 more at an end")
