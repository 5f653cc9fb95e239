"""Following a log as an auditor: each visit fetches the new entries only, and checks that nothing before them changed.

Checked are: the signature on the checkpoint, and with a policy the quorum of witnesses; that the tree of the last visit
is the beginning of the new one; number, hash and predecessor of each new entry; and that the kept tree with the new
entries has exactly the signed root. A visit costs O(log n + new). Budgets need all entries: `rugnik ledger verify`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.witnessing.durable_file import locked, replace_file
from app.witnessing.follow_state import FollowState
from core.canonical import canonical_json
from core.ledger.chain import unbound
from core.ledger.entry import EMPTY, Head, LedgerEntry, Stored
from core.ledger.kinds import Kind
from core.log.checkpoint import Checkpoint, decoded
from core.log.note import InvalidNote, Note, VerifierKey
from core.log.policy import InvalidPolicy, Policy
from core.log.tree import Frontier, is_consistent
from rugnik.wire import Consistency, LedgerPage

_PAGE = 1000  # entries in one reply


class SignedLedger(Protocol):
    """What is asked of a service. `rugnik.Client` is one."""

    def log_checkpoint(self) -> str:
        """The newest signed checkpoint."""

    def log_policy(self) -> str:
        """The policy that the service suggests. It is believed about the log's key alone, at the first visit."""

    def ledger_consistency(self, old: int) -> Consistency:
        """The proof from a smaller tree, with the checkpoint that it leads to."""

    def ledger(self, *, after: int, limit: int) -> LedgerPage:
        """Entries after a number, oldest first."""


class LogBroken(Exception):
    """The log is not what it was, or not what it signed. The message is a sentence.

    `evidence` has the signed notes that contradict one another, where there are two: nobody can explain them away.
    """

    def __init__(self, message: str, *evidence: Note) -> None:
        super().__init__(message)
        self.evidence = evidence


@dataclass(frozen=True, slots=True)
class Followed:
    """A visit that found nothing wrong."""

    checkpoint: Checkpoint
    new: int  # entries since the visit before
    key: VerifierKey
    is_first_seen: bool  # the key was taken from the service itself, now
    cosigners: tuple[str, ...]  # witnesses of the policy that signed the checkpoint


def follow(service: SignedLedger, path: Path, policy: Policy | None = None) -> Followed:
    """Visit a log, and keep in `path` what was seen. LogBroken where something is wrong; then the file stays as it is.

    Without a policy, the first visit takes the key from the service, and all later ones hold it to that key.
    """
    with locked(path):
        kept = FollowState.load(path)
        try:
            followed, state = _Visit(service, kept, policy).run()
        except LogBroken as broken:
            if len(broken.evidence) > 1:
                notes = "\n".join(map(str, broken.evidence))
                replace_file(evidence_path(path), notes.encode())
            raise
        except (InvalidNote, InvalidPolicy) as error:
            raise LogBroken(str(error)) from None
        state.save(path)
    return followed


def evidence_path(path: Path) -> Path:
    """Where two checkpoints that contradict one another are kept."""
    return path.with_name(path.name + ".evidence")


class _Visit:
    def __init__(self, service: SignedLedger, kept: FollowState | None, policy: Policy | None) -> None:
        self.service = service
        self.kept = kept
        self.policy = policy
        self.frontier = kept.frontier if kept else Frontier()
        self.last = kept.last if kept else EMPTY
        self.start = self.frontier.size
        self.successor = kept.successor if kept else None  # the log's key by the newest entry about it, if not in use

    def run(self) -> tuple[Followed, FollowState]:
        note = Note.parse(self.service.log_checkpoint())
        key = self._key(note)
        cosigners = self._require_signed(note, key)
        checkpoint = Checkpoint.of(note)
        self._require_grown(note, checkpoint)
        self._require_consistent(checkpoint, key)
        for entry in self._entries(checkpoint.size):
            self.frontier.append(bytes.fromhex(entry.hash))
            self.last = Head(entry.seq, entry.hash)
            if entry.kind is Kind.KEY:
                self.successor = VerifierKey.parse(str(entry.detail.get("verifier")))
        if self.frontier.root != checkpoint.root:
            raise LogBroken(
                f"The entries that the service shows are not those that it signed: their tree of {checkpoint.size} "
                "entries has another root."
            )
        # An entry that the old key signed names the new one; once both sign, the new one is taken over.
        if self.successor is not None and note.signed_by([self.successor]):
            key, self.successor = self.successor, None
        state = FollowState(note, checkpoint, self.frontier.subtrees, self.last.hash, key, self.successor)
        is_first_seen = self.kept is None and self.policy is None
        return Followed(checkpoint, checkpoint.size - self.start, key, is_first_seen, cosigners), state

    def _key(self, note: Note) -> VerifierKey:
        """The key that the checkpoint has to be signed with: of the policy, of the last visit, or first seen now."""
        origin = Checkpoint.of(note).origin
        if self.kept is not None and self.kept.checkpoint.origin != origin:
            raise LogBroken(f"This is the log {origin}, and the state file follows {self.kept.checkpoint.origin}.")
        if self.policy is not None:
            self.policy.require(note)
            return next(iter(note.signed_by(key for key in self.policy.logs if key.name == origin)))
        if self.kept is not None:
            return self.kept.key
        keys = [key for key in Policy.parse(self.service.log_policy()).logs if key.name == origin]
        if not keys:
            raise LogBroken(f"The service shows no key of the log {origin}.")
        return next(iter(note.signed_by(keys)), keys[0])

    def _require_signed(self, note: Note, key: VerifierKey) -> tuple[str, ...]:
        """The witnesses that signed as well, by the names of the policy."""
        if not note.signed_by([key]):
            raise LogBroken(
                f"The checkpoint is not signed with the key {key}. If the log has a new key, ask its operator why, and "
                "give the new one in a policy."
            )
        return () if self.policy is None else tuple(self.policy.require(note).cosignatures)

    def _require_grown(self, note: Note, checkpoint: Checkpoint) -> None:
        if self.kept is None:
            return
        before = self.kept.checkpoint
        if checkpoint.size < before.size:
            raise LogBroken(
                f"The log had {before.size} entries at the last visit, and shows {checkpoint.size}: its end is cut off."
            )
        if checkpoint.size == before.size and checkpoint.root != before.root:
            raise LogBroken(
                f"The log signed two different trees of {before.size} entries: it was forked.", self.kept.note, note
            )

    def _require_consistent(self, checkpoint: Checkpoint, key: VerifierKey) -> None:
        """Ask for the proof that the kept tree is the beginning of the newest one."""
        if self.kept is None or self.start in (0, checkpoint.size):
            return
        reply = self.service.ledger_consistency(self.start)
        note = Note.parse(reply.checkpoint)
        newest, before = Checkpoint.of(note), self.kept.checkpoint
        if newest.origin != before.origin or not note.signed_by([key]):
            raise LogBroken("The checkpoint of the consistency proof is not signed with the key of the log.")
        is_proved = is_consistent(
            old=before.size,
            old_root=before.root,
            new=newest.size,
            new_root=newest.root,
            proof=tuple(map(decoded, reply.proof)),
        )
        if not is_proved:
            raise LogBroken(
                f"The log does not begin with the {before.size} entries of the last visit any more: it was forked, or "
                "an entry was changed.",
                self.kept.note,
                note,
            )

    def _entries(self, size: int) -> Iterator[LedgerEntry]:
        """The new entries up to a size, each checked against the one before it."""
        last = self.last
        while last.seq < size:
            page = self.service.ledger(after=last.seq, limit=min(_PAGE, size - last.seq))
            if not page.entries:
                raise LogBroken(
                    f"The log signed {size} entries, and the service shows {last.seq}. Does your key see the whole "
                    "ledger?"
                )
            for shown in page.entries[: size - last.seq]:
                entry = LedgerEntry.from_line(canonical_json(dict(shown.raw)))
                stored = None if entry is None else Stored(entry, entry.entry_hash())
                reason = "The entry cannot be read." if stored is None else unbound(stored, last)
                if entry is None or reason is not None:
                    raise LogBroken(f"The ledger is not valid from entry {last.seq + 1} on: {reason}")
                yield entry
                last = Head(entry.seq, entry.hash)
