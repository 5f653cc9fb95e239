"""Standing: the state of one release, with its charge and the digest of its synopsis."""

from __future__ import annotations

from dataclasses import dataclass

from core.budget import Epsilon
from core.ledger.accounts import ReleaseRecord
from core.ledger.kinds import State


@dataclass(frozen=True, slots=True)
class Standing:
    """A release's state, its charge as epsilon and as the number of its entry, and the digest of its synopsis."""

    state: State
    epsilon: Epsilon
    seq: int
    digest: str | None

    @classmethod
    def of(cls, record: ReleaseRecord) -> Standing:
        """From the books."""
        digest = record.digest.hex() if record.digest is not None else None
        state = record.last.description.state
        assert state is not None  # noqa: S101 - a release's last entry is of a kind that gives it a state
        return cls(state, Epsilon(record.nano), record.charge_seq, digest)
