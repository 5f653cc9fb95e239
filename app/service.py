"""Service: what every use case needs, made once per process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from app.bounded import Fleeting
from app.config import Settings
from app.database import Database
from app.witness import Witness
from core.randomness import NoiseSource

if TYPE_CHECKING:
    from app.auth import Principal


def utc_now() -> datetime:
    """The clock of a real service; tests hand over one that stands still."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Service:
    """Settings, database, witness, noise, clock, and the callers seen a moment ago."""

    settings: Settings
    database: Database
    witness: Witness
    noise: NoiseSource
    clock: Callable[[], datetime]
    principals: Fleeting[Principal]

    def timestamp(self) -> str:
        """Now, to the second, in UTC."""
        return self.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
