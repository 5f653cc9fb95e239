"""Boxes as analysts write them: `age:20..40`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf

from core.errors import InvalidQuery
from core.queries.boxes import Box, Range

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_WHERE = re.compile(rf"([^:]+):({_NUMBER})?\.\.({_NUMBER})?", re.ASCII)


def parse_box(where: Sequence[str]) -> Box:
    """`age:20..40`, `age:..40`, `age:20..`: one range each, [lower, upper). InvalidQuery for anything else."""
    ranges = []
    for text in where:
        parts = _WHERE.fullmatch(text)
        if parts is None:
            raise InvalidQuery("Write a range as attribute:lower..upper, such as age:20..40, age:..40 or age:20..")
        name, lower, upper = parts.groups()
        ranges.append(Range(name, float(lower) if lower else -inf, float(upper) if upper else inf))
    return tuple(ranges)
