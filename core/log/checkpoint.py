"""Checkpoints (C2SP tlog-checkpoint): the origin, the size and the root of a log, as the text of a signed note."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from core.log.note import InvalidNote, Note, SigningKey
from core.log.tree import HASH_BYTES

_SIZE = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
ORIGIN = re.compile(r"[!-*,-~]{1,200}", re.ASCII)  # printable, no spaces, no plus sign


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The first `size` entries of the log `origin` have this root."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{encoded(self.root)}\n"

    @classmethod
    def of(cls, note: Note) -> Checkpoint:
        """From the text of a note. Lines after the third are extensions: nothing is read from them."""
        lines = note.text.split("\n")
        if len(lines) < 4 or not lines[0] or not _SIZE.fullmatch(lines[1]):
            raise InvalidNote("A checkpoint begins with an origin, a size and a root.")
        return cls(lines[0], int(lines[1]), decoded(lines[2]))

    def signed(self, *keys: SigningKey) -> Note:
        """The note with the signatures of the log's keys."""
        return Note(self.text, tuple(key.sign(self.text) for key in keys))


def encoded(digest: bytes) -> str:
    """A hash as one line of base64."""
    return base64.b64encode(digest).decode()


def decoded(line: str) -> bytes:
    """The hash of one line of base64."""
    try:
        digest = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        digest = b""
    if len(digest) != HASH_BYTES or encoded(digest) != line:
        raise InvalidNote("A hash is 32 bytes in base64.")
    return digest
