"""`python -m torture [PART ...]`: run the parts that are named, or all; the exit code is 1 if anything failed."""

from __future__ import annotations

import sys
from importlib import import_module

from torture.console import console, show

PARTS = ("mutants", "crash", "faults", "races", "machine", "tamper", "audit", "fuzz", "suites")


def main(chosen: list[str]) -> int:
    """Run the chosen parts one after the other."""
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        console.print(f"There is no part '{unknown[0]}'. There are: {', '.join(PARTS)}.")
        return 2
    failures = 0
    for name in chosen or PARTS:
        part = import_module(f"torture.{name}")
        console.rule(name)
        console.print((part.__doc__ or "").strip(), highlight=False)
        failures += show(name, part.run())
    console.print("Everything held." if not failures else f"{failures:,} did not hold.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
