"""Service: what every use case needs, made once per process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.ledger.replay import Replay
from app.ledger.witness import Witness
from app.settings.settings import Settings
from app.storage.database import Database
from core.randomness import NoiseSource


def utc_now() -> datetime:
    """The clock of a real service; tests hand over one that stands still."""
    return datetime.now(UTC)


def timestamp(at: datetime) -> str:
    """A time in UTC, to the second."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Service:
    """Settings, database, witness, the replay of the ledger, noise, clock, and the service's own secret."""

    settings: Settings
    database: Database
    witness: Witness
    replay: Replay
    noise: NoiseSource
    clock: Callable[[], datetime]
    secret: bytes
    _newest: list[datetime] = field(init=False, default_factory=lambda: [datetime.min.replace(tzinfo=UTC)])

    def today(self) -> str:
        """The day, in UTC: the finest time that anybody but the curator may see."""
        return self.clock().strftime("%Y-%m-%d")

    def timestamp(self) -> str:
        """Now, to the second, in UTC."""
        return timestamp(self.clock())

    def newest_time(self) -> datetime:
        """The latest time that this process has seen: the clock's, unless the clock was set back."""
        self._newest[0] = max(self._newest[0], self.clock())
        return self._newest[0]
