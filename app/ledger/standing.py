"""Standing: the state of one release, with its charge and the digest of its synopsis. Stretch: some that follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.budget import Epsilon
from core.ledger.accounts import ReleaseRecord
from core.ledger.kinds import State


@dataclass(frozen=True, slots=True)
class Standing:
    """A release's state, its charge as epsilon and as the number of its entry, and the digest of its synopsis.

    `step` is the place of its last draw (`core.ledger.kinds.STEPS`), 0 before the first. Where rows are counted
    elsewhere, `size` is the bought size, once it is drawn, and `layers` are the digests of the layers drawn so far.
    `card` is the digest of its card, once it is published; None for a release from before there were cards.
    `label` is what its order is called; None where nobody said. `ordered` and `published` are UTC days.
    """

    state: State
    epsilon: Epsilon
    seq: int
    digest: str | None
    ordered: str
    label: str | None = None
    published: str | None = None
    step: int = 0
    size: int | None = None
    layers: tuple[bytes, ...] = ()
    card: str | None = None

    @classmethod
    def of(cls, record: ReleaseRecord) -> Standing:
        """From the books."""
        digest = record.digest.hex() if record.digest is not None else None
        state = record.last.description.state
        assert state is not None  # noqa: S101 - a release's last entry is of a kind that gives it a state
        return cls(
            state=state,
            epsilon=Epsilon(record.nano),
            seq=record.charge_seq,
            digest=digest,
            ordered=record.ordered,
            label=record.label,
            published=record.published,
            step=record.step,
            size=record.size,
            layers=record.layers,
            card=record.card.hex() if record.card is not None else None,
        )


@dataclass(frozen=True, slots=True)
class Stretch:
    """Releases of a dataset that follow each other: their standings, and how many come before and after them."""

    before: int
    standings: Mapping[str, Standing]
    after: int
