"""Promise, and the Mutants that break it: lines that the promise hangs on, and the tests that have to notice.

`noise_and_rows` has the promises about what happens between a file and its synopsis, `ledger_and_log` those about what
is on record, and `access_and_traces` those about who may see what, and what is left behind.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """`before` becomes `after` in one file. It stands there exactly once, which a test checks.

    `name` says what the service would do then. One of `tests` has to fail.
    """

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Promise:
    """A sentence of docs/privacy.md in short, and the lines that it hangs on."""

    sentence: str
    mutants: tuple[Mutant, ...]
