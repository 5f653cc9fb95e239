"""What a witness decides (C2SP tlog-witness): whether to sign a checkpoint, given the newest one it signed before."""

from __future__ import annotations

from dataclasses import dataclass

from core.log.checkpoint import Checkpoint, decoded, encoded, whole
from core.log.note import InvalidNote, Note, VerifierKey
from core.log.tree import EMPTY_ROOT, MOST_HASHES, is_consistent

SIZE_TYPE = "text/x.tlog.size"


class Refused(Exception):
    """A checkpoint that a witness does not sign: the status of its reply, the text of it, and its media type."""

    def __init__(self, status: int, text: str, media_type: str = "text/plain; charset=utf-8") -> None:
        super().__init__(text)
        self.status, self.text, self.media_type = status, text, media_type


@dataclass(frozen=True, slots=True)
class Submission:
    """The body of add-checkpoint: the size that the log believes the witness has, a proof from there, the new note."""

    old: int
    hashes: tuple[bytes, ...]
    note: Note

    def __str__(self) -> str:
        return "\n".join([f"old {self.old}", *map(encoded, self.hashes), "", str(self.note)])

    @classmethod
    def parse(cls, text: str) -> Submission:
        """From its written form; InvalidNote where it has another."""
        head, _, note = text.partition("\n\n")
        first, *lines = head.split("\n")
        if not first.startswith("old ") or len(lines) > MOST_HASHES:
            raise InvalidNote(f"A submission begins with the old size and at most {MOST_HASHES} hashes.")
        return cls(whole(first.removeprefix("old ")), tuple(map(decoded, lines)), Note.parse(note))


def unseen(origin: str) -> Checkpoint:
    """What a witness has of a log that it never signed for."""
    return Checkpoint(origin, 0, EMPTY_ROOT)


def require_acceptable(sent: Submission, latest: Checkpoint, keys: list[VerifierKey]) -> Checkpoint:
    """The checkpoint that may be signed now; Refused with the status that the protocol asks for.

    `latest` is what was signed last for this origin, and `keys` are the log's keys that the witness trusts. The caller
    reads `latest` and stores the result under one lock.
    """
    try:
        checkpoint = Checkpoint.of(sent.note)
    except InvalidNote as error:
        raise Refused(400, f"{error}\n") from None
    if checkpoint.origin != latest.origin or not keys:
        raise Refused(404, "This witness does not know the log.\n")
    if not sent.note.signed_by(keys):
        raise Refused(403, "The checkpoint is not signed by a key of the log.\n")
    if sent.old > checkpoint.size:
        raise Refused(400, "The old size is larger than the new one.\n")
    if sent.old != latest.size:
        raise Refused(409, f"{latest.size}\n", SIZE_TYPE)
    if checkpoint.size == latest.size and checkpoint.root != latest.root:
        # Not SIZE_TYPE: a log that reads the size from it submits the same again, for ever.
        raise Refused(409, "The witness has signed another root for this size.\n")
    is_proved = is_consistent(
        old=latest.size, old_root=latest.root, new=checkpoint.size, new_root=checkpoint.root, proof=sent.hashes
    )
    if not is_proved:
        raise Refused(422, "The proof does not show that the log only grew.\n")
    return checkpoint
