"""What a reader takes away of a release: its card, its receipt, and all of it as a bundle."""

from __future__ import annotations

from rugnik.downloads import Target, download
from rugnik.naming import Naming, Released
from rugnik.wire import Card


class Taking(Naming):
    """Files about a published release that are no answers to questions."""

    def card(self, release: Released) -> Card:
        """The card of a release: who published what, whom it protects and how, and what is not protected."""
        return Card.of(self._json("GET", self._below(release, "card")))

    def download_card(
        self,
        release: Released,
        to: Target,
        *,
        format: str = "json",  # noqa: A002 - the name it has in the API
    ) -> int:
        """The card as a file: json (the bytes on record), registry, croissant, dcat or nist. The bytes written."""
        return download(self._transport, self._below(release, "card"), to, {"format": format})

    def download_receipt(self, release: Released, to: Target) -> int:
        """The receipt (C2SP tlog-proof): it shows offline that the release was charged and published. Bytes written."""
        return download(self._transport, self._below(release, "receipt"), to)

    def download_bundle(self, release: Released, to: Target) -> int:
        """Everything about the release in one file, for `rugnik.open` and `rugnik verify`. Bytes written."""
        return download(self._transport, self._below(release, "bundle"), to)
