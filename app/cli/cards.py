"""`rugnik card`: the card of a published release, as it is on record or in another form."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from app.cli.asking import Release
from app.cli.options import URL, Key, Output, Url, connect
from app.cli.output import note


class Form(StrEnum):
    """The forms of a card."""

    JSON = "json"
    REGISTRY = "registry"
    CROISSANT = "croissant"
    DCAT = "dcat"
    NIST = "nist"


FormOption = Annotated[
    Form,
    typer.Option(
        "--format",
        help="json: the card on record. registry: YAML for the DP deployments registry. croissant, dcat: JSON-LD for "
        "catalogues of data. nist: a Markdown table that answers NIST SP 800-226.",
    ),
]


def card(
    release: Release,
    form: FormOption = Form.JSON,
    url: Url = URL,
    key: Key = None,
    output: Output = None,
) -> None:
    """The card of a release: who published what, whom it protects and how, and what is not protected.

    The ledger's publish entry has the SHA-256 of the JSON form, byte for byte.

    \b
    Example:
      rugnik card bike-trips
      rugnik card bike-trips --format nist -o bike-trips.md
    """
    with connect(url, key) as client:
        client.download_card(release, sys.stdout.buffer if output is None else output, format=form.value)
    if output is not None:
        note(f"Written to {output}.")
