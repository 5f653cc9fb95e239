"""Exceptions for an upload that is refused; each carries its facts as fields.

IngestError
├── UnreadableFile         the body is not a file of the stated kind, or a damaged one
├── ColumnFault            the columns are not what the attributes need
│   ├── MissingColumns     attributes without a column
│   ├── AmbiguousColumns   attributes with more than one column
│   └── WrongColumnType    a column whose type cannot hold values of its kind
├── UploadTooLarge         a cap is exceeded; an upload is refused there, never cut short
└── SpoolFailure           the service could not hold the upload: its own fault, not the file's

Messages are sentences a curator can act on. They name attributes, which are public. They never quote the file: no row,
no name of another column, no column type. The messages of a parser library do quote lines. They are not passed on, and
not kept as `__cause__` or `__context__` either, where a logger would print them. For that reason every error here is
raised outside of an `except` block.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import TypeVar

_Result = TypeVar("_Result")


class IngestError(Exception):
    """Base class: an upload is refused. Depends on the file as a whole, never on the values of a row."""


class UnreadableFile(IngestError):
    """The body is not a file of the stated kind, or a damaged one."""


class ColumnFault(IngestError):
    """The columns are not what the attributes need."""

    def __init__(self, message: str, names: tuple[str, ...]) -> None:
        super().__init__(message)
        self.names = names


class MissingColumns(ColumnFault):
    """Attributes without a column."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(f"The file has no column for: {_listed(names)}. Names are matched exactly.", names)


class AmbiguousColumns(ColumnFault):
    """Attributes with more than one column."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(f"The file has more than one column for: {_listed(names)}. Keep one of each.", names)


class WrongColumnType(ColumnFault):
    """A column whose type cannot hold values of its kind."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(
            f"These columns have a type that cannot hold values of their kind: {_listed(names)}. Write numbers as "
            "numbers, dates as dates or timestamps, and anything as text; lists, structs and decimals of any length "
            "are not read.",
            names,
        )


class Cap(StrEnum):
    """Names of the limits that an upload can exceed; see `limits.Limits`."""

    BYTES = "bytes"
    INFLATED_BYTES = "inflated_bytes"
    ROWS = "rows"
    WIDE_ROWS = "wide_rows"
    COLUMNS = "columns"
    BLOCK_BYTES = "block_bytes"
    METADATA_BYTES = "metadata_bytes"
    PAGES = "pages"
    SPOOL_BYTES = "spool_bytes"


_EXCEEDED = {
    Cap.BYTES: "The body is larger than the {} bytes allowed.",
    Cap.INFLATED_BYTES: "The body inflates to more than the {} bytes allowed.",
    Cap.ROWS: "The file has more than the {} rows allowed.",
    Cap.WIDE_ROWS: "A file for a release of so many attributes may have {} rows at most.",
    Cap.COLUMNS: "The file has more than the {} columns allowed; send the needed ones only.",
    Cap.BLOCK_BYTES: "A batch or page of the file is larger than the {} bytes allowed; write smaller ones.",
    Cap.METADATA_BYTES: "The metadata of the file exceed the {} bytes allowed; write fewer columns or row groups.",
    Cap.PAGES: "The file has more than the {} pages allowed; write larger ones.",
    Cap.SPOOL_BYTES: "Holding the upload takes more than the {} bytes allowed.",
}


class UploadTooLarge(IngestError):
    """A cap is exceeded. The upload is refused there, never cut short."""

    def __init__(self, cap: Cap, allowed: int) -> None:
        super().__init__(_EXCEEDED[cap].format(f"{allowed:,}"))
        self.cap = cap
        self.allowed = allowed


class SpoolFailure(IngestError):
    """The service could not hold the upload: its own fault, not the file's."""


def attempt(step: Callable[[], _Result], complaint: str) -> _Result:
    """The result of `step()`; if it raises any Exception, UnreadableFile(complaint) is raised instead.

    For steps that parse bytes of the file. Any exception of a parser means that the file cannot be read, and its
    message may quote a row. UnreadableFile is raised after the handler has ended, so it has no cause and no context.
    """
    with suppress(Exception):
        return step()
    raise UnreadableFile(complaint)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
