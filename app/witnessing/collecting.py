"""Asks all witnesses of a policy to sign one checkpoint, in parallel and within a bounded time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.witnessing.addresses import submission_address
from app.witnessing.requests import Reply, post_all
from core.log.checkpoint import Checkpoint
from core.log.note import InvalidNote, Note, Signature
from core.log.policy import Policy, Witness
from core.log.witnessing import SIZE_TYPE, Submission

SECONDS = 2.0  # for each request, from the connection to the last byte
ATTEMPTS = 3  # the first, and two after a witness has said which size it has
_SIZE = re.compile(rb"(0|[1-9][0-9]{0,18})\n?")


@dataclass(frozen=True, slots=True)
class Collected:
    """What came of one checkpoint. Each witness with an address is in one of `signatures`, `refusals` and `silent`.

    signatures   valid signatures on the checkpoint, by the name of the witness
    refusals     why a witness said no, in one sentence
    silent       why there was no usable answer, in one sentence: asking again later may help
    sizes        the newest size that each witness is known to have signed; to be passed as `known` next time
    ahead        of the refusals: witnesses that signed a larger tree, with its size. The database lost commits
    forked       of the refusals: witnesses that signed a different tree, with its size. History was rewritten
    """

    signatures: Mapping[str, Signature]
    refusals: Mapping[str, str]
    silent: Mapping[str, str]
    sizes: Mapping[str, int]
    ahead: Mapping[str, int]
    forked: Mapping[str, int]


def collect(
    policy: Policy, note: Note, proof_from: Callable[[int], list[bytes]], known: Mapping[str, int]
) -> Collected:
    """Send a signed checkpoint to every witness that has an address, and check what they send back.

    `proof_from(size)` is the consistency proof from a smaller size to this checkpoint; it is called in this thread.
    `known` has the sizes that witnesses had, as far as is known. Takes at most ATTEMPTS * SECONDS, and SECONDS where
    `known` is right. InvalidPolicy for an address that must not be used.
    """
    return _Collecting(policy, note, proof_from, known).run()


@dataclass(slots=True)
class _Collecting:
    policy: Policy
    note: Note
    proof_from: Callable[[int], list[bytes]]
    known: Mapping[str, int]
    checkpoint: Checkpoint = field(init=False)
    signatures: dict[str, Signature] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    ahead: dict[str, int] = field(default_factory=dict)
    forked: dict[str, int] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)  # the size to prove from, by name

    def __post_init__(self) -> None:
        self.checkpoint = Checkpoint.of(self.note)

    def run(self) -> Collected:
        addresses: dict[str, str] = {}
        for name, witness in self.policy.witnesses.items():
            address = submission_address(witness)
            if address is not None:
                addresses[name] = address
                known = self.known.get(name, 0)
                self.sizes[name] = known
                # A size that is too large cannot be proved from: ask with 0, and the witness says what it has.
                self.pending[name] = known if known <= self.checkpoint.size else 0
        for _ in range(ATTEMPTS):
            asked, self.pending = self.pending, {}
            bodies = {
                name: (addresses[name], str(Submission(old, tuple(self.proof_from(old)), self.note)).encode())
                for name, old in asked.items()
            }
            for name, reply in post_all(bodies, seconds=SECONDS).items():
                self._take(self.policy.witnesses[name], asked[name], reply)
            if not self.pending:
                break
        for name in self.pending:
            self.silent[name] = f"The witness {name} has another size each time it is asked."
        return Collected(self.signatures, self.refusals, self.silent, self.sizes, self.ahead, self.forked)

    def _take(self, witness: Witness, old: int, reply: Reply | str) -> None:
        name = witness.name
        if isinstance(reply, str):
            self.silent[name] = f"The witness {name} did not answer: {reply}."
        elif reply.status == 200:
            self._take_signature(witness, reply)
        elif reply.status == 409 and reply.media_type == SIZE_TYPE and _SIZE.fullmatch(reply.body):
            self._take_size(name, old, int(reply.body))
        elif reply.status == 422 or (reply.status == 409 and old == self.checkpoint.size):
            self._fork(name, old)  # of the same size, and so with another root
        elif reply.status >= 500:
            self.silent[name] = f"The witness {name} cannot sign now: {reply.words}."
        else:
            self.refusals[name] = f"The witness {name} refused: {reply.words}."

    def _take_signature(self, witness: Witness, reply: Reply) -> None:
        for line in reply.body.decode("utf-8", "replace").splitlines():
            try:
                signature = Signature.parse(line)
            except InvalidNote:
                continue
            if signature.is_valid(witness.key, self.note.text):
                self.signatures[witness.name] = signature
                self.sizes[witness.name] = self.checkpoint.size
                return
        self.refusals[witness.name] = (
            f"The witness {witness.name} sent no signature on this checkpoint that the policy's key verifies."
        )

    def _take_size(self, name: str, old: int, size: int) -> None:
        """A witness has another size than it was asked with, or another tree of the same size."""
        self.sizes[name] = size
        if size > self.checkpoint.size:
            self.ahead[name] = size
            self.refusals[name] = (
                f"The witness {name} signed {size} entries of this log, and the database has {self.checkpoint.size}: "
                "it lost commits."
            )
        elif size == old:
            self._fork(name, size)
        else:
            self.pending[name] = size

    def _fork(self, name: str, size: int) -> None:
        self.forked[name] = size
        self.refusals[name] = (
            f"The witness {name} signed a tree of {size} entries that this log does not begin with: entries were "
            "changed."
        )
