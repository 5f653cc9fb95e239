"""The sentences of a card. They are on record with it: a change here is a new version of the card."""

from __future__ import annotations

from core.synopsis import Synopsis
from core.unit import Unit

SUMMARY = (
    "A histogram with noise: counts of rows per cell of a public grid, released under pure epsilon-differential "
    "privacy. Counts, quantiles, means, clusters and synthetic rows are computed from it."
)
COMPOSITION = (
    "Sequential: the epsilons of all releases of a dataset add up, in whole billionths, and the ledger refuses a "
    "charge beyond the budget. Within a release, the epsilons of its parts add up to its epsilon."
)
POST_PROCESSING = (
    "Every answer and every synthetic row is computed from the noisy counts and public numbers. Questions cost no"
    " epsilon, however many are asked."
)
IMPLEMENTATION = (
    "rugnik. Noise is drawn in exact whole-number arithmetic from the operating system's entropy: no floating "
    "point, no seed. Epsilon is charged in a hash-chained ledger before a row is read. A charge pays for one "
    "draw, and the draw is on record before it is made. Exact counts are kept nowhere. The proof stands in "
    "core/release.py and docs/privacy.md."
)
TRUST = (
    "Central model: the curator and the machine that runs rugnik see the rows and are trusted. Analysts, auditors"
    " and whoever later reads the database, the disk or the logs are not. Where the curator's own process counts "
    "the rows, it is trusted to count each of them once."
)
_DOMAIN = "The attributes with their bounds and values are public statements of the curator, not covered by epsilon."
_DECLARED = "The number of rows ({size:,}) is a public statement of the curator, not covered by epsilon."
_OUTSIDE = (
    "That an order was placed, voided or published, and on which day, is outside the guarantee. So is what the "
    "curator says of the dataset."
)
_RECORDS = "A person with several rows is protected for each row alone, which is less than for all of them together."
_PERSONS = "A person with several ids counts as several persons."


def neighbours(unit: Unit) -> str:
    """Which files the guarantee compares."""
    if not unit.is_person:
        return (
            "Two files are neighbours if they are equal but for one row, which one of them has and the other has not."
        )
    rows = "1 row" if unit.max_rows == 1 else f"{unit.max_rows} rows"
    return (
        f"Two files are neighbours if they are equal but for one person, by the column {unit.column}, whose rows one "
        f"of them has and the other has not. At most {rows} of each person are counted."
    )


def unprotected(synopsis: Synopsis) -> list[str]:
    """What the guarantee does not cover, a sentence each."""
    size = [_DECLARED.format(size=synopsis.size)] if synopsis.size_declared else []
    return [_DOMAIN, *size, _PERSONS if synopsis.unit.is_person else _RECORDS, _OUTSIDE]


def ended(text: str) -> str:
    """A text of a person with a full stop, so that a sentence can follow it; an empty one stays empty."""
    own = text.strip()
    return own if not own or own.endswith((".", "!", "?", "…")) else f"{own}."
