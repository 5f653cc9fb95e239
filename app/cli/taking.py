"""`rugnik bundle` and `rugnik receipt`: what a reader takes away, to check and to use without the service."""

from __future__ import annotations

import sys
from pathlib import Path

from app.cli.asking import Release
from app.cli.options import URL, Key, Output, Url, connect
from app.cli.output import note


def bundle(release: Release, output: Output = None, url: Url = URL, key: Key = None) -> None:
    """Take a release away as one file, which answers every question without the service.

    `rugnik verify` checks it, `rugnik query` and `rugnik.open` ask it.

    \b
    Example:
      rugnik bundle bike-trips -o bike-trips.rugnik
    """
    with connect(url, key) as client:
        file = output or Path(f"{release}.rugnik")
        client.download_bundle(release, file)
    note(f"Written to {file}. Check it: rugnik verify {file} --policy POLICY")


def receipt(release: Release, output: Output = None, url: Url = URL, key: Key = None) -> None:
    """The receipt of a release: the proof that it was charged and published in the signed log.

    \b
    Example:
      rugnik receipt bike-trips -o bike-trips.csv.tlog-proof
    """
    with connect(url, key) as client:
        client.download_receipt(release, sys.stdout.buffer if output is None else output)
    if output is not None:
        note(f"Written to {output}.")
