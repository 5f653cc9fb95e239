"""Proofs (C2SP tlog-proof): that an entry is in a signed log, as one file that can be checked offline."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from core.log.checkpoint import decoded, encoded, whole
from core.log.note import InvalidNote, Note, decoded_base64
from core.log.policy import Policy, Signed
from core.log.tree import MOST_HASHES, leaf_hash, root_of_inclusion

_FIRST_LINE = "c2sp.org/tlog-proof@v1"
MEDIA_TYPE = "text/plain; charset=utf-8"
SUFFIX = ".tlog-proof"


@dataclass(frozen=True, slots=True)
class Proof:
    """The place of an entry, the hashes from it to the root, the signed checkpoint, and data for who reads it.

    Nothing signs `extra`: whoever reads it checks it against what is signed.
    """

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: Note
    extra: bytes = b""

    def __str__(self) -> str:
        extra = [f"extra {base64.b64encode(self.extra).decode()}"] if self.extra else []
        lines = [_FIRST_LINE, *extra, f"index {self.index}", *map(encoded, self.hashes), "", str(self.checkpoint)]
        return "\n".join(lines)

    @classmethod
    def parse(cls, text: str) -> Proof:
        """From its written form; InvalidNote where it has another."""
        head, _, note = text.partition("\n\n")
        first, *lines = head.split("\n", MOST_HASHES + 3)  # one line more than the longest proof has
        if first != _FIRST_LINE:
            raise InvalidNote(f"A proof begins with the line {_FIRST_LINE}.")
        extra = b""
        if lines and lines[0].startswith("extra "):
            extra = decoded_base64(lines.pop(0).removeprefix("extra "))
            if not extra:
                raise InvalidNote("A proof without extra data has no line for it.")
        if not lines or not lines[0].startswith("index ") or len(lines) > 1 + MOST_HASHES:
            raise InvalidNote(f"A proof has a line with the index of its entry, and at most {MOST_HASHES} hashes.")
        index = whole(lines[0].removeprefix("index "))
        return cls(index, tuple(map(decoded, lines[1:])), Note.parse(note), extra)

    def require(self, leaf: bytes, policy: Policy) -> Signed:
        """The checkpoint, which the policy trusts and which has `leaf` at this place; InvalidNote otherwise."""
        signed = policy.require(self.checkpoint)
        if (
            root_of_inclusion(leaf_hash(leaf), self.index, signed.checkpoint.size, self.hashes)
            != signed.checkpoint.root
        ):
            raise InvalidNote("The entry is not in the tree that was signed.")
        return signed
