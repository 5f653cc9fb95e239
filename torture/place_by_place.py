"""Trials at one place after the other: a new, empty one for every 25, so that a start does not walk a long ledger."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from itertools import groupby

from torture.console import Result, progressing
from torture.curator import Acknowledged
from torture.model import Broken

_TRIALS_AT_A_PLACE = 25
Trials = Callable[[Iterable[int], random.Random], Acknowledged]


def at_places(title: str, seed: str, trials: int, at_a_place: Trials) -> tuple[Acknowledged, list[str]]:
    """What was acknowledged at all places, and why a place failed, for each that did.

    `at_a_place` has trials at a new place, with a chance of its own. Where one fails, the rest at its place is left
    out.
    """
    acknowledged, failures = Acknowledged(), []
    bar = progressing(title, range(trials))
    for number, part in groupby(bar, key=lambda trial: trial // _TRIALS_AT_A_PLACE):
        try:
            acknowledged.add(at_a_place(part, random.Random(f"{seed}/{number}")))
        except (Broken, AssertionError) as reason:
            failures.append(str(reason)[:200])
    return acknowledged, failures


def result_of(trial: str, trials: int, acknowledged: Acknowledged, failures: list[str]) -> Result:
    """The line of the table. It counts the places that failed, not the trials."""
    places = f"{len(failures)} {'place' if len(failures) == 1 else 'places'} failed"
    remark = f"{places}: {failures[0]}" if failures else str(acknowledged)
    return Result(trial, trials, len(failures), remark)
