"""JSON: the integers of a synopsis read back from the answer of the service, and the first field that is another."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import orjson

from app.questions.encoding import encode
from app.questions.prepared import Prepared
from app.questions.synopsis import synopsis as asked_synopsis
from app.receipts.downloads import UnfitFile
from core.arrays import Wholes
from core.checkpoint import carry_on
from core.errors import InvalidQuery
from core.synopsis import Outline, Synopsis

_DIGITS = 1e-9  # relative: floats that are worked out may be rounded otherwise on another processor


def read_answer(data: bytes) -> dict[str, Any]:
    """The JSON object of a file. UnfitFile where it is no answer to `synopsis`, or one about a part of the release."""
    try:
        answer = json.loads(data)
    except (RecursionError, ValueError):
        raise UnfitFile("The file cannot be read as JSON.") from None
    if not isinstance(answer, dict) or answer.get("question") != "synopsis":
        raise UnfitFile("The file is no synopsis: take it from /v1/releases/{id}/synopsis.")
    if answer.get("slice") is not None or set(answer.get("parameters") or ()) != {"level"}:
        raise UnfitFile("The file is of a part of the release: only the whole can be checked.")
    return answer


def integers_of(answer: dict[str, Any], outline: Outline) -> Wholes:
    """The integers that follow the header of the synopsis, in their order. UnfitFile where the answer has none."""
    try:
        if outline.layered:
            layers = answer["layers"]
            return _wholes([layers[name]["counts"] for name in ("base", "coarse", "leaf")])
        parts = [answer["cells"]] if outline.thresholded else []
        parts += [answer["counts"]]
        if outline.has_offsets:
            parts += answer["offsets"]["sums"]
        return _wholes(parts)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise UnfitFile("The file does not have the whole numbers of the release's cells.") from None


def _wholes(parts: list[list[int]]) -> Wholes:
    """All of them, one after the other. ValueError where one is no whole number."""
    numbers = [number for part in parts for number in part]
    if not all(type(number) is int for number in numbers):
        raise ValueError("A count is a whole number.")
    return np.array(numbers, dtype=np.int64)


def difference(answer: dict[str, Any], synopsis: Synopsis, digest: str) -> str | None:
    """The first difference between an answer and that of the service, as a sentence; None if there is none.

    `digest` is the published one, by which the answer may name itself.
    """
    level = answer["parameters"]["level"]
    if type(level) not in (int, float) or not 0 < level < 1:
        return "parameters.level is no level."
    prepared = Prepared(synopsis)
    prepared.digest = digest
    try:
        reply = asked_synopsis(float(level)).answer(prepared, carry_on)
    except InvalidQuery as error:
        return str(error)
    return _between(answer, orjson.loads(encode(reply)), "")


def _between(own: Any, other: Any, path: str) -> str | None:
    match own, other:
        case dict(), dict():
            for name in [*other, *(name for name in own if name not in other)]:
                inner = f"{path}.{name}" if path else name
                if name not in own or name not in other:
                    return f"{inner} is {'missing' if name in other else 'there, and not in the release'}."
                if (sentence := _between(own[name], other[name], inner)) is not None:
                    return sentence
            return None
        case list(), list():
            if len(own) != len(other):
                return f"{path} has {len(own):,} values; the release has {len(other):,}."
            places = enumerate(zip(own, other, strict=True))
            return next((s for place, pair in places if (s := _between(*pair, f"{path}[{place}]")) is not None), None)
        case _:
            return None if _is_same(own, other) else f"{path} is {_short(own)}; that of the release is {_short(other)}."


def _is_same(own: Any, other: Any) -> bool:
    if float in (type(own), type(other)) and {type(own), type(other)} <= {int, float}:
        return math.isclose(own, other, rel_tol=_DIGITS, abs_tol=_DIGITS)
    return type(own) is type(other) and bool(own == other)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:80]}…"
