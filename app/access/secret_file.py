"""Make a file with a secret in it, once: processes that start together agree on one."""

from __future__ import annotations

import os
from pathlib import Path


def make_secret_file(path: Path, content: bytes) -> None:
    """Write under another name, then link. The link fails where another process was first; then its file counts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
