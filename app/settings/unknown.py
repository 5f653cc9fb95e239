"""Variables RUGNIK_… that name no setting: a typing error in a name would otherwise mean the default, unseen."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from app.settings.settings import Settings

PREFIX = "RUGNIK_"
CLIENT = ("RUGNIK_URL", "RUGNIK_KEY")  # of the command line


def unknown_variables(environment: Mapping[str, str]) -> dict[str, str | None]:
    """The variables that are not known, each with the nearest name that is; None where none is near."""
    known = {*(PREFIX + name.upper() for name in Settings.model_fields), *CLIENT}
    # As settings are read: in capitals or not.
    unknown = sorted(name for name in environment if name.upper().startswith(PREFIX) and name.upper() not in known)
    return {name: next(iter(get_close_matches(name.upper(), sorted(known), n=1, cutoff=0.8)), None) for name in unknown}


def sentence(name: str, nearest: str | None) -> str:
    """What is to be said of such a variable. Its value is not shown, because it may be secret."""
    return f"{name} is no setting" + ("." if nearest is None else f": was {nearest} meant?")
