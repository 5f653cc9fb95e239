"""The key of a witness: Ed25519 in a PKCS#8 PEM file that only its owner can read."""

from __future__ import annotations

from pathlib import Path

from app.access.secret_file import make_secret_file
from app.errors import CannotStart
from app.witnessing.durable_file import sync_folder
from core.log.ed25519 import SecretKey
from core.log.note import InvalidNote, SignatureType, SigningKey


def witness_key(path: Path, name: str | None = None) -> SigningKey:
    """The key in a file, made now if there is none. Without a name, it is called like its file.

    CannotStart where the file cannot be read, holds another kind of key, or is open to other users.
    """
    try:
        if not path.exists():
            make_secret_file(path, SecretKey.generate().to_pem())
            sync_folder(path.parent)
        if path.stat().st_mode & 0o077:
            raise CannotStart(f"Other users can read the key {path}. Close it to them: chmod 600 {path}")
        secret = SecretKey.from_pem(path.read_bytes())
    except OSError as error:
        raise CannotStart(f"The key {path} cannot be read or made ({error.strerror}).") from None
    except ValueError as error:
        raise CannotStart(f"{path}: {error}") from None
    try:
        return SigningKey(name or path.stem, SignatureType.COSIGNATURE, secret)
    except InvalidNote as error:
        raise CannotStart(f"{error} Give another one with --name.") from None
