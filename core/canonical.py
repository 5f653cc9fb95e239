"""One way to write a value as bytes, so that a digest means the same on every machine and in every year."""

from __future__ import annotations

import json
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Sorted keys, no spaces, ASCII, shortest floats that round-trip; NaN and infinity are refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")
