"""What a reader takes away of a release: its card, its receipt, and all of it as a bundle."""

from __future__ import annotations

from rugnik.connected import Connected, quoted
from rugnik.downloads import Target, download
from rugnik.wire import Card


class Taking(Connected):
    """Files about a published release that are no answers to questions."""

    def card(self, release: str) -> Card:
        """The card of a release: who published what, whom it protects and how, and what is not protected."""
        return Card.of(self._json("GET", f"/v1/releases/{quoted(release)}/card"))

    def download_card(
        self,
        release: str,
        to: Target,
        *,
        format: str = "json",  # noqa: A002 - the name it has in the API
    ) -> int:
        """The card as a file: json (the bytes on record), registry, croissant, dcat or nist. The bytes written."""
        return download(self._transport, f"/v1/releases/{quoted(release)}/card", to, {"format": format})

    def download_receipt(self, release: str, to: Target) -> int:
        """The receipt (C2SP tlog-proof): it shows offline that the release was charged and published. Bytes written."""
        return download(self._transport, f"/v1/releases/{quoted(release)}/receipt", to)

    def download_bundle(self, release: str, to: Target) -> int:
        """Everything about the release in one file, for `rugnik.open` and `rugnik verify`. Bytes written."""
        return download(self._transport, f"/v1/releases/{quoted(release)}/bundle", to)
