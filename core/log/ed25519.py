"""Ed25519 signatures by `cryptography`: the one place where the log needs a library."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

PUBLIC_BYTES = 32
SIGNATURE_BYTES = 64


@dataclass(frozen=True, slots=True)
class SecretKey:
    """A secret key. Its repr shows the public half alone."""

    public: bytes
    _key: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def generate(cls) -> SecretKey:
        """A new key, of the operating system's randomness."""
        return cls.of(Ed25519PrivateKey.generate())

    @classmethod
    def of(cls, key: Ed25519PrivateKey) -> SecretKey:
        """From the library's value."""
        return cls(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw), key)

    @classmethod
    def from_pem(cls, pem: bytes) -> SecretKey:
        """From PKCS#8 PEM without a password; ValueError where it is none, or of another kind."""
        try:
            key = load_pem_private_key(pem, password=None)
        except (TypeError, ValueError, UnsupportedAlgorithm):
            raise ValueError("The key is no PKCS#8 PEM without a password.") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError("The key is of another kind than Ed25519.")  # noqa: TRY004 - it is what a file holds
        return cls.of(key)

    def to_pem(self) -> bytes:
        """As PKCS#8 PEM, without a password."""
        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def sign(self, message: bytes) -> bytes:
        """The signature on a message: the same one each time."""
        return self._key.sign(message)


def verifies(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether a signature on a message is of this public key."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
