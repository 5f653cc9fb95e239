"""Service: what every use case needs, made once per process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from app.ledger.replay import Replay
from app.ledger.witness import Witness
from app.log.signing import Log
from app.log.ticks import Ticks
from app.settings.settings import Settings
from app.storage.database import Database
from core.log.note import Note
from core.log.policy import Policy
from core.randomness import NoiseSource

if TYPE_CHECKING:  # it is given a Service itself
    from app.log.cosigning import Cosigner


def utc_now() -> datetime:
    """The clock of a real service; tests hand over one that stands still."""
    return datetime.now(UTC)


def timestamp(at: datetime) -> str:
    """A time in UTC, to the second."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Service:
    """What use cases share.

    Settings, database, witness file, the replay of the ledger, noise, the log's keys and its outside witnesses, the
    clock, and the service's own secret.
    """

    settings: Settings
    database: Database
    witness: Witness
    replay: Replay
    noise: NoiseSource
    log: Log
    ticks: Ticks
    policy: Policy | None
    cosigner: Cosigner
    clock: Callable[[], datetime]
    secret: bytes
    _newest: list[datetime] = field(init=False, default_factory=lambda: [datetime.min.replace(tzinfo=UTC)])

    def today(self) -> str:
        """The day, in UTC: the finest time that anybody but the curator may see."""
        return self.clock().strftime("%Y-%m-%d")

    @property
    def needs_quorum(self) -> bool:
        """Whether a quorum of outside witnesses has to sign a charge before its rows are read."""
        return self.policy is not None and self.policy.quorum is not None

    def checkpoint(self, size: int) -> Note:
        """The signed checkpoint of the first `size` entries, which are committed."""
        return self.log.signed(self.replay.tree, size)

    def timestamp(self) -> str:
        """Now, to the second, in UTC."""
        return timestamp(self.clock())

    def newest_time(self) -> datetime:
        """The latest time that this process has seen: the clock's, unless the clock was set back."""
        self._newest[0] = max(self._newest[0], self.clock())
        return self._newest[0]
