"""Boxes as analysts write them: `age:20..40`, `hour:9`, `sex:f,x`, `age:(missing)`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import inf

from core.domain.attribute import MISSING_LABEL, Attribute, Ordered
from core.domain.category import Category
from core.domain.domain import Domain
from core.domain.number import NUMBER, Number
from core.errors import InvalidQuery
from core.queries.boxes import Box, Chosen, Range, Restriction, no_such_attribute

_NUMBERS = re.compile(rf"({NUMBER.pattern})?\.\.({NUMBER.pattern})?", re.ASCII)
_HOW = "Write a part as attribute:lower..upper, such as age:20..40, age:..40 or age:20.., or as attribute:a,b"


def require_where(where: Sequence[str]) -> None:
    """Refuse what is written like no part of any attribute; what its attribute makes of it is seen later."""
    for text in where:
        name, colon, rest = text.partition(":")
        if not (name and colon and rest):
            raise InvalidQuery(f"{_HOW} for categories.")


def parse_box(where: Sequence[str], domain: Domain) -> Box:
    """One part for each text. InvalidQuery where a text is no part of an attribute of this domain."""
    return parse_boxes((where,), domain)[0]


def parse_boxes(boxes: Sequence[Sequence[str]], domain: Domain) -> tuple[Box, ...]:
    """A box for each list of texts."""
    attributes = {attribute.name: attribute for attribute in domain.attributes}
    parsed = []
    for i, where in enumerate(boxes, start=1):
        try:
            parsed.append(tuple(_part(text, attributes, domain) for text in where))
        except InvalidQuery as error:
            raise error if len(boxes) == 1 else InvalidQuery(f"Box {i} of {len(boxes)}: {error}") from None
    return tuple(parsed)


def _part(text: str, attributes: Mapping[str, Attribute], domain: Domain) -> Restriction:
    name, colon, rest = text.partition(":")
    attribute = attributes.get(name)
    if not colon:
        raise InvalidQuery(f"{_HOW} for categories.")
    if isinstance(attribute, Number):  # first, because workloads have many of them
        return Chosen(name, (rest,)) if rest == MISSING_LABEL else _numbers(attribute, rest)
    if attribute is None:
        raise InvalidQuery(no_such_attribute(domain))
    if isinstance(attribute, Category) or rest == MISSING_LABEL:
        return Chosen(name, tuple(rest.split(",")))
    assert isinstance(attribute, Ordered)  # noqa: S101 - every kind but category is
    return _range(attribute, rest)


def _numbers(attribute: Number, text: str) -> Range:
    """`lower..upper`, either end left out or not. 1...5 is 1 to 5: a number may end in a point."""
    ends = _NUMBERS.fullmatch(text)
    if ends is None:
        raise _no_range(attribute)
    lower, upper = ends.groups()
    return Range(attribute.name, float(lower) if lower else -inf, float(upper) if upper else inf)


def _range(attribute: Ordered, text: str) -> Range:
    """The same for other kinds; or a single value, of the kinds whose ranges hold both ends."""
    lower, dots, upper = text.partition("..")
    if dots:
        value_of = attribute.value_of
        return Range(attribute.name, value_of(lower) if lower else -inf, value_of(upper) if upper else inf)
    value = attribute.value_of(text)
    if attribute.why_empty(value, value):  # half-open: a single moment is no range
        raise _no_range(attribute)
    return Range(attribute.name, value, value)


def _no_range(attribute: Ordered) -> InvalidQuery:
    """The error for a text that is no range: the same as for an end that is no value."""
    try:
        attribute.value_of("")
    except InvalidQuery as error:
        return error
    raise AssertionError("No attribute has an empty text for a value.")
