"""Error messages describe the file and quote nothing of it."""

from __future__ import annotations

import pytest

from app.ingest.errors import (
    AmbiguousColumns,
    Cap,
    IngestError,
    MissingColumns,
    UnreadableFile,
    UploadTooLarge,
    WrongColumnType,
    attempt,
)


@pytest.mark.parametrize("kind", [MissingColumns, AmbiguousColumns, WrongColumnType])
def test_a_fault_of_the_columns_names_the_attributes(
    kind: type[MissingColumns | AmbiguousColumns | WrongColumnType],
) -> None:
    """They are public, and the curator must know which to mend."""
    error = kind(("age", "income"))
    assert error.names == ("age", "income")
    assert "age, income" in str(error)
    assert str(error).endswith(".")


@pytest.mark.parametrize("cap", Cap)
def test_a_refusal_at_a_cap_says_which_and_how_much(cap: Cap) -> None:
    """Every cap has its sentence."""
    error = UploadTooLarge(cap, 1_234_567)
    assert (error.cap, error.allowed) == (cap, 1_234_567)
    assert "1,234,567" in str(error)


def test_whatever_a_reader_raises_becomes_unreadable_and_leaves_no_trace() -> None:
    """Neither in the message, nor as cause, nor as context, where a logger would print it."""

    def step() -> None:
        raise MemoryError("canary of a row")

    with pytest.raises(UnreadableFile) as fault:
        attempt(step, "The file cannot be read.")
    assert str(fault.value) == "The file cannot be read."
    assert fault.value.__context__ is None
    assert fault.value.__cause__ is None


def test_whoever_stops_the_process_is_not_a_fault_of_the_file() -> None:
    """Only exceptions of readers are turned into one."""

    def step() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt(step, "The file cannot be read.")


def test_every_error_is_an_ingest_error() -> None:
    """One class to map for all that is not mapped by itself."""
    for kind in (MissingColumns, AmbiguousColumns, WrongColumnType, UploadTooLarge, UnreadableFile):
        assert issubclass(kind, IngestError)
