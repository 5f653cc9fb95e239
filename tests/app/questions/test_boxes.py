"""Boxes as analysts write them: what each text means for each kind of attribute, and what is refused in words."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from app.questions.boxes import parse_box, parse_boxes, require_where
from core.domain.attribute import MISSING_LABEL
from core.domain.domain import Domain
from core.errors import InvalidQuery
from core.queries.boxes import Chosen, Range
from core.queries.slices import slice_of
from tests.core.queries.mixed import ATTRIBUTES, random_box, world

DOMAIN = Domain(ATTRIBUTES)
FIRST = 1767225600.0  # 2026-01-01T00:00:00Z


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("speed:2..4", Range("speed", 2, 4)),
        ("speed:..4.5", Range("speed", -inf, 4.5)),
        ("speed:-1e1..", Range("speed", -10, inf)),
        ("speed:..", Range("speed")),
        ("speed:1...5", Range("speed", 1, 5)),
        ("speed:...5", Range("speed", -inf, 0.5)),
        ("speed:(missing)", Chosen("speed", (MISSING_LABEL,))),
        ("hour:6..10", Range("hour", 6, 10)),
        ("hour:9", Range("hour", 9, 9)),
        ("age:-2..", Range("age", -2, inf)),
        ("day:2026-01-02..2026-01-04", Range("day", 20455, 20457)),
        ("day:2026-01-02", Range("day", 20455, 20455)),
        ("at:2026-01-01T00:00:00Z..2026-01-01T00:00:00.000005Z", Range("at", FIRST, FIRST + 5e-6)),
        ("at:2026-01-01T01:00:00+01:00..", Range("at", FIRST, inf)),
        ("sex:f,x", Chosen("sex", ("f", "x"))),
        ("sex:(other),(missing)", Chosen("sex", ("(other)", MISSING_LABEL))),
    ],
)
def test_a_text_means_a_part_of_its_attribute(text: str, part: Range | Chosen) -> None:
    """Ranges with or without ends, single values of the kinds whose ranges are closed, lists of categories."""
    require_where([text])
    assert parse_box([text], DOMAIN) == (part,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("speed", "Write a part as attribute:lower..upper"),
        (":1..2", "no attribute of that name"),
        ("pace:1..2", "no attribute of that name in this release; it has: speed, height"),
        ("speed:5", r"A range of speed is written speed:0..10, \[lower, upper\)"),
        ("speed:1..2..3", "A range of speed is written"),
        ("speed:nan..1", "A range of speed is written"),
        ("hour:1.5..3", "with whole numbers, both of them included"),
        ("hour:", "with whole numbers"),
        ("day:2026-02-30..", "both days included"),
        ("day:yesterday", "both days included"),
        ("at:2026-01-01T00:00:00Z", r"\[lower, upper\)"),
    ],
)
def test_other_texts_are_refused_with_an_example(text: str, words: str) -> None:
    """The message names the attribute and shows how a part of it is written."""
    with pytest.raises(InvalidQuery, match=words):
        parse_box([text], DOMAIN)
    with pytest.raises(InvalidQuery, match=f"Box 2 of 2: .*{words}"):
        parse_boxes([["hour:1..2"], [text]], DOMAIN)


def test_what_no_attribute_could_mean_is_refused_before_a_release_is_looked_up() -> None:
    """A name, a colon and something after it."""
    for text in ("", "age", "age:", ":1..2"):
        with pytest.raises(InvalidQuery):
            require_where([text])


@pytest.mark.parametrize("seed", range(12))
def test_a_slice_is_asked_for_again_by_its_own_words(seed: int) -> None:
    """Its texts, parsed and moved to the nearest cells, give the same cells."""
    table = world(seed, attributes=4)
    part = slice_of(table.synopsis, random_box(table.domain, np.random.default_rng(seed)))
    texts = [f"{name}:{text}" for name, text in part.where.items()]
    again = slice_of(table.synopsis, parse_box(texts, table.domain))
    assert again.where == part.where
    assert again.counts.tolist() == part.counts.tolist()
    assert again.domain == part.domain
