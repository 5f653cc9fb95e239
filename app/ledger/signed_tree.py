"""The tree over the entries of a verification, compared with the checkpoints on record as it grows to their sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, func, select, tuple_

from app.log.checkpoints import ROWS, fault_of
from app.service import Service
from app.storage.tables import checkpoints
from core.log.checkpoint import Checkpoint
from core.log.note import Note
from core.log.tree import Frontier

_BATCH = 1000
_LEAST = -(2**63)  # of what a database keeps as a size: a row with one below 1 is somebody else's
_OTHER_TREE = (
    "The entries up to number {size} are not those that a checkpoint of the log was signed for; up to number {vouched} "
    "they are."
)
_CUT = "A checkpoint of the log was signed for more entries than there are."


@dataclass(frozen=True, slots=True)
class TreeFault:
    """Why the entries are not those of a checkpoint, and how many of the first ones hold all the same."""

    entries: int
    reason: str


class SignedTree:
    """Entries are appended one by one. Those checkpoints count that are on record when it is made.

    Checking a checkpoint costs a signature; in a log of years there are many of them. So they are read along with the
    entries, and a verification shows progress from its first entries on. `vouched` is the size of the last one that
    agreed: where the next one does not, the first bad entry is somewhere after it.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tree = Frontier()
        self.vouched = 0
        with service.database.read_only() as tx:
            largest = tx.execute(select(func.max(checkpoints.c.size))).scalar_one()
        self._rows = _rows(service, 0 if largest is None else largest)
        self._next = next(self._rows, None)

    @property
    def size(self) -> int:
        """How many entries there are."""
        return self._tree.size

    def append(self, digest: bytes) -> TreeFault | None:
        """Take the hash of an entry in; why the checkpoints of so many entries are not of these, if they are not."""
        self._tree.append(digest)
        while self._next is not None and not self._is_larger(self._next.size):
            fault = fault_of(self._service, self._next)
            if fault is not None:
                return TreeFault(self.size, fault)
            if Checkpoint.of(Note.parse(self._next.note)).root != self._tree.root:
                return TreeFault(self.vouched, _OTHER_TREE.format(size=self.size, vouched=self.vouched))
            self.vouched = self.size
            self._next = next(self._rows, None)
        return None

    def _is_larger(self, size: Any) -> bool:
        """Whether a checkpoint has more entries than there are so far. SQLite keeps any type in any column."""
        return isinstance(size, int) and size > self._tree.size

    def fault_at_end(self) -> str | None:
        """After the last entry: why the entries are fewer than a checkpoint has, if they are."""
        if self._next is None:
            return None
        return fault_of(self._service, self._next) or _CUT


def _rows(service: Service, largest: Any) -> Iterator[Row[Any]]:
    """The rows up to a size, the smallest first, batch by batch, each in a short transaction."""
    place, last = tuple_(checkpoints.c.size, checkpoints.c.sealed), (_LEAST, False)
    while True:
        query = ROWS.where(checkpoints.c.size <= largest, place > last).order_by(*place.clauses)
        with service.database.read_only() as tx:
            batch = tx.execute(query.limit(_BATCH)).all()
        yield from batch
        if len(batch) < _BATCH:
            return
        last = (batch[-1].size, batch[-1].sealed)
