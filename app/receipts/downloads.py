"""What a downloaded file is: the forms of a release, told apart by their first bytes, and the members of a bundle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from zipfile import ZIP_STORED, BadZipFile, ZipFile

Progress = Callable[[int, int], None]  # parts done, parts in total

_MOST_MEMBERS = 20


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


@dataclass(frozen=True, slots=True)
class Bundled:
    """The members of a bundle that are checked."""

    synopsis: bytes
    receipt: bytes
    card: bytes | None


def unbundled(data: bytes) -> Bundled:
    """The members of a bundle `x.rugnik`; UnfitFile where it is none."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            if len(set(names)) != len(names) or len(names) > _MOST_MEMBERS:
                raise UnfitFile("The bundle has a member twice, or too many members.")
            if any(member.compress_type != ZIP_STORED or member.file_size > len(data) for member in members):
                raise UnfitFile("The bundle has a compressed member: a bundle stores its members as they are.")
            card = archive.read("card.json") if "card.json" in names else None
            return Bundled(archive.read("synopsis.bin"), archive.read("receipt.tlog-proof"), card)
    except KeyError:
        raise UnfitFile("The bundle has no synopsis.bin or no receipt.tlog-proof.") from None
    except (BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError):
        raise UnfitFile("The bundle cannot be read.") from None
