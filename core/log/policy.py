"""Policies (C2SP tlog-policy): which logs and witnesses somebody trusts, and how many have to sign a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.log.checkpoint import Checkpoint
from core.log.note import InvalidNote, Note, Signature, SignatureType, VerifierKey

_NONE = "none"
_MOST_LINES = 1000


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
    """Keys of logs, witnesses by name, groups by name, and the name of the quorum; None: no witness has to sign."""

    logs: tuple[VerifierKey, ...]
    witnesses: Mapping[str, Witness]
    groups: Mapping[str, Group]
    quorum: str | None

    @classmethod
    def parse(cls, text: str) -> Policy:
        """From the lines of a policy file."""
        return _Reader().read(text)

    @property
    def tolerated(self) -> int:
        """How many corrupt witnesses can at most be survived: no two quorums without an honest witness in common.

        For k of n witnesses that is 2k - n - 1. For groups within groups it is counted from all sets of witnesses.
        """
        if self.quorum is None:
            return -1
        quorums = self._quorums()
        return min(len(one & other) for one in quorums for other in quorums) - 1

    def is_met(self, signers: Iterable[str]) -> bool:
        """Whether the witnesses of these names make up the quorum."""
        return self.quorum is None or self._has_signed(self.quorum, frozenset(signers))

    def require(self, note: Note) -> Signed:
        """The checkpoint of a note that this policy trusts; InvalidNote with a sentence where it does not."""
        checkpoint = Checkpoint.of(note)
        logs = [key for key in self.logs if key.name == checkpoint.origin]
        if not logs:
            raise InvalidNote(f"The policy has no key of the log {checkpoint.origin}.")
        if not note.signed_by(logs):
            raise InvalidNote(f"The checkpoint is not signed by the key of {checkpoint.origin} that the policy has.")
        witnesses = [witness.key for witness in self.witnesses.values()]
        _require_no_bad_signature(note, [*logs, *witnesses])
        valid = note.signed_by(witnesses)
        names = {witness.key: name for name, witness in self.witnesses.items()}
        cosignatures = {names[key]: signature for key, signature in valid.items()}
        if not self.is_met(cosignatures):
            signers = ", ".join(cosignatures) or "nobody"
            raise InvalidNote(f"The checkpoint has too few signatures of witnesses: {signers} signed it.")
        return Signed(checkpoint, cosignatures)

    def _has_signed(self, name: str, signers: frozenset[str]) -> bool:
        group = self.groups.get(name)
        if group is None:
            return name in signers
        return sum(self._has_signed(member, signers) for member in group.members) >= group.least

    def _quorums(self) -> list[frozenset[str]]:
        """The smallest sets of witnesses that make up the quorum."""
        names = sorted(self._members(self.quorum or ""))
        if len(names) > _MOST_IN_QUORUM:
            raise InvalidPolicy(f"A quorum of more than {_MOST_IN_QUORUM} witnesses is not supported.")
        sets = [
            frozenset(name for place, name in enumerate(names) if chosen >> place & 1)
            for chosen in range(1 << len(names))
        ]
        enough = [signers for signers in sets if self._has_signed(self.quorum or "", signers)]
        return [signers for signers in enough if not any(other < signers for other in enough)]

    def _members(self, name: str) -> set[str]:
        group = self.groups.get(name)
        if group is None:
            return {name}
        return set[str]().union(*(self._members(member) for member in group.members))


def _require_no_bad_signature(note: Note, keys: Sequence[VerifierKey]) -> None:
    """A signature line that names a trusted key and is not of it: the whole note is refused (C2SP signed-note)."""
    for key in keys:
        for signature in note.signatures:
            if (signature.name, signature.key_id) == (key.name, key.id) and not signature.is_valid(key, note.text):
                raise InvalidNote(f"A signature of {key.name} on the checkpoint is not valid.")


_MOST_IN_QUORUM = 10  # witnesses: all their sets are looked at, once


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
            words = line.replace("\t", " ").strip(" ").split()
            if any(ord(letter) < 0x20 and letter != "\t" for letter in line):
                raise InvalidPolicy(f"Line {number} of the policy has a control character.")
            if words and not words[0].startswith("#"):
                try:
                    self._line(words)
                except InvalidPolicy as error:
                    raise InvalidPolicy(f"Line {number} of the policy: {error}") from None
                except InvalidNote as error:
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
                    raise InvalidPolicy(f"'{name}' is not defined before it.")
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
                raise InvalidPolicy(f"'{member}' is not defined before it.")
            if member in self.used:
                raise InvalidPolicy(f"'{member}' is a member of a group already.")
            self.used.add(member)
        number = {"any": 1, "all": len(members)}.get(least, int(least) if least.isdecimal() and least.isascii() else 0)
        if not 1 <= number <= len(members):
            raise InvalidPolicy(f"'{least}' of {len(members)} members cannot be.")
        self.groups[name] = Group(number, tuple(members))

    def _new_name(self, name: str) -> None:
        if name == _NONE or name in self.witnesses or name in self.groups:
            raise InvalidPolicy(f"the name '{name}' is taken.")
