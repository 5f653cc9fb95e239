"""Format: the forms that a large answer is offered in."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Protocol, TypeVar

from app.errors import NotAcceptable
from rugnik.wire.limits import Doc, Limits

FormatName = Annotated[str | None, Limits(max_length=20), Doc("The form; overrides Accept.")]


class Form(Protocol):
    """A form that a reply can take: a member of an enumeration, by the word for ?format=, with its media type."""

    @property
    def value(self) -> Any:
        """The word for ?format=."""

    @property
    def media_type(self) -> str:
        """What Accept may name."""


_Form = TypeVar("_Form", bound=Form)


class Format(StrEnum):
    """The forms of a large answer, by the word for `?format=`."""

    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"

    @property
    def media_type(self) -> str:
        """The value of Content-Type, and what Accept may name."""
        return _MEDIA_TYPES[self]


_MEDIA_TYPES = {
    Format.JSON: "application/json",
    Format.CSV: "text/csv",
    Format.PARQUET: "application/vnd.apache.parquet",
    Format.ARROW: "application/vnd.apache.arrow.stream",
}


def named(name: str | None, offered: Sequence[_Form]) -> _Form:
    """The offered form of this name, or the first one for None. NotAcceptable where it is not offered."""
    if name is None:
        return offered[0]
    for form in offered:
        if form.value == name:
            return form
    raise NotAcceptable([form.value for form in offered])
