"""Bundle: everything about a release that a reader needs, as the members of one file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Self

from app.bundles.archive import MAX_BYTES, pack, unpack
from app.bundles.readme import readme
from core.errors import InvalidSynopsis
from core.synopsis import Synopsis, most_bytes
from rugnik.errors import UnfitBundle

MEDIA_TYPE = "application/vnd.rugnik.bundle+zip"
SUFFIX = ".rugnik"
NAMES = (
    "mimetype",
    "README.txt",
    "synopsis.bin",
    "receipt.tlog-proof",
    "card.json",
    "croissant.json",
    "terms.txt",
    "policy",
)
_MOST_TEXT = 2**24  # bytes of a member that is not the synopsis


@dataclass(frozen=True)
class Bundle:
    """The members of a bundle. `receipt`, `card` and `croissant` are kept as they are; texts are UTF-8.

    `policy` is what the publisher suggests to trust, and nothing here trusts it. `text` is README.txt as it was read,
    and None for a bundle that is written now. UnfitBundle where the synopsis is none, or a member is too large.
    """

    synopsis: bytes
    receipt: bytes
    card: bytes
    croissant: bytes
    terms: str
    policy: str
    text: str | None = None

    def __post_init__(self) -> None:
        _ = self.content  # refused here, and not at the first question
        for name, content in self._members().items():
            if len(content) > _allowed(name, content):
                raise UnfitBundle(f"{name} in this bundle is larger than it can be.")

    @cached_property
    def content(self) -> Synopsis:
        """The synopsis as a value. UnfitBundle where the bytes are none in canonical form."""
        try:
            return Synopsis.from_bytes(self.synopsis)
        except InvalidSynopsis as error:
            raise UnfitBundle(f"synopsis.bin in this bundle: {error}") from None

    @property
    def digest(self) -> str:
        """SHA-256 of the synopsis in hexadecimal, as the ledger has it."""
        return sha256(self.synopsis).hexdigest()

    @property
    def readme(self) -> str:
        """README.txt."""
        return readme(self.content, self.digest) if self.text is None else self.text

    def to_bytes(self) -> bytes:
        """The file: the same bytes for the same members."""
        return pack(self._members())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The bundle whose bytes these are; UnfitBundle for any others."""
        members = unpack(data, NAMES, _allowed)
        if members["mimetype"] != MEDIA_TYPE.encode():
            raise UnfitBundle("This file is no rugnik bundle: its mimetype is another.")
        return cls(
            synopsis=members["synopsis.bin"],
            receipt=members["receipt.tlog-proof"],
            card=members["card.json"],
            croissant=members["croissant.json"],
            terms=_decoded("terms.txt", members),
            policy=_decoded("policy", members),
            text=_decoded("README.txt", members),
        )

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """The bundle in a file."""
        file = Path(path)
        if file.stat().st_size > MAX_BYTES:
            raise UnfitBundle(f"{file} is larger than 4 GiB: no bundle is.")
        return cls.from_bytes(file.read_bytes())

    def _members(self) -> dict[str, bytes]:
        contents = (
            MEDIA_TYPE.encode(),
            self.readme.encode(),
            self.synopsis,
            self.receipt,
            self.card,
            self.croissant,
            self.terms.encode(),
            self.policy.encode(),
        )
        return dict(zip(NAMES, contents, strict=True))


def _decoded(name: str, members: dict[str, bytes]) -> str:
    try:
        return members[name].decode()
    except UnicodeDecodeError:
        raise UnfitBundle(f"{name} in this bundle is no UTF-8 text.") from None


def _allowed(name: str, beginning: bytes) -> int:
    """The most bytes of a member: of a synopsis what its grid has room for, of others a fixed number."""
    if name != "synopsis.bin":
        return _MOST_TEXT
    try:
        most = most_bytes(beginning)
    except InvalidSynopsis as error:
        raise UnfitBundle(f"synopsis.bin in this bundle: {error}") from None
    return MAX_BYTES if most is None else most
