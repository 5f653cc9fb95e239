"""The forms of a card, by the word for `?format=`, and the bytes of each."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

from app.cards.card import Card
from app.cards.croissant import SPECIFICATION, croissant
from app.cards.dcat import dcat
from app.cards.files import File
from app.cards.registry import registry
from app.cards.tables import nist


class CardFormat(StrEnum):
    """JSON is the card itself, as it is on record. The other forms are made from it."""

    JSON = "json"
    REGISTRY = "registry"
    CROISSANT = "croissant"
    DCAT = "dcat"
    NIST = "nist"

    @property
    def media_type(self) -> str:
        """What Accept may name."""
        return _MEDIA_TYPES[self][0]

    @property
    def content_type(self) -> str:
        """The value of Content-Type."""
        profile = f'; profile="{SPECIFICATION}"' if self is CardFormat.CROISSANT else ""
        return self.media_type + profile

    @property
    def suffix(self) -> str:
        """How the name of such a file ends."""
        return _MEDIA_TYPES[self][1]

    @property
    def lists_files(self) -> bool:
        """Whether it has the release's files with their digests."""
        return self in (CardFormat.CROISSANT, CardFormat.DCAT)


_MEDIA_TYPES = {
    CardFormat.JSON: ("application/json", "card.json"),
    CardFormat.REGISTRY: ("application/yaml", "registry.yaml"),
    CardFormat.CROISSANT: ("application/ld+json", "croissant.json"),
    CardFormat.DCAT: ("application/ld+json", "dcat.json"),
    CardFormat.NIST: ("text/markdown", "nist.md"),
}


def written(card: Card, form: CardFormat, files: tuple[File, ...] = ()) -> bytes:
    """The bytes of a card in one of its forms; `files` are for the forms that list them."""
    match form:
        case CardFormat.JSON:
            return card.body
        case CardFormat.REGISTRY:
            return registry(card)
        case CardFormat.CROISSANT:
            return croissant(card, files)
        case CardFormat.DCAT:
            return dcat(card, files)
        case CardFormat.NIST:
            return nist(card)
        case _:
            assert_never(form)
