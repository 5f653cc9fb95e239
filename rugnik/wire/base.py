"""Body and Reply: the base classes of all wire types, and how they become JSON and come from it.

Two rules for writing. In a reply, a field without a default is always written, if need be as null; a field with a
default is left out while it has that value. In a request, every field that is not None is written: a service of another
version may have other defaults, and what was asked for must not depend on them. Reading is tolerant: fields that have
no name here are kept in `raw`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from types import UnionType
from typing import Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

from rugnik.errors import MissingLibrary, UnexpectedReply

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Body:
    """The body of a request. The service refuses fields that it does not know: they are mistakes."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}  # read by the service's validation


class Reply:
    """An object that the service sends."""

    __slots__ = ("_raw",)
    _raw: Mapping[str, Any]  # no field of the dataclass: neither compared, nor shown by repr(), nor sent

    @property
    def raw(self) -> Mapping[str, Any]:
        """The JSON object that this was read from, with any fields of a newer service; else the JSON of its fields."""
        if not hasattr(self, "_raw"):
            object.__setattr__(self, "_raw", json.loads(dumped(self)))
        return self._raw

    @classmethod
    def of(cls, data: Any) -> Self:
        """From decoded JSON; UnexpectedReply where a field that must be there is not."""
        if not isinstance(data, Mapping):
            raise UnexpectedReply(f"A {cls.__name__} should be a JSON object; the service sent something else.")
        values: dict[str, Any] = {}
        wire_type: Any = cls
        for name, (kind, default) in _members(wire_type).items():
            if name in data:
                values[name] = _convert(kind, data[name])
            elif default is MISSING:
                raise UnexpectedReply(f"A {cls.__name__} of this service has no field '{name}'.")
        reply = cls(**values)
        object.__setattr__(reply, "_raw", data)
        return reply

    def __repr__(self) -> str:
        """One line, for a terminal. Small types that are parts of others have the one of a dataclass."""
        from rugnik.shown.views import text  # noqa: PLC0415 - it knows every type

        return text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from rugnik.shown.html import page  # noqa: PLC0415 - as above
        from rugnik.shown.views import view_of  # noqa: PLC0415 - as above

        return page(view_of(self))

    def __reduce__(self) -> Any:
        """Pickled and copied as its JSON, so that `raw` survives."""
        return type(self).of, (self.raw,)


def json_fields(value: Any) -> dict[str, Any]:
    """The fields of a wire object that are written, in their order: see the two rules above.

    It is the `default` hook of JSON writers: of `json.dumps` here, and of orjson in the service. TypeError for anything
    else, as such a hook has to.
    """
    if not isinstance(value, Body | Reply):
        raise TypeError(f"A {type(value).__name__} is no JSON and no wire type.")
    shown = {}
    wire_type: Any = type(value)
    for name, (_, default) in _members(wire_type).items():
        held = getattr(value, name)
        if isinstance(value, Body) or default is None:  # fields that may hold an array, which compares by element, too
            is_shown = held is not None
        else:
            is_shown = default is MISSING or held != default
        if is_shown:
            shown[name] = held
    return shown


def dumped(value: Body | Reply) -> bytes:
    """The JSON of a wire object, by the standard library."""
    return json.dumps(value, default=json_fields, allow_nan=False, separators=(",", ":")).encode()


def field_names(reply: Reply | type[Reply]) -> list[str]:
    """The names of the fields, in their order."""
    wire_type: Any = reply if isinstance(reply, type) else type(reply)
    return list(_members(wire_type))


@cache
def _members(cls: type[Any]) -> dict[str, tuple[Any, Any]]:
    """Type and default of each field; MISSING for a field without a default."""
    hints = get_type_hints(cls)
    return {member.name: (hints[member.name], member.default) for member in fields(cls)}


def _convert(kind: Any, value: Any) -> Any:
    """Objects become Replies and lists become tuples, as the annotation says; anything else is left as it is."""
    origin = get_origin(kind)
    if origin in (UnionType, Union):
        inner = [part for part in get_args(kind) if part is not type(None)]
        return None if value is None else _convert(inner[0], value)
    if origin is tuple and isinstance(value, list):
        return tuple(_convert(get_args(kind)[0], part) for part in value)
    if origin is Mapping and isinstance(value, Mapping):
        return {name: _convert(get_args(kind)[1], part) for name, part in value.items()}
    if isinstance(kind, type) and issubclass(kind, Reply):
        return kind.of(value)
    return value


def frame(
    columns: Mapping[str, Any],
    kinds: Mapping[str, str] | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
) -> Any:
    """A pandas DataFrame of named columns; `kinds` has the kind of attribute of those that hold its values.

    Dates become datetime64, datetimes become datetime64 in UTC, whole numbers become Int64, which has gaps. A category
    whose public `labels` are known is Categorical, in their order. Everything else is left to pandas.
    """
    pd = imported_pandas()
    typed = dict(columns)
    for name, kind in (kinds or {}).items():
        if kind in ("date", "datetime"):
            typed[name] = pd.to_datetime(list(typed[name]), format="ISO8601", utc=kind == "datetime")
        elif kind == "integer":
            typed[name] = pd.array(list(typed[name]), dtype="Int64")
    for name, listed in (labels or {}).items():
        typed[name] = pd.Categorical(list(typed[name]), categories=list(listed))
    return pd.DataFrame(typed)


def imported_pandas() -> Any:
    """pandas, or MissingLibrary."""
    try:
        import pandas as pd  # noqa: PLC0415 - the client works without it
    except ImportError:
        raise MissingLibrary("to_pandas() needs pandas: pip install pandas. Everything is also in .raw.") from None
    return pd


def kinds_of(columns: Mapping[str, Any]) -> dict[str, str]:
    """The columns of values that are dates or datetimes, by how their texts begin; a datetime has a T after its day."""
    kinds = {}
    for name, values in columns.items():
        first = next((value for value in values if isinstance(value, str)), "")
        if day := _DAY.match(first):
            kinds[name] = "datetime" if first[day.end() :].startswith("T") else "date"
    return kinds
