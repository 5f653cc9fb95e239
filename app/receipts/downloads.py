"""What a downloaded file is: the forms of a release, told apart by their first bytes, and the members of a bundle."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from app.bundles.bundle import Bundle
from rugnik.errors import UnfitBundle

Progress = Callable[[int, int], None]  # parts done, parts in total


class UnfitFile(ValueError):
    """A file that is not the release that a receipt is of. The message is a sentence."""


class Form(StrEnum):
    """The forms of a download."""

    CANONICAL = "synopsis.bin"
    BUNDLE = "bundle"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"

    @classmethod
    def of(cls, data: bytes) -> Form:
        """By the first bytes. What begins like nothing else is CSV."""
        beginnings = {
            b"rugnik synopsis ": cls.CANONICAL,
            b"PK\x03\x04": cls.BUNDLE,
            b"PAR1": cls.PARQUET,
            b"\xff\xff\xff\xff": cls.ARROW,
        }
        for beginning, form in beginnings.items():
            if data.startswith(beginning):
                return form
        return cls.JSON if data[:64].lstrip().startswith(b"{") else cls.CSV


def unbundled(data: bytes) -> Bundle:
    """The bundle whose bytes these are; UnfitFile where they are none."""
    try:
        return Bundle.from_bytes(data)
    except UnfitBundle as error:
        raise UnfitFile(str(error)) from None
