"""Numbers alone: what version 0.1 answered about stored synopses is answered still, field by field.

Fields that came later are left aside. Counts that a bought size makes more precise are compared with what they were.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.questions import assign, clusters, count, counts, marginal, moments, quantiles, rows, scan, synopsis
from app.questions.encoding import encode
from app.questions.formats import Format
from app.questions.prepared import Prepared
from app.questions.question import Question
from core.checkpoint import carry_on
from core.domain.number import Number
from core.queries.denoise import CountsKind
from core.synopsis import Synopsis
from rugnik import wire

HERE = Path(__file__).parent
BEFORE: dict[str, dict[str, Any]] = json.loads((HERE / "answers_0_1.json").read_text())
STORED = HERE.parents[1] / "core" / "format_1"

_LATER_WORDS = ("notes", "recommended", "method_reason")  # new since, or a sentence that says more than it did


def asked(prepared: Prepared) -> dict[str, Question]:
    """The questions that were asked of version 0.1."""
    a, b = prepared.synopsis.domain.attributes[:2]
    assert isinstance(a, Number)
    assert isinstance(b, Number)
    middle = (a.lower + a.upper) / 2
    boxes = wire.CountsBody(boxes=[[f"{a.name}:..{middle}"], []], simultaneous=True)
    points = wire.AssignBody(points=[prepared.synopsis.domain.lower.tolist()], k=2)
    return {
        "count": count.count([f"{a.name}:{middle}..", f"{b.name}:..{b.upper}"], 0.9),
        "count snapped": count.count([f"{a.name}:{middle}.."], 0.95, True),
        "counts": counts.counts(boxes),
        "marginal": marginal.get_marginal(f"{b.name},{a.name}", 0.9, CountsKind.NONNEGATIVE, 3),
        "quantiles": quantiles.quantiles(b.name, [0.1, 0.5]),
        "moments": moments.moments(0.9),
        "clusters": clusters.clusters(2),
        "scan": scan.scan("2..3"),
        "assign": assign.assign(points),
        "synopsis": synopsis.synopsis(0.95),
    }


@pytest.fixture(params=sorted(BEFORE))
def prepared(request: pytest.FixtureRequest) -> Prepared:
    """A synopsis as version 0.1 stored it: every cell, or those above a threshold."""
    return Prepared(Synopsis.from_bytes((STORED / f"{request.param}.synopsis").read_bytes()))


def test_answers_are_those_of_version_0_1(prepared: Prepared) -> None:
    """The same fields in the same order with the same values; a synopsis has the shape of its grid as well."""
    before = BEFORE[prepared.synopsis.release]
    for name, question in asked(prepared).items():
        answer = json.loads(encode(question.answer(prepared, carry_on)))
        if name == "synopsis":
            answer["grid"].pop("shape", None)
        if "size_weight" in answer or "size_weights" in answer:
            assert_more_precise(answer, before[name], prepared.synopsis)
        else:
            same = {field: value for field, value in before[name].items() if field != "method_reason"}
            assert_same(without_later_fields(answer), same)


def without_later_fields(answer: Any) -> Any:
    """An answer as version 0.1 would have written it: without sentences and what the grid adds to each part."""
    if isinstance(answer, list):
        return [without_later_fields(part) for part in answer]
    if not isinstance(answer, dict):
        return answer
    kept = {name: without_later_fields(part) for name, part in answer.items() if name not in _LATER_WORDS}
    if set(kept) == {"mean", "sd", "variance"}:  # of a `Shift`
        del kept["variance"]
    if "noise_probability" in kept:  # of a `ClusterUncertainty`
        kept.pop("discretisation")
    return kept


def assert_more_precise(answer: Any, before: Any, synopsis: Synopsis) -> None:
    """The count of version 0.1 and a share of what the bought size exceeds all cells by, with less noise."""
    surplus = synopsis.size - int(synopsis.counts.sum())
    weights = answer.get("size_weights", answer.get("size_weight"))
    now, then = (np.ravel(each.get("counts", each.get("count"))) for each in (answer, before))
    assert now - np.ravel(weights) * surplus == pytest.approx(then)
    assert (np.ravel(answer["noise"]["sd"]) <= np.ravel(before["noise"]["sd"])).all()
    assert (np.ravel(answer["noise"]["sd"]) < np.ravel(before["noise"]["sd"])).any()


def test_files_are_those_of_version_0_1(prepared: Prepared) -> None:
    """Synthetic rows and cells, to the last digit that a text shows."""
    before = BEFORE[prepared.synopsis.release]
    drawn = json.loads(b"".join(rows.in_pieces(rows.rows(5, 3, Format.JSON), prepared, Format.JSON)))
    assert_same(drawn, before["rows"])
    for name, question, in_pieces in (
        ("rows as CSV", rows.rows(5, 3, Format.CSV), rows.in_pieces),
        ("synopsis as CSV", synopsis.synopsis(0.95, Format.CSV), synopsis.in_pieces),
    ):
        assert b"".join(in_pieces(question, prepared, Format.CSV)).decode() == before[name]


def assert_same(answer: Any, before: Any) -> None:
    """Equal, but for the last bits of floats: those may differ between processors."""
    assert type(answer) is type(before)
    if isinstance(before, dict):
        assert list(answer) == list(before)
        for name in before:
            assert_same(answer[name], before[name])
    elif isinstance(before, list):
        assert len(answer) == len(before)
        for pair in zip(answer, before, strict=True):
            assert_same(*pair)
    elif isinstance(before, float):
        assert answer == pytest.approx(before, rel=1e-9, abs=1e-9)
    else:
        assert answer == before
