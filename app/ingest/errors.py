"""What can be wrong with an upload as a file, as types that carry their fields.

IngestError
├── UnreadableFile         the body is not a file of the stated kind, or a damaged one
├── ColumnFault            the columns are not what the attributes need
│   ├── MissingColumns     attributes without a column
│   ├── AmbiguousColumns   attributes with more than one column
│   └── WrongColumnType    a column that holds no numbers
├── UploadTooLarge         a cap is exceeded; an upload is refused there, never cut short
└── SpoolFailure           the service could not hold the upload: its own fault, not the file's

Messages are sentences a curator can act on. They name attributes, which are public, and never a byte of the file: no
row, no unknown column name, no column type. A reader's own message quotes lines, so it is neither passed on nor kept
as a cause or context, where a logger would find it: every error here is raised outside of an `except` block.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import TypeVar

_Result = TypeVar("_Result")


class IngestError(Exception):
    """Anything that ingest refuses. Depends on the file as a whole, never on what a row contains."""


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
    """A column that holds no numbers."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(
            f"These columns must hold integer, floating or decimal numbers of a fixed length: {_listed(names)}.", names
        )


class Cap(StrEnum):
    """The limits an upload can hit."""

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
    Cap.WIDE_ROWS: "A file for a release of four or more attributes may have {} rows at most.",
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
    """What `step` returns; whatever it raises becomes UnreadableFile, without a trace of what was raised.

    For steps that parse foreign bytes: any exception out of a reader means that the file cannot be read, and any of
    them may quote a row. Raised after the handler has ended, so that neither cause nor context is left.
    """
    with suppress(Exception):
        return step()
    raise UnreadableFile(complaint)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
