"""What an auditor keeps between two visits to a log: a small JSON file, whatever the size of the log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from app.witnessing.durable_file import replace_file
from core.canonical import canonical_json
from core.ledger.entry import EMPTY, Head
from core.log.checkpoint import Checkpoint, decoded, encoded
from core.log.note import InvalidNote, Note, VerifierKey
from core.log.tree import Frontier


class DamagedState(Exception):
    """A state file that cannot be used. The message is a sentence."""


@dataclass(frozen=True, slots=True)
class FollowState:
    """The newest checkpoint that was checked, as it was signed, and what is needed to go on from there."""

    note: Note
    checkpoint: Checkpoint
    subtrees: tuple[bytes, ...]  # of the frontier
    head: str  # the hash of the last entry
    key: VerifierKey  # that signed the checkpoint
    successor: VerifierKey | None = None  # by the newest entry about the log's key; it has not signed yet

    @property
    def frontier(self) -> Frontier:
        """The tree so far, to be gone on with."""
        return Frontier(self.checkpoint.size, self.subtrees)

    @property
    def last(self) -> Head:
        """Number and hash of the last entry."""
        return Head(self.checkpoint.size, self.head) if self.checkpoint.size else EMPTY

    def save(self, path: Path) -> None:
        """Put it on the disk. Call it under the file's lock."""
        fields = {
            "checkpoint": str(self.note),
            "frontier": [encoded(subtree) for subtree in self.subtrees],
            "head": self.head,
            "key": str(self.key),
        }
        if self.successor is not None:
            fields["successor"] = str(self.successor)
        replace_file(path, canonical_json(fields) + b"\n")

    @classmethod
    def load(cls, path: Path) -> FollowState | None:
        """From a file; None where there is none. DamagedState where the file does not fit together."""
        try:
            fields = json.loads(path.read_bytes())
            note, key = Note.parse(fields["checkpoint"]), VerifierKey.parse(fields["key"])
            subtrees = tuple(map(decoded, fields["frontier"]))
            successor = VerifierKey.parse(fields["successor"]) if "successor" in fields else None
            state = cls(note, Checkpoint.of(note), subtrees, str(fields["head"]), key, successor)
            is_whole = state.frontier.root == state.checkpoint.root and bool(note.signed_by([key]))
        except FileNotFoundError:
            return None
        except (AttributeError, InvalidNote, KeyError, TypeError, ValueError):
            is_whole = False
        if not is_whole:
            raise DamagedState(f"The state file {path} is damaged. Bring back a copy of it.")
        return state
