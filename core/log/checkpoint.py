"""Checkpoints (C2SP tlog-checkpoint): the origin, the size and the root of a log, as the text of a signed note."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

from core.log.note import InvalidNote, Note, SigningKey, decoded_base64
from core.log.tree import HASH_BYTES

_WHOLE = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_LARGEST = 2**63 - 1  # what a signed 64-bit integer holds, as other implementations use one
ORIGIN = re.compile(r"[!-*,-~]{1,200}", re.ASCII)  # printable, no spaces, no plus sign


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The first `size` entries of the log `origin` have this root."""

    origin: str
    size: int
    root: bytes

    def __post_init__(self) -> None:
        if not self.origin or "\n" in self.origin:
            raise InvalidNote("The origin of a log is one line that is not empty.")
        if not 0 <= self.size <= _LARGEST or len(self.root) != HASH_BYTES:
            raise InvalidNote("A checkpoint has a size below 2^63 and a root of 32 bytes.")

    @property
    def text(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{encoded(self.root)}\n"

    @classmethod
    def of(cls, note: Note) -> Checkpoint:
        """From the text of a note. Lines after the third are extensions: nothing is read from them."""
        *lines, end = note.text.split("\n")
        if len(lines) < 3 or end or "" in lines:
            raise InvalidNote("A checkpoint is an origin, a size and a root, each on its line, without empty lines.")
        return cls(lines[0], whole(lines[1]), decoded(lines[2]))

    def signed(self, *keys: SigningKey) -> Note:
        """The note with the signatures of the log's keys."""
        return Note(self.text, tuple(key.sign(self.text) for key in keys))


def whole(text: str) -> int:
    """The size or index that a text writes in decimal, without leading zeros and below 2^63."""
    if not _WHOLE.fullmatch(text) or int(text) > _LARGEST:
        raise InvalidNote("A size or index is a whole number below 2^63, without leading zeros.")
    return int(text)


def encoded(digest: bytes) -> str:
    """A hash as one line of base64."""
    return base64.b64encode(digest).decode()


def decoded(line: str) -> bytes:
    """The hash of one line of base64."""
    digest = decoded_base64(line)
    if len(digest) != HASH_BYTES:
        raise InvalidNote("A hash is 32 bytes in base64.")
    return digest
