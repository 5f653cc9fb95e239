"""Values of a request by their declared types: the same values and the same faults as pydantic finds for the service.

The types are those that parameters and bodies of questions have: whole numbers, numbers, truth values, texts, choices,
lists, alternatives of these, and the dataclasses of `rugnik.wire`, with the Limits of `Annotated`. A fault has the
fields that pydantic gives it, so that `app.faults` words both. `tests/app/offline` compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from enum import Enum
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from rugnik.wire.base import Body
from rugnik.wire.limits import Limits

Place = tuple[str | int, ...]
_NO_LIMITS = Limits()
_INTEGER = re.compile(r"[+-]?[0-9]+(_[0-9]+)*(\.0+)?", re.ASCII)
_MOST_DIGITS = 4300
_YES, _NO = ("1", "on", "t", "true", "y", "yes"), ("0", "off", "f", "false", "n", "no")
_BOUNDS = {"le": "less_than_equal", "lt": "less_than", "ge": "greater_than_equal", "gt": "greater_than"}


class Faults(Exception):
    """Everything that is wrong with a request, as pydantic lists it: `loc`, `type`, `ctx`, `input`."""

    def __init__(self, listed: Sequence[Mapping[str, Any]]) -> None:
        super().__init__("The request does not fit its declaration.")
        self.listed = tuple(listed)
        self.body: type[Body] | None = None  # what the body should be, if that is what does not fit


def fault(place: Place, kind: str, sent: Any = None, **limits: Any) -> Faults:
    """One thing that is wrong with what was sent at this place, and the limits that it breaks."""
    return Faults([{"loc": place, "type": kind, "ctx": limits, "input": sent}])


def value_of(hint: Any, sent: Any, place: Place, limits: Limits = _NO_LIMITS) -> Any:
    """The value of a declared type that was sent at this place of a request. Raises Faults."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        own = next((note for note in inner[1:] if isinstance(note, Limits)), limits)
        return value_of(inner[0], sent, place, own)
    if limits.choices is not None:
        return _choice(sent, limits.choices, place, "literal_error")
    if origin in (UnionType, Union):
        return _alternative(inner, sent, place, limits)
    if origin is list:
        return _list(inner[0], sent, place, limits)
    return _body(hint, sent, place) if issubclass(hint, Body) else _plain(hint, sent, place, limits)


def _plain(hint: type, sent: Any, place: Place, limits: Limits) -> Any:
    if issubclass(hint, Enum):
        return hint(_choice(sent, [each.value for each in hint], place, "enum"))
    if hint is str:
        return _text(sent, place, limits)
    if hint is bool:
        return _truth(sent, place)
    return _bounded(_whole(sent, place) if hint is int else _number(sent, place, limits), place, limits)


def _choice(sent: Any, choices: Sequence[str], place: Place, kind: str) -> str:
    if isinstance(sent, str) and sent in choices:
        return sent
    *others, last = [f"'{choice}'" for choice in choices]
    raise fault(place, kind, sent, expected=f"{', '.join(others)} or {last}")


def _alternative(kinds: Sequence[Any], sent: Any, place: Place, limits: Limits) -> Any:
    """The first type that fits; a text is a text, even where it could be read as a number."""
    others = [kind for kind in kinds if kind is not NoneType]
    if sent is None and len(others) < len(kinds):
        return None
    if len(others) == 1:
        return value_of(others[0], sent, place, limits)
    if isinstance(sent, str) and str in others:
        return sent
    listed: list[Mapping[str, Any]] = []
    for kind in others:
        try:
            return value_of(kind, sent, (*place, _name(kind)), limits)
        except Faults as faults:
            listed += faults.listed
    raise Faults(listed)


def _name(kind: Any) -> str:
    plain: type = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return plain.__name__


def _list(kind: Any, sent: Any, place: Place, limits: Limits) -> list[Any]:
    if not isinstance(sent, list):
        raise fault(place, "list_type", sent)
    most, least = limits.max_length, limits.min_length
    if most is not None and len(sent) > most:
        raise fault(place, "too_long", sent, max_length=most)
    values: list[Any] = []
    listed: list[Mapping[str, Any]] = []
    for i, each in enumerate(sent):
        try:
            values.append(value_of(kind, each, (*place, i)))
        except Faults as faults:
            listed += faults.listed
    if listed:
        raise Faults(listed)
    if least is not None and len(sent) < least:
        raise fault(place, "too_short", sent, min_length=least)
    return values


def _body(kind: type[Body], sent: Any, place: Place) -> Body:
    """A dataclass from a JSON object: its fields in their order, then fields that it does not have."""
    if not isinstance(sent, Mapping):
        raise fault(place, "dataclass_type", sent)
    hints = get_type_hints(kind, include_extras=True)
    declared: Any = kind
    values: dict[str, Any] = {}
    listed: list[Mapping[str, Any]] = []
    for each in fields(declared):
        try:
            if each.name in sent:
                values[each.name] = value_of(hints[each.name], sent[each.name], (*place, each.name))
            elif each.default is MISSING:
                raise fault((*place, each.name), "missing")
        except Faults as faults:
            listed += faults.listed
    unknown = [name for name in sent if name not in hints]
    listed += [{"loc": (*place, name), "type": "unexpected_keyword_argument"} for name in unknown]
    if listed:
        raise Faults(listed)
    return kind(**values)


def _text(sent: Any, place: Place, limits: Limits) -> str:
    if not isinstance(sent, str):
        raise fault(place, "string_type", sent)
    if limits.max_length is not None and len(sent) > limits.max_length:
        raise fault(place, "string_too_long", sent, max_length=limits.max_length)
    return sent


def _truth(sent: Any, place: Place) -> bool:
    if isinstance(sent, str) and sent.lower() in (*_YES, *_NO):
        return sent.lower() in _YES
    if isinstance(sent, int | float) and sent in (0, 1):
        return bool(sent)
    is_whole = isinstance(sent, int | float) and -(2**63) <= sent < 2**63 and sent == int(sent)
    if isinstance(sent, str) or is_whole:
        raise fault(place, "bool_parsing", sent)
    raise fault(place, "bool_type", sent)


def _whole(sent: Any, place: Place) -> int:
    if isinstance(sent, int):
        return int(sent)
    if isinstance(sent, float):
        return _whole_of_float(sent, place)
    if not isinstance(sent, str):
        raise fault(place, "int_type", sent)
    text = sent.strip()
    if len(text) > _MOST_DIGITS:
        raise _too_many_digits(place)
    if _INTEGER.fullmatch(text) is None:
        raise fault(place, "int_parsing", sent)
    return int(text.partition(".")[0])


def _whole_of_float(sent: float, place: Place) -> int:
    if not isfinite(sent):
        raise fault(place, "finite_number", sent)
    if not sent.is_integer():
        raise fault(place, "int_from_float", sent)
    if not -(2.0**63) <= sent < 2.0**63:
        raise _too_many_digits(place)
    return int(sent)


def _too_many_digits(place: Place) -> Faults:
    return fault(place, "int_parsing_size")


def _number(sent: Any, place: Place, limits: Limits) -> float:
    if not isinstance(sent, int | float | str):
        raise fault(place, "float_type", sent)
    try:
        number = float(_digits(sent)) if not isinstance(sent, str) or sent.isascii() else None
    except ValueError:
        number = None
    if number is None:
        raise fault(place, "float_parsing", sent)
    if limits.allow_inf_nan is False and not isfinite(number):
        raise fault(place, "finite_number", sent)
    return number


def _digits(sent: float | str) -> float | str:
    """A number without single underscores between its other characters, as pydantic reads it."""
    text = sent.strip() if isinstance(sent, str) else ""
    is_grouped = "_" in text and "__" not in text and not text.startswith("_") and not text.endswith("_")
    return text.replace("_", "") if is_grouped else sent


def _bounded(number: float, place: Place, limits: Limits) -> float:
    """The number itself, if it is within its limits. No limit holds for NaN."""
    holds = {
        "le": lambda bound: number <= bound,
        "lt": lambda bound: number < bound,
        "ge": lambda bound: number >= bound,
        "gt": lambda bound: number > bound,
    }
    for name, kind in _BOUNDS.items():
        bound = getattr(limits, name)
        if bound is not None and not holds[name](bound):
            raise fault(place, kind, number, **{name: bound})
    return number
