"""Secrets from files: a folder with one file for each secret, as containers and systemd provide them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def read_secrets(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Name -> secret, for each name that has a file `rugnik_<name>` in the folder. Newlines at the end are removed.

    Raises ValueError, which names the file and never quotes its content.
    """
    if not folder.is_dir():
        raise ValueError(f"RUGNIK_SECRETS_DIR: {folder} is not a folder")
    secrets = {}
    for name in names:
        path = folder / f"rugnik_{name}"
        try:
            secret = path.read_text().rstrip("\n")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise ValueError(f"RUGNIK_SECRETS_DIR: {path} cannot be read ({why})") from None
        if not secret:
            raise ValueError(f"RUGNIK_SECRETS_DIR: {path} is empty")
        secrets[name] = secret
    return secrets
