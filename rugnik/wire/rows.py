"""`rows`: synthetic rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rugnik.wire.base import frame
from rugnik.wire.common import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows(Answer):
    """Synthetic rows, one number per attribute."""

    path: ClassVar[str] = "rows"

    attributes: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]

    def to_pandas(self) -> Any:
        """One row per synthetic row."""
        return frame({name: [row[x] for row in self.rows] for x, name in enumerate(self.attributes)})
