"""JSON into small frozen dataclasses, tolerantly: what a newer service adds stays reachable through `raw`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from types import UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

from rugnik.errors import MissingLibrary, UnexpectedReply


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An object of the service. `raw` is the JSON it came from, with fields that this client has no name for."""

    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, data: Any) -> Self:
        """From decoded JSON; UnexpectedReply where a field that must be there is not."""
        if not isinstance(data, Mapping):
            raise UnexpectedReply(f"A {cls.__name__} should be a JSON object; the service sent something else.")
        known: dict[str, Any] = {"raw": data}
        for name, (kind, needed) in _members(cls).items():  # type: ignore[arg-type]
            if name in data:
                known[name] = _convert(kind, data[name])
            elif needed:
                raise UnexpectedReply(f"A {cls.__name__} of this service has no field '{name}'.")
        return cls(**known)


@cache
def _members(cls: type[Any]) -> dict[str, tuple[Any, bool]]:
    hints = get_type_hints(cls)
    return {
        member.name: (hints[member.name], member.default is MISSING and member.default_factory is MISSING)
        for member in fields(cls)
        if member.name != "raw"
    }


def _convert(kind: Any, value: Any) -> Any:
    """Objects become Replies and lists become tuples, as the annotation says; anything else is left as it is."""
    origin = get_origin(kind)
    if origin is UnionType:
        inner = [part for part in get_args(kind) if part is not type(None)]
        return None if value is None else _convert(inner[0], value)
    if origin is tuple and isinstance(value, list):
        return tuple(_convert(get_args(kind)[0], part) for part in value)
    if origin is Mapping and isinstance(value, Mapping):
        return {name: _convert(get_args(kind)[1], part) for name, part in value.items()}
    if isinstance(kind, type) and issubclass(kind, Reply):
        return kind.of(value)
    return value


def frame(columns: Mapping[str, Any]) -> Any:
    """A pandas DataFrame of named columns."""
    try:
        import pandas as pd  # noqa: PLC0415 - the client works without it
    except ImportError:
        raise MissingLibrary("to_pandas() needs pandas: pip install pandas. Everything is also in .raw.") from None
    return pd.DataFrame(dict(columns))
