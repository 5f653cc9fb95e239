"""Large replies into files, in pieces; a file under its own name is always a whole one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from rugnik.errors import RugnikError
from rugnik.transport import Transport, may_pass
from rugnik.waiting import write

Target = str | os.PathLike[str] | BinaryIO


def download(transport: Transport, path: str, to: Target, params: Mapping[str, Any] | None = None) -> int:
    """The body of a GET, written to a path or a binary file; the number of bytes.

    Under a path, what arrives is written beside it first and moved there at the end, so a try that fails on the way
    leaves an older file alone, and can be repeated. A file object is written to once.
    """
    if not isinstance(to, str | os.PathLike):
        return _once(transport, path, to, params)
    target = Path(to)
    part = target.with_name(target.name + ".part")
    try:
        for tried in count(1):
            try:
                with part.open("wb") as file:
                    written = _once(transport, path, file, params)
                part.replace(target)
            except RugnikError as error:
                if not may_pass(error) or not transport.pause(tried, error):
                    raise
            else:
                return written
    finally:
        part.unlink(missing_ok=True)
    raise AssertionError


def _once(transport: Transport, path: str, file: BinaryIO, params: Mapping[str, Any] | None) -> int:
    written = 0
    with transport.stream("GET", path, params=params) as response:
        for piece in response.iter_bytes():
            write(file, piece)
            written += len(piece)
    return written
