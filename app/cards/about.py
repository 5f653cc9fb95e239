"""What a curator said of a dataset, read from its registration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rugnik.wire.about import TITLES

NOT_STATED = "not stated"


def about_of(registration: Mapping[str, Any]) -> dict[str, str]:
    """The texts on record, by field; those that were not given are left out. Older registrations have none."""
    stated = registration.get("about")
    if not isinstance(stated, Mapping):
        return {}
    return {name: stated[name] for name in TITLES if isinstance(stated.get(name), str) and stated[name]}


def every_text(registration: Mapping[str, Any]) -> dict[str, str]:
    """All fields of a card's `about`: those that were not given read "not stated"."""
    return dict.fromkeys(TITLES, NOT_STATED) | about_of(registration)
