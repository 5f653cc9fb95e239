"""Policies (C2SP tlog-policy): which logs and witnesses somebody trusts, and how many have to sign a checkpoint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from core.log.checkpoint import Checkpoint
from core.log.note import InvalidNote, Note, Signature, SignatureType, VerifierKey

_NONE = "none"
_MOST_LINES = 1000
_BLANKS = re.compile(r"[ \t]+")  # nothing else separates words: other spaces are parts of names
_FOREIGN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)


class InvalidPolicy(ValueError):
    """A policy that cannot be read, or must not be trusted. The message is a sentence that names the line."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A witness: the name that the policy gives it, its key, and where checkpoints are sent to."""

    name: str
    key: VerifierKey
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """At least `least` of the members have to sign. A member is the name of a witness or of a group."""

    least: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Signed:
    """A checkpoint that fulfils a policy, and the witnesses that signed it, each with its signature."""

    checkpoint: Checkpoint
    cosignatures: Mapping[str, Signature]


@dataclass(frozen=True, slots=True)
class Policy:
    """Keys of logs, witnesses by name, groups by name, and the name of the quorum; None: no witness has to sign.

    A group comes after its members, and nothing is a member twice: so the groups are trees.
    """

    logs: tuple[VerifierKey, ...]
    witnesses: Mapping[str, Witness]
    groups: Mapping[str, Group]
    quorum: str | None

    @classmethod
    def parse(cls, policy: str | bytes) -> Policy:
        """From the lines of a policy file; InvalidPolicy where it has another form, or a quorum not to be trusted.

        A file's bytes need not be UTF-8. Those that are not are kept as lone surrogates (PEP 383), so two names are
        equal if and only if their bytes are. Such a name or URL cannot be encoded as UTF-8 again.
        """
        return _Reader().read(policy if isinstance(policy, str) else policy.decode("utf-8", "surrogateescape"))

    @property
    def tolerated(self) -> int:
        """How many corrupt witnesses are survived, whichever they are; -1 for none required, or two disjoint quorums.

        A fork is two trees, each signed by a quorum. An honest witness signs one of them only. So a fork needs two
        quorums A and B such that all witnesses in both are corrupt. Let c(x) be the least size of the intersection of
        two quorums of x. The fork needs c(quorum) corrupt witnesses, and c(quorum) - 1 are survived.

        - For a witness, c = 1: its only quorum is itself.
        - For a group of k out of n members, c is the sum of the 2k - n smallest c of its members; 0 if 2k <= n.

        Proof for a group. At least: A holds quorums of k members or more, and so does B, so at least 2k - n members
        have a quorum in both. Each such member x has at least c(x) witnesses in both, and members share no witness. At
        most: let A and B have k members each and only the 2k - n cheapest ones (or none) in common, take a cheapest
        pair of quorums within those, and any one quorum within each other member.

        For k of n witnesses this is 2k - n - 1.
        """
        if self.quorum is None:
            return -1
        least = dict.fromkeys(self.witnesses, 1)
        for name, group in self.groups.items():
            in_both = max(0, 2 * group.least - len(group.members))
            least[name] = sum(sorted(least[member] for member in group.members)[:in_both])
        return least[self.quorum] - 1

    def is_met(self, signers: Iterable[str]) -> bool:
        """Whether the witnesses of these names make up the quorum."""
        if self.quorum is None:
            return True
        signed = set(signers) & self.witnesses.keys()
        for name, group in self.groups.items():
            if sum(member in signed for member in group.members) >= group.least:
                signed.add(name)
        return self.quorum in signed

    def require(self, note: Note) -> Signed:
        """The checkpoint of a note that this policy trusts; InvalidNote with a sentence where it does not."""
        checkpoint = Checkpoint.of(note)
        logs = [key for key in self.logs if key.name == checkpoint.origin]
        if not logs:
            raise InvalidNote(f"The policy has no key of the log {checkpoint.origin}.")
        if not note.signed_by(logs):
            raise InvalidNote(f"The checkpoint is not signed by the key of {checkpoint.origin} that the policy has.")
        note.refuse_forgeries([*logs, *(witness.key for witness in self.witnesses.values())])
        return Signed(checkpoint, self.require_cosigned(note))

    def require_cosigned(self, note: Note) -> dict[str, Signature]:
        """The witnesses that signed a note, each with its signature; InvalidNote where they are no quorum."""
        valid = note.signed_by(witness.key for witness in self.witnesses.values())
        names = {witness.key: name for name, witness in self.witnesses.items()}
        cosignatures = {names[key]: signature for key, signature in valid.items()}
        if not self.is_met(cosignatures):
            signers = ", ".join(map(_shown, cosignatures)) or "nobody"
            raise InvalidNote(f"The checkpoint has too few signatures of witnesses: {signers} signed it.")
        return cosignatures


class _Reader:
    def __init__(self) -> None:
        self.logs: list[VerifierKey] = []
        self.witnesses: dict[str, Witness] = {}
        self.groups: dict[str, Group] = {}
        self.quorums: list[str] = []
        self.used: set[str] = set()

    def read(self, text: str) -> Policy:
        lines = text.split("\n")
        if len(lines) > _MOST_LINES:
            raise InvalidPolicy(f"A policy has at most {_MOST_LINES} lines.")
        for number, line in enumerate(lines, start=1):
            if _FOREIGN.search(line):
                raise InvalidPolicy(f"Line {number} of the policy has a control character.")
            content = line.strip(" \t")
            if content and not content.startswith("#"):
                try:
                    self._line(_BLANKS.split(content))
                except (InvalidPolicy, InvalidNote) as error:
                    raise InvalidPolicy(f"Line {number} of the policy: {error}") from None
        if len(self.quorums) != 1:
            raise InvalidPolicy(
                "A policy has exactly one line that names the quorum; 'quorum none' asks for no witness."
            )
        quorum = None if self.quorums[0] == _NONE else self.quorums[0]
        policy = Policy(tuple(self.logs), self.witnesses, self.groups, quorum)
        if quorum is not None and policy.tolerated < 0:
            raise InvalidPolicy(
                "Two sets of witnesses without a common one make up this quorum, so they could sign two different "
                "logs. Ask for more than half of them."
            )
        return policy

    def _line(self, words: list[str]) -> None:
        match words:
            case ["log", key, *rest] if len(rest) <= 1:
                self._log(VerifierKey.parse(key))
            case ["witness", name, key, *rest] if len(rest) <= 1:
                self._witness(Witness(name, VerifierKey.parse(key), rest[0] if rest else None))
            case ["group", name, least, *members] if members:
                self._group(name, least, members)
            case ["quorum", name]:
                if name != _NONE and name not in self.witnesses and name not in self.groups:
                    raise InvalidPolicy(f"'{_shown(name)}' is not defined before it.")
                self.quorums.append(name)
            case _:
                raise InvalidPolicy("it does not read log KEY, witness NAME KEY, group NAME K MEMBERS or quorum NAME.")

    def _log(self, key: VerifierKey) -> None:
        if key.type is not SignatureType.LOG:
            raise InvalidPolicy("the key is not one of a log.")
        if any(key.public == other.public for other in self.logs):
            raise InvalidPolicy("the key of this log is there already.")
        self.logs.append(key)

    def _witness(self, witness: Witness) -> None:
        self._new_name(witness.name)
        if witness.key.type is not SignatureType.COSIGNATURE:
            raise InvalidPolicy("the key is not one of a witness.")
        if any(witness.key.public == other.key.public for other in self.witnesses.values()):
            raise InvalidPolicy("the key of this witness is there already.")
        self.witnesses[witness.name] = witness

    def _group(self, name: str, least: str, members: list[str]) -> None:
        self._new_name(name)
        for member in members:
            if member not in self.witnesses and member not in self.groups:
                raise InvalidPolicy(f"'{_shown(member)}' is not defined before it.")
            if member in self.used:
                raise InvalidPolicy(f"'{_shown(member)}' is a member of a group already.")
            self.used.add(member)
        number = {"any": 1, "all": len(members)}.get(least, int(least) if _NUMBER.fullmatch(least) else 0)
        if not 1 <= number <= len(members):
            raise InvalidPolicy(f"'{_shown(least)}' of {len(members)} members cannot be.")
        self.groups[name] = Group(number, tuple(members))

    def _new_name(self, name: str) -> None:
        if name == _NONE or name in self.witnesses or name in self.groups:
            raise InvalidPolicy(f"the name '{_shown(name)}' is taken.")


def _shown(name: str) -> str:
    """A name for a message: what cannot be encoded as UTF-8 is escaped."""
    return name.encode(errors="backslashreplace").decode()
