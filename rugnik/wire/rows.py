"""`rows`: synthetic rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rugnik.wire.base import frame
from rugnik.wire.common import Answer, Value
from rugnik.wire.datasets import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows(Answer):
    """Synthetic rows: a value for each attribute, null where it is missing; `(other)` where it is not on the list.

    `kinds` has the kind of each attribute; it is left out where all are numbers.
    """

    path: ClassVar[str] = "rows"

    attributes: tuple[str, ...]
    kinds: tuple[Kind, ...] | None = None
    rows: tuple[tuple[Value | None, ...], ...]  # the last field: the service sends rows in pieces

    def to_pandas(self) -> Any:
        """One row per synthetic row."""
        columns = {name: [row[x] for row in self.rows] for x, name in enumerate(self.attributes)}
        return frame(columns, dict(zip(self.attributes, self.kinds or (), strict=self.kinds is not None)))
