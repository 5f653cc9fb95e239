"""The key of a witness: Ed25519 in a PKCS#8 PEM file that only its owner can read."""

from __future__ import annotations

import os
from pathlib import Path

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
            _make(path)
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


def _make(path: Path) -> None:
    """Written under another name, then linked: a key that another process made meanwhile is never replaced."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(SecretKey.generate().to_pem())
            file.flush()
            os.fsync(file.fileno())
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    sync_folder(path.parent)
