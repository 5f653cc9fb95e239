"""`clusters/scan`: which k the synopsis supports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rugnik.wire.base import Reply, frame
from rugnik.wire.common import Answer
from rugnik.wire.limits import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanLine(Reply):
    """Inertia and stability for one k."""

    k: int
    inertia: float
    stability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendedClusters(Reply):
    """Which k to take, and why."""

    k: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Answer):
    """Inertia and stability for each k. `recommended` is null where no k stands out; a note says so."""

    path: ClassVar[str] = "clusters/scan"

    scan: tuple[ScanLine, ...]
    method: Method
    method_reason: str
    recommended: RecommendedClusters | None  # no default, so that it is written as null

    def to_pandas(self) -> Any:
        """One row per k."""
        return frame({name: [getattr(line, name) for line in self.scan] for name in ("k", "inertia", "stability")})
