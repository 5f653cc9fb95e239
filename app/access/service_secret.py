"""The service's own secret: 32 random bytes in a file beside the witness, so outside the database.

Stored answers are bound to their keys with it. Losing it costs nothing but working answers out again.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from app.access.secret_file import make_secret_file
from app.errors import CannotStart

_LENGTH = 32


def service_secret(path: Path) -> bytes:
    """The secret in this file, made now if there is none; workers that start together agree on one."""
    if not path.exists():
        make_secret_file(path, secrets.token_bytes(_LENGTH))
    secret = path.read_bytes()
    if len(secret) != _LENGTH:
        raise CannotStart(f"The secret file {path} is damaged. Delete it, and the next start makes a new one.")
    return secret
