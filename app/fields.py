"""The name that was probably meant, where a request has one that is not known: a name of ours, never what was sent."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from rugnik.near import nearest
from rugnik.wire.base import Body

_LONGEST = 64  # characters of a name that is compared: a longer one would cost time, and is like none
_FEW = 12  # names that are listed in a sentence


def is_it(sent: str, names: Collection[str]) -> str:
    """` Is it 'budget'?` for a name like one of these; else nothing."""
    near = nearest(sent, names) if len(sent) <= _LONGEST else None
    return "" if near is None else f" Is it '{near}'?"


def hint(sent: str, names: Collection[str]) -> str:
    """The same; where none is like it, which ones there are, if they are few."""
    listed = f" It takes: {', '.join(names)}." if 0 < len(names) <= _FEW else ""
    return is_it(sent, names) or listed


def names_at(body: type[Body], place: Sequence[str | int]) -> list[str]:
    """The fields of the object at a place of a body, as pydantic names places; none where there is no such object."""
    kind: Any = body
    for part in place:
        kind = _inside(kind, part)
    plain = _alternatives(kind)
    return [field.name for field in fields(plain[0])] if len(plain) == 1 and _is_body(plain[0]) else []


def _inside(kind: Any, part: str | int) -> Any:
    """The type of an entry or a field; of an alternative, which pydantic names in the place. None if there is none."""
    alternatives = _alternatives(kind)
    for each in alternatives:
        if len(alternatives) > 1 and getattr(each, "__name__", None) == part:
            return each
        if isinstance(part, int) and get_origin(each) is list:
            return get_args(each)[0]
        if _is_body(each) and part in (hints := get_type_hints(each)):
            return hints[part]
    return None


def _alternatives(kind: Any) -> list[Any]:
    """The types that a value may have, but for null."""
    if get_origin(kind) is Annotated:
        return _alternatives(get_args(kind)[0])
    if get_origin(kind) in (UnionType, Union):
        return [each for part in get_args(kind) for each in _alternatives(part)]
    return [] if kind in (None, NoneType) else [kind]


def _is_body(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Body)
