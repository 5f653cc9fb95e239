"""Tiles of the log (C2SP tlog-tiles): up to 256 hashes of one level, and up to 256 entries, as immutable files.

An entry in a tile is its hash: a commitment, which tells nothing as the entry is salted.
"""

from __future__ import annotations

import re

from app.errors import NotFound
from app.log import checkpoints
from app.service import Service
from core.log.checkpoint import Checkpoint
from core.log.tree import HASH_BYTES

WIDTH = 256
_LEVELS = 8  # of the tree, in one tile
_PLACE = re.compile(r"((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?", re.ASCII)


def tile(service: Service, level: str, place: str) -> bytes:
    """The bytes of a tile; NotFound for one that the newest checkpoint does not hold."""
    parsed = _PLACE.fullmatch(place)
    if parsed is None or not (level == "entries" or (level.isdecimal() and level.isascii() and int(level) < 64)):
        raise _missing()
    index = int(parsed[1].replace("x", "").replace("/", ""))
    if _path(index) != parsed[1]:
        raise _missing()
    height = 0 if level == "entries" else _LEVELS * int(level)
    size = Checkpoint.of(checkpoints.newest(service)).size >> height
    width = int(parsed[2]) if parsed[2] else WIDTH
    if width > WIDTH or (parsed[2] and width == WIDTH) or index * WIDTH + width > size:
        raise _missing()
    start = index * WIDTH
    if level == "entries":
        return _entries(service, start, start + width)
    return service.replay.tree.nodes(height, start, start + width)


def _entries(service: Service, start: int, stop: int) -> bytes:
    """The entries of a tile, each with its length before it: their hashes, which are the leaves of the tree."""
    hashes = service.entry_hashes(start, stop)
    return b"".join(HASH_BYTES.to_bytes(2, "big") + digest for digest in hashes)


def _path(index: int) -> str:
    """A number as tiles are named: three digits a part, all parts but the last with an x before."""
    digits = f"{index:03d}" if index < 1000 else str(index).zfill(-(-len(str(index)) // 3) * 3)
    parts = [digits[place : place + 3] for place in range(0, len(digits), 3)]
    return "/".join([*(f"x{part}" for part in parts[:-1]), parts[-1]])


def _missing() -> NotFound:
    return NotFound("There is no such tile, or the newest checkpoint does not hold it yet.")
