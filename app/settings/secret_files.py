"""Secrets by file: one folder, one file for each secret, as containers and systemd hand them over."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def read_secrets(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The secrets that have a file `rugnik_<name>` in the folder, without the newline that most files end with.

    A ValueError names the file and never what is in it.
    """
    if not folder.is_dir():
        raise ValueError(f"RUGNIK_SECRETS_DIR: {folder} is not a folder")
    found = {}
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
        found[name] = secret
    return found
