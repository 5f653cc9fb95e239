"""Card: what a release is, who made it and what it protects, as an in-toto statement about its synopsis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from rugnik.wire.base import Reply
from rugnik.wire.limits import Doc


@dataclass(frozen=True, slots=True, kw_only=True)
class CardSubject(Reply):
    """What a card is about: the canonical bytes of a synopsis, by their SHA-256."""

    name: str
    digest: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Card(Reply):
    """The card of a release. Its bytes never change, and the ledger's publish entry has their SHA-256 as `card`."""

    subject: tuple[CardSubject, ...]
    predicateType: Annotated[str, Doc("The version of the card: urn:rugnik:release-card:1.")]  # noqa: N815 - of in-toto
    predicate: Annotated[
        Mapping[str, Any],
        Doc("Texts of the curator (about), dataset, release, privacy, budget, cells, what is not protected."),
    ]

    @property
    def on_record(self) -> bool:
        """Whether its digest is in the ledger; it is not for a release from before there were cards."""
        return self.predicate.get("on_record") is True
