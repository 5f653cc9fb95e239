"""Bundles to test with, from synopses that are stored beside the tests."""

from __future__ import annotations

from pathlib import Path

from app.bundles.bundle import Bundle

STORED = Path(__file__).parents[1] / "core" / "format_1"


def stored(name: str = "dense_2") -> bytes:
    """The canonical bytes of a synopsis: version 0.1 has written them."""
    return (STORED / f"{name}.synopsis").read_bytes()


def bundle_with(synopsis: bytes) -> Bundle:
    """A bundle with this synopsis, and with members that say little."""
    return Bundle(
        synopsis=synopsis,
        receipt=b"c2sp.org/tlog-proof@v1\n",
        card=b'{"card":1}',
        croissant=b'{"croissant":1}',
        terms="Cite the clinic: \u00a7 1.\n",
        policy="quorum none\n",
    )
