"""The table of promises: what each one hangs on, and the tests that fail without it."""

from __future__ import annotations

from docs.reference.markdown import sections, table
from torture.broken import PROMISES, access_and_traces, ledger_and_log, noise_and_rows
from torture.broken.mutant import Promise

_HEADINGS = {
    "From a file to its synopsis": noise_and_rows.PROMISES,
    "What is on record": ledger_and_log.PROMISES,
    "Who sees what, and what is left behind": access_and_traces.PROMISES,
}


def text() -> str:
    """One table for each list of promises."""
    lines = sum(len(promise.mutants) for promise in PROMISES)
    parts = [f"{len(PROMISES)} promises hang on {lines} lines."]
    for heading, promises in _HEADINGS.items():
        parts += [f"## {heading}", table(["Promise", "If it were broken", "Tests that fail"], _rows(promises))]
    return sections(parts)


def _rows(promises: tuple[Promise, ...]) -> list[list[str]]:
    rows = []
    for promise in promises:
        for number, mutant in enumerate(promise.mutants):
            tests = ", ".join(f"`{test}`" for test in mutant.tests)
            rows.append(["" if number else promise.sentence, f"{mutant.name} (`{mutant.file}`)", tests])
    return rows
