"""Tiles of the log (C2SP tlog-tiles): up to 256 hashes of one level, and up to 256 entries, as immutable files.

An entry in a tile is its hash: a commitment, which tells nothing as the entry is salted.
"""

from __future__ import annotations

import re

from sqlalchemy import select

from app.errors import NotAllowed, NotFound
from app.log import checkpoints
from app.service import Service
from app.storage.tables import ledger
from core.log.checkpoint import Checkpoint
from core.log.tree import HASH_BYTES

WIDTH = 256
_LEVELS = 8  # of the tree, in one tile
_LEVEL = re.compile(r"entries|[0-9]|[1-5][0-9]|6[0-3]", re.ASCII)
_PLACE = re.compile(r"((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?", re.ASCII)


def tile(service: Service, level: str, place: str) -> bytes:
    """The bytes of a tile; NotFound for one that the newest checkpoint does not hold."""
    parsed = _PLACE.fullmatch(place)
    if parsed is None or not _LEVEL.fullmatch(level):
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
    query = select(ledger.c.hash).where(ledger.c.seq > start, ledger.c.seq <= stop).order_by(ledger.c.seq)
    with service.database.read_only() as tx:
        hashes = [bytes.fromhex(stored) for stored in tx.execute(query).scalars()]
    return b"".join(HASH_BYTES.to_bytes(2, "big") + digest for digest in hashes)


def require_salted(service: Service) -> None:
    """NotAllowed where the log may not be public: hashes of entries without a salt could be guessed."""
    # Salts are in every entry since the first one that has one.
    with service.database.read_only() as tx:
        first = tx.execute(select(ledger.c.detail).order_by(ledger.c.seq).limit(1)).scalar_one_or_none()
    if first is not None and '"salt":' not in first:
        raise NotAllowed(
            "The log has entries of an earlier version, without a salt, so only auditors may read its tiles."
        )


def _path(index: int) -> str:
    """A number as tiles are named: three digits a part, all parts but the last with an x before."""
    digits = f"{index:03d}" if index < 1000 else str(index).zfill(-(-len(str(index)) // 3) * 3)
    parts = [digits[place : place + 3] for place in range(0, len(digits), 3)]
    return "/".join([*(f"x{part}" for part in parts[:-1]), parts[-1]])


def _missing() -> NotFound:
    return NotFound("There is no such tile, or the newest checkpoint does not hold it yet.")
