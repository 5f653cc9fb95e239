"""Machine: random actions of many keys, one after the other, beside a specification of what has to come of each.

Orders plain and with Idempotency-Keys, of too much epsilon, of two persons, in closed datasets; uploads good, bad,
empty and twice; voids, closes, grants, rules, approvals, refusals, keys issued and revoked, restarts. After each step
the reply, all balances, all states and every entry of the ledger have to be those that
`tests/support/states/specification.py` gives. Where they are not, the shortest steps that lead there are printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.support.states.machine import LIMITS, drive
from tests.support.states.nouns import Reply
from tests.support.states.running import on_postgresql, on_sqlite
from torture.console import Result, console, progressing
from torture.services import times

_PLACES = ("SQLite", on_sqlite, 500), ("PostgreSQL", on_postgresql, 250)  # with examples
_STEPS = 50  # of an example at most
_AT_ONCE = 25  # examples that the progress bar counts as one


def run() -> Iterator[Result]:
    """Examples on each database."""
    for database, places, usual in _PLACES:
        batches, broken, said = times(usual // _AT_ONCE), 0, ""
        seen: Counter[Reply] = Counter()
        with places(LIMITS) as place:
            for _ in progressing(f"{_AT_ONCE} examples each on {database}", range(batches)):
                try:
                    seen += drive(place, examples=_AT_ONCE, steps=_STEPS)
                except Exception as difference:  # whatever a fault shows as
                    broken, said = broken + 1, "the steps are printed above"
                    steps = getattr(difference, "__notes__", [])
                    console.print("\n".join([str(difference), *steps]), highlight=False, markup=False)
        reasons = [count for (status, _), count in seen.items() if status >= 400]
        done = seen.total() - sum(reasons)
        remark = f"{done:,} actions done, {sum(reasons):,} refused for {len(reasons)} reasons"
        yield Result(f"examples of {_STEPS} steps, {database}", batches * _AT_ONCE, broken, said or remark)
