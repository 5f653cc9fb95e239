"""The parameters of a question from a query string or a body, by the declarations of its function."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from app.offline.values import Faults, fault, value_of
from rugnik.wire.base import Body

Query = Mapping[str, Sequence[str]]  # the values of each name, in their order


def from_query(sources: Sequence[Callable[..., Any]], sent: Query) -> dict[str, Any]:
    """The declared parameters of these functions, with their defaults where they were not sent. Raises Faults."""
    values: dict[str, Any] = {}
    listed: list[Mapping[str, Any]] = []
    for name, parameter, hint in _declared(sources):
        given, place = sent.get(name), ("query", name)
        try:
            if given:
                values[name] = value_of(hint, list(given) if _is_list(hint) else given[-1], place)
            elif parameter.default is Parameter.empty:
                raise fault(place, "missing")
            else:
                values[name] = parameter.default
        except Faults as faults:
            listed += faults.listed
    if listed:
        raise Faults(listed)
    return values


def names_of(sources: Sequence[Callable[..., Any]]) -> list[str]:
    """The names that a query string may have."""
    return [name for name, _, hint in _declared(sources) if not _is_body(hint)]


def from_body(function: Callable[..., Any], content: bytes) -> dict[str, Any]:
    """The one parameter of a function that takes a body. Raises Faults."""
    ((name, _, hint),) = _declared([function])
    try:
        sent = json.loads(content)
    except json.JSONDecodeError as error:
        raise fault(("body", error.pos), "json_invalid") from None
    try:
        return {name: value_of(hint, sent, ("body",))}
    except Faults as faults:
        faults.body = hint
        raise


def _declared(sources: Sequence[Callable[..., Any]]) -> list[tuple[str, Parameter, Any]]:
    """Name, parameter and type of each declared parameter."""
    hints = [get_type_hints(source, include_extras=True) for source in sources]
    return [
        (name, parameter, own[name])
        for source, own in zip(sources, hints, strict=True)
        for name, parameter in signature(source).parameters.items()
    ]


def _is_list(hint: Any) -> bool:
    """Whether every value of a name counts; of any other parameter it is the last one."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_list(get_args(hint)[0])
    if origin in (UnionType, Union):
        return any(_is_list(part) for part in get_args(hint))
    return origin is list


def _is_body(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Body)
