"""Losses: why a curator's file would lose rows, column by column. Exact numbers, for the curator alone.

They are counted on the curator's machine, shown there, and never sent, stored or logged. The readers and the judgement
of each row are those of an upload (`upload.check_upload`), so every total is the one that an upload would reply.

A row that is dropped is either no row at all (`Losses.bad_lines`), or it has no usable id of a person, or one of its
values drops it (`Losses.by_values`): these three add up to `Ingest.rows_dropped`. A row that several columns drop is
counted in each of them. Clipped values are counted in the rows that are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.ingest.batch import Batch
from app.ingest.causes import BadLine
from app.ingest.upload import Ingest, Judged
from core.domain.attribute import Attribute
from core.domain.category import OTHER, Category
from core.domain.domain import Domain
from core.domain.number import Number
from core.domain.whole import WholeValues
from core.records import OutOfRange
from core.unit import RECORD, Unit


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ColumnLosses:
    """What became of the values of one attribute.

    missing     values that are not there
    unreadable  values that are no value of the kind: a text for a number, 2.5 for an integer, 31.12.2026 for a date
    unlisted    values that are not on the list of a category; they drop their row unless they have a cell of their own
    below       values below the lower bound; of rows that are kept, where values out of range are clipped
    above       the same above the upper bound
    """

    attribute: Attribute
    missing: int = 0
    unreadable: int = 0
    unlisted: int = 0
    below: int = 0
    above: int = 0
    clips: bool = True

    @property
    def without_value(self) -> int:
        """Values that are missing or unreadable."""
        return self.missing + self.unreadable

    @property
    def dropped(self) -> int:
        """Rows that this column drops."""
        lost = 0 if self.attribute.keeps_missing else self.without_value
        unlisted = 0 if keeps_others(self.attribute) else self.unlisted
        return lost + unlisted + (0 if self.clips else self.below + self.above)

    @property
    def clipped(self) -> int:
        """Values of kept rows that are moved to a bound."""
        return self.below + self.above if self.clips else 0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Losses:
    """Why rows would be lost. `ids_missing` and `ids_too_long` are None where a unit is one record."""

    ingest: Ingest
    bad_lines: Mapping[BadLine, int]
    ids_missing: int | None
    ids_too_long: int | None
    columns: tuple[ColumnLosses, ...]

    @property
    def by_values(self) -> int:
        """Rows that are dropped for one of their values."""
        return (
            self.ingest.rows_dropped - sum(self.bad_lines.values()) - (self.ids_missing or 0) - (self.ids_too_long or 0)
        )

    @property
    def has_no_value(self) -> bool:
        """Whether no column has a single value of its kind: then no column is the one that is meant."""
        parsed = self.ingest.rows_read - sum(self.bad_lines.values())
        return all(each.without_value == parsed for each in self.columns)

    def worst(self, most: int = 3) -> list[ColumnLosses]:
        """The columns that lose the most, by rows dropped and values clipped; none that loses nothing."""
        losing = [each for each in self.columns if each.dropped or each.clipped]
        return sorted(losing, key=lambda each: -(each.dropped + each.clipped))[:most]


class LossCounter:
    """Counts losses batch by batch: the explainer of `upload.check_upload`. Holds a few numbers per column."""

    def __init__(self, domain: Domain, out_of_range: OutOfRange, unit: Unit = RECORD) -> None:
        self._domain = domain
        self._clips = out_of_range is OutOfRange.CLIP
        self._columns: list[Counter[str]] = [Counter() for _ in domain.attributes]
        self._bad_lines: Counter[BadLine] = Counter()
        self._ids: Counter[str] = Counter()
        self._has_ids = unit.is_person

    def add(self, batch: Batch, judged: Judged) -> None:
        """Note a batch; one that loses nothing takes no time."""
        causes = batch.causes
        assert causes is not None  # noqa: S101 - explained batches are what is asked for
        self._bad_lines.update(causes.bad_lines)
        if batch.ids is not None:
            self._ids.update(null=batch.ids.null_count, long=causes.long_ids)
        loses = judged.ingest.rows_dropped > batch.bad_rows or judged.ingest.rows_clipped
        if not loses and not any(each.keeps_missing or keeps_others(each) for each in self._domain.attributes):
            return
        kept = _kept_rows(batch, judged)
        for attribute, column, absent, counted in zip(
            self._domain.attributes, batch.columns, causes.absent, self._columns, strict=True
        ):
            counted.update(_faults(attribute, column, kept if self._clips else None), missing=absent)

    def losses(self, ingest: Ingest) -> Losses:
        """All that was counted, for the numbers of rows that the same check returned."""
        return Losses(
            ingest=ingest,
            bad_lines=dict(self._bad_lines),
            ids_missing=self._ids["null"] - self._ids["long"] if self._has_ids else None,
            ids_too_long=self._ids["long"] if self._has_ids else None,
            columns=tuple(
                ColumnLosses(
                    attribute=attribute,
                    missing=counted["missing"],
                    unreadable=counted["none"] - counted["missing"],
                    unlisted=counted["unlisted"],
                    below=counted["below"],
                    above=counted["above"],
                    clips=self._clips,
                )
                for attribute, counted in zip(self._domain.attributes, self._columns, strict=True)
            ),
        )


def keeps_others(attribute: Attribute) -> bool:
    """Whether values that are not on the list have a cell of their own."""
    return isinstance(attribute, Category) and attribute.other


def _kept_rows(batch: Batch, judged: Judged) -> NDArray[np.bool_]:
    """Which rows of a batch became records."""
    if batch.ids is None or not batch.ids.null_count:
        return np.ones(len(batch), dtype=np.bool_) if judged.kept is None else judged.kept
    kept: NDArray[np.bool_] = batch.ids.is_valid().to_numpy(zero_copy_only=False).copy()
    if judged.kept is not None:
        kept[kept] = judged.kept
    return kept


def _faults(attribute: Attribute, column: NDArray[Any], kept: NDArray[np.bool_] | None) -> dict[str, int]:
    """The numbers of values without a value of the kind, not listed, below and above, by the attribute's own `encode`.

    With `kept`, values out of range are those of these rows.
    """
    encoded = attribute.encode(column, clip=True)
    unlisted = int(np.count_nonzero(column == OTHER)) if isinstance(attribute, Category) else 0
    if attribute.keeps_missing:
        none = int(np.count_nonzero(encoded.codes == np.iinfo(encoded.codes.dtype).max))
    else:
        none = 0 if encoded.dropped is None else int(np.count_nonzero(encoded.dropped))
        none -= 0 if keeps_others(attribute) else unlisted
    below = above = 0
    if encoded.outside is not None:
        assert isinstance(attribute, Number | WholeValues)  # noqa: S101 - others have no bounds
        first = attribute.lower if isinstance(attribute, Number) else attribute.first
        outside = encoded.outside if kept is None else encoded.outside & kept
        is_below = column[outside] < first
        below = int(np.count_nonzero(is_below))
        above = len(is_below) - below
    return {"none": none, "unlisted": unlisted, "below": below, "above": above}
