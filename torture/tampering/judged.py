"""Whether the product finds an edit of the ledger, and names the right entry.

Twice: the verification of a service that runs (`/v1/ledger/verify` and `rugnik ledger verify` are the same function),
and the start of one that was stopped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from app.errors import CannotStart
from app.ledger.verification import verify_all
from app.ledger.witness_check import check_witness
from app.service import Service
from app.storage.tables import checkpoints, cosignatures, ledger, periods
from torture.tampering.edits import COLUMNS, Edit, Row
from torture.tampering.inside import seen_from, started_on

# A start walks the chain by its numbers, and passes over a row whose number it has taken in: no decision follows from
# such a row. A verification finds it.
_HARMLESS_AT_START = ("a row doubled", "a row inserted")


@dataclass(frozen=True, slots=True)
class Honest:
    """The table as the service wrote it, and the numbers of entries that signed checkpoints were made for."""

    rows: list[Row]
    signed: list[int]

    @classmethod
    def of(cls, connection: Connection) -> Honest:
        """As it is now."""
        rows = [tuple(row) for row in connection.execute(select(ledger).order_by(ledger.c.seq))]
        sizes = connection.execute(select(checkpoints.c.size).order_by(checkpoints.c.size)).scalars()
        return cls(rows, list(sizes))

    def apply(self, connection: Connection, rows: Iterable[Row]) -> None:
        """Make the table of these rows: only those that differ are written."""
        before, after = Counter(self.rows), Counter(rows)
        gone = [row[0] for row in (before - after).elements()]
        new = [dict(zip(COLUMNS, row, strict=True)) for row in (after - before).elements()]
        if gone:
            connection.execute(delete(ledger).where(ledger.c.seq.in_(gone)))
        if new:
            connection.execute(insert(ledger), new)


@dataclass(frozen=True, slots=True)
class Judge:
    """A service on an open transaction (`torture.tampering.inside`), and the ledger that it has there."""

    service: Service
    connection: Connection
    honest: Honest

    def naive(self, edit: Edit) -> str | None:
        """What did not hold of an edit that leaves hashes as they are: the first bad entry has to be named exactly."""
        return self._judged(edit, first=edit.first, last=edit.last, drops_signatures=False)

    def clever(self, edit: Edit, *, drops_signatures: bool) -> str | None:
        """The same where all hashes fit. Up to the last checkpoint before the edit everything has to be called good.

        From there on the first checkpoint that covers the edit has to notice, or else the witness file.
        """
        signed = [] if drops_signatures else self.honest.signed
        cover = bisect_left(signed, edit.first)
        first = signed[cover - 1] + 1 if cover else 1
        last = signed[cover] if cover < len(signed) else len(self.honest.rows)
        if edit.kind == "cut off":
            first = last = edit.first
        return self._judged(edit, first=first, last=max(last, edit.first), drops_signatures=drops_signatures)

    def _judged(self, edit: Edit, *, first: int, last: int, drops_signatures: bool) -> str | None:
        savepoint = self.connection.begin_nested()
        try:
            self.honest.apply(self.connection, edit.rows)
            if drops_signatures:
                for table in (checkpoints, cosignatures, periods):
                    self.connection.execute(delete(table))
            if _same(self.connection, self.honest.rows) and not drops_signatures:
                return f"{edit.about}: the edit changes nothing"
            outcome = verify_all(seen_from(self.service, self.connection))
            if outcome.valid:
                return f"{edit.about}: not found"
            if not first <= (outcome.first_bad or 0) <= last or outcome.entries != (outcome.first_bad or 0) - 1:
                return f"{edit.about}: entry {outcome.first_bad} named, {first} to {last} expected: {outcome.reason}"
            return self._starts(edit)
        finally:
            savepoint.rollback()

    def _starts(self, edit: Edit) -> str | None:
        """What did not hold of a service that is started on the edited ledger: it has to refuse."""
        try:
            check_witness(started_on(self.service, self.connection))
        except CannotStart:
            return None
        return None if edit.kind in _HARMLESS_AT_START else f"{edit.about}: a service starts on it"


def _same(connection: Connection, rows: Sequence[Row]) -> bool:
    stored = connection.execute(select(ledger)).all()
    return Counter(map(tuple, stored)) == Counter(rows)
