"""The signed log, judged by rules of its own: signatures, roots, and that it never takes back what it has shown.

It is written without `core.log`, after RFC 6962 (Merkle tree) and C2SP signed-note and tlog-checkpoint.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from torture.model import Broken

_KEY_ID_BYTES = 4


@dataclass(slots=True)
class SeenLog:
    """What has been seen of a log: the root that it signed for each size. It may grow, and nothing else."""

    roots: dict[int, bytes] = field(default_factory=dict)
    shown: int = 0

    def require_shown(self, note: str, key: str, leaves: Sequence[bytes]) -> int:
        """The size of a checkpoint that is shown: signed, of these leaves, and not smaller than one before."""
        size = self.require_signed(note, key, leaves)
        if size < self.shown:
            raise Broken(f"A checkpoint of {self.shown} entries was shown, and now one of {size}.")
        self.shown = size
        return size

    def require_signed(self, note: str, key: str, leaves: Sequence[bytes]) -> int:
        """The size of a checkpoint of these leaves, the hashes of all entries; Broken for any other note."""
        text, _, signatures = note.partition("\n\n")
        origin, size_line, root_line = f"{text}\n".splitlines()[:3]
        if not is_signed(f"{text}\n", signatures, key) or not key.startswith(f"{origin}+"):
            raise Broken("A checkpoint has no good signature of the log.")
        size = int(size_line)
        if size > len(leaves):
            raise Broken(f"A checkpoint was signed for {size} entries, and there are {len(leaves)}.")
        self.roots[size] = base64.b64decode(root_line)
        self.require_kept(leaves)
        return size

    def require_kept(self, leaves: Sequence[bytes]) -> None:
        """Every root that was ever seen is that of the first so many entries."""
        for size, root in self.roots.items():
            if size > len(leaves) or root_of(leaves[:size]) != root:
                raise Broken(f"The first {size} entries are not those that a checkpoint was signed for.")


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root of a Merkle tree (RFC 6962, section 2.1), by its recursive definition."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    split = 1 << (len(leaves) - 1).bit_length() - 1  # the largest power of two below the number of leaves
    return hashlib.sha256(b"\1" + root_of(leaves[:split]) + root_of(leaves[split:])).digest()


def is_signed(text: str, signatures: str, key: str) -> bool:
    """Whether one of the signature lines is a good one of this verifier key, NAME+ID+BASE64."""
    name, key_id, material = key.split("+", 2)
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(material)[1:])
    for line in signatures.splitlines():
        _dash, signer, encoded = line.split(" ")
        value = base64.b64decode(encoded)
        if (signer, value[:_KEY_ID_BYTES].hex()) != (name, key_id):
            continue
        try:
            public.verify(value[_KEY_ID_BYTES:], text.encode())
        except InvalidSignature:
            return False
        return True
    return False
