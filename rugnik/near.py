"""What a person probably meant, where there is no dataset of the name that was typed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

_NEAR = 0.8  # of `SequenceMatcher.ratio`: one or two letters of a name of ten


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that differs by a slip. Names with other digits are other names: trips-2025 and trips-2026."""
    ratios = {each: _ratio(name, each) for each in names if each != name and _digits(each) == _digits(name)}
    near = max(ratios, key=lambda each: ratios[each], default=None)
    return near if near is not None and ratios[near] >= _NEAR else None


def did_you_mean(near: str | None) -> str:
    """The question, with a space in front of it; nothing where no name is near."""
    return "" if near is None else f" Did you mean '{near}'?"


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one.casefold(), other.casefold(), autojunk=False).ratio()


def _digits(name: str) -> str:
    return re.sub(r"[^0-9]", "", name)
