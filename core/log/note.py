"""Signed notes (C2SP signed-note): a text, and lines with the signatures of named keys on it.

A verifier key is written name+keyid+base64(type, public key). There are two types here: a log signs the text itself, a
witness signs it together with the time (C2SP tlog-cosignature, version 1).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256

from core.log import ed25519

_DASH = "— "
_MOST_SIGNATURES = 100  # of one note
_MOST_LETTERS = 1_000_000  # of one note: 100 signatures of the largest kind, which takes 5 kB, fit
_LATEST_TIME = 2**63 - 1  # of a cosignature
_NAME = re.compile(r"[^\s+]+")
_FOREIGN = re.compile("[\x00-\x09\x0b-\x1f\ud800-\udfff]")  # control characters, and what UTF-8 cannot encode


class InvalidNote(ValueError):
    """A note, a key or a signature line that does not have the agreed form. The message is a sentence."""


class SignatureType(IntEnum):
    """What a key signs."""

    LOG = 0x01
    COSIGNATURE = 0x04


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key with the name of its holder and what it signs."""

    name: str
    type: SignatureType
    public: bytes

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """From name+keyid+base64."""
        name, _, rest = text.partition("+")
        key_id, _, encoded = rest.partition("+")
        material = decoded_base64(encoded)
        if not _is_name(name) or len(material) != 1 + ed25519.PUBLIC_BYTES:
            raise InvalidNote("A verifier key reads name+keyid+base64, with an Ed25519 key.")
        try:
            key = cls(name, SignatureType(material[0]), material[1:])
        except ValueError:
            raise InvalidNote(
                "The verifier key is of a type that is not supported: 1 for logs, 4 for witnesses."
            ) from None
        if key.id.hex() != key_id:
            raise InvalidNote(f"The verifier key of {name} does not have the id that it says.")
        return key

    @property
    def id(self) -> bytes:
        """The four bytes by which a signature line names this key."""
        return sha256(self.name.encode() + b"\n" + bytes([self.type]) + self.public).digest()[:4]

    def __str__(self) -> str:
        encoded = base64.b64encode(bytes([self.type]) + self.public).decode()
        return f"{self.name}+{self.id.hex()}+{encoded}"


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line: the name of the key, its id, and the signature; a witness puts the time before its own."""

    name: str
    key_id: bytes
    value: bytes

    @classmethod
    def parse(cls, line: str) -> Signature:
        """From one line, without its end."""
        name, _, encoded = line.removeprefix(_DASH).partition(" ")
        value = decoded_base64(encoded)
        if not line.startswith(_DASH) or not _is_name(name) or len(value) < 5:
            raise InvalidNote("A line of signatures reads: dash, name, base64.")
        return cls(name, value[:4], value[4:])

    def __str__(self) -> str:
        return f"{_DASH}{self.name} {base64.b64encode(self.key_id + self.value).decode()}"

    @property
    def time(self) -> int:
        """The time of a cosignature, in seconds since 1970."""
        return int.from_bytes(self.value[:8], "big")

    def is_of(self, key: VerifierKey) -> bool:
        """Whether this line names `key`. That alone says nothing: anybody can write such a line."""
        return (self.name, self.key_id) == (key.name, key.id)

    def is_valid(self, key: VerifierKey, text: str) -> bool:
        """Whether this is the signature of `key` on a note's text."""
        if not self.is_of(key):
            return False
        if key.type is SignatureType.LOG:
            return ed25519.verifies(key.public, self.value, text.encode())
        if len(self.value) != 8 + ed25519.SIGNATURE_BYTES or self.time > _LATEST_TIME:
            return False
        return ed25519.verifies(key.public, self.value[8:], _cosigned(text, self.time))


@dataclass(frozen=True, slots=True)
class Note:
    """A text, which ends with a line feed, and its signatures."""

    text: str
    signatures: tuple[Signature, ...]

    @classmethod
    def parse(cls, note: str) -> Note:
        """From its written form."""
        if len(note) > _MOST_LETTERS:
            raise InvalidNote(f"A note has at most {_MOST_LETTERS} letters.")
        text, blank, lines = note.rpartition("\n\n")
        if not blank or not lines.endswith("\n") or _FOREIGN.search(note):
            raise InvalidNote("A signed note is a text, an empty line and signature lines.")
        signatures = lines[:-1].split("\n")
        if len(signatures) > _MOST_SIGNATURES:
            raise InvalidNote(f"A note has at most {_MOST_SIGNATURES} signatures.")
        return cls(text + "\n", tuple(map(Signature.parse, signatures)))

    def __str__(self) -> str:
        return f"{self.text}\n" + "".join(f"{signature}\n" for signature in self.signatures)

    def signed_by(self, keys: Iterable[VerifierKey]) -> dict[VerifierKey, Signature]:
        """The keys among these whose signature on the note is valid, each with it. Lines of other keys are ignored."""
        valid: dict[VerifierKey, Signature] = {}
        for key in keys:
            for signature in self.signatures:
                if signature.is_valid(key, self.text):
                    valid[key] = signature
                    break
        return valid

    def refuse_forgeries(self, keys: Iterable[VerifierKey]) -> None:
        """InvalidNote if a line names one of these keys and is not its signature: somebody altered the note."""
        for key in keys:
            for signature in self.signatures:
                if signature.is_of(key) and not signature.is_valid(key, self.text):
                    raise InvalidNote(f"A signature of {key.name} on the note is not valid.")


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A secret key with its name and what it signs. Its repr shows no secret."""

    name: str
    type: SignatureType
    secret: ed25519.SecretKey

    def __post_init__(self) -> None:
        if not _is_name(self.name):
            raise InvalidNote("The name of a key has no spaces, no control characters and no plus sign.")

    @property
    def verifier(self) -> VerifierKey:
        """The public half."""
        return VerifierKey(self.name, self.type, self.secret.public)

    def sign(self, text: str, *, time: int | None = None) -> Signature:
        """The signature on a note's text; a witness needs the time. Ed25519 is deterministic: so is this.

        InvalidNote where the text is none that a note can have: nobody could verify the signature.
        """
        if not text.endswith("\n") or _FOREIGN.search(text):
            raise InvalidNote("The text of a note ends with a line feed and has no other control character.")
        if self.type is SignatureType.LOG:
            return Signature(self.name, self.verifier.id, self.secret.sign(text.encode()))
        if time is None or not 0 <= time <= _LATEST_TIME:
            raise ValueError("A cosignature has a time: seconds since 1970, below 2^63.")
        value = time.to_bytes(8, "big") + self.secret.sign(_cosigned(text, time))
        return Signature(self.name, self.verifier.id, value)


def _cosigned(text: str, time: int) -> bytes:
    return f"cosignature/v1\ntime {time}\n{text}".encode()


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and not _FOREIGN.search(name)


def decoded_base64(encoded: str) -> bytes:
    """The bytes of standard base64 in its one canonical spelling; InvalidNote for another (RFC 4648, section 3.5).

    Otherwise the unused bits of the last letter could be changed, and the file would verify with other bytes.
    """
    try:
        value = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidNote("The base64 cannot be read.") from None
    if base64.b64encode(value).decode() != encoded:
        raise InvalidNote("The base64 is not in its canonical spelling.")
    return value
