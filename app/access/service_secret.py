"""The service's own secret: 32 random bytes in a file beside the witness, so outside the database.

Stored answers are bound to their keys with it. Losing it costs nothing but working answers out again.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from app.errors import CannotStart

_LENGTH = 32


def service_secret(path: Path) -> bytes:
    """The secret in this file, made now if there is none; workers that start together agree on one."""
    if not path.exists():
        _make(path)
    secret = path.read_bytes()
    if len(secret) != _LENGTH:
        raise CannotStart(f"The secret file {path} is damaged. Delete it, and the next start makes a new one.")
    return secret


def _make(path: Path) -> None:
    """Write under another name, then link. The link fails where another process was first; then its file counts."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_LENGTH))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
