"""Synopsis: noisy counts with their grid and provenance; immutable, named by its digest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

from core.adaptive.cells import AdaptiveCells
from core.adaptive.shares import LayerLaws
from core.budget import Epsilon
from core.canonical import canonical_json
from core.cells import Cells, cells_from_bytes
from core.charged import Charged
from core.domain.domain import Domain
from core.errors import CoreError, InvalidSynopsis
from core.mechanisms.discrete_laplace import MECHANISM
from core.noisy_histogram import NoisyHistogram
from core.plan import Rule
from core.records import OutOfRange
from core.unit import RECORD, Unit

_MAGIC = b"rugnik synopsis %d\n"
_FORMATS = (1, 2, 3)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Synopsis(Charged, NoisyHistogram):
    """What stage 1 leaves behind and stage 2 sees: public numbers and noisy counts, nothing else.

    `cells` are the noisy counts on their grid: `DenseCells` for every cell, `ThresholdedCells` for those that reach a
    threshold, `AdaptiveCells` for the cells of the adaptive rule. `size` is the N that the grid was planned for, a
    statement of the curator (`size_declared`) or a noisy count bought with `size_epsilon`.
    """

    dataset: str
    release: str
    domain: Domain
    cells: Cells
    epsilon: Epsilon
    size_epsilon: Epsilon
    clusters: int
    rule: Rule
    out_of_range: OutOfRange
    size: int
    size_declared: bool
    unit: Unit = RECORD

    def __post_init__(self) -> None:
        if self.grid.dimensions != self.domain.dimensions:
            raise InvalidSynopsis("The grid and the domain of a synopsis have the same dimensions.")
        if self.size_epsilon >= self.epsilon:
            raise InvalidSynopsis("The size of a synopsis was bought with a part of its epsilon, not with all of it.")

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical bytes, in hexadecimal."""
        return sha256(self.to_bytes()).hexdigest()

    def to_bytes(self) -> bytes:
        """A line that names the format, a line of canonical JSON, then the counts as little-endian 64-bit integers.

        With a threshold the numbers of the listed cells stand before their counts, in the same way. Format 1, that of
        version 0.1, serves whatever it can say: numbers alone, equally many cells on every axis, one record for a unit.
        Format 2 has the kinds of attributes, the cells of each axis and the unit. Format 3 is format 2 with `layers`:
        the counts are those of the base, of the coarse cells that were counted, and of the leaves (`core.adaptive`).
        """
        magic, header = _MAGIC % self._format, canonical_json(self._header())
        return magic + header + b"\n" + self.cells.to_bytes()

    @property
    def _format(self) -> int:
        if isinstance(self.cells, AdaptiveCells):
            return 3
        plain = all(isinstance(written, list) for written in self.domain.to_json())
        return 1 if plain and self.grid.cells_per_axis and not self.unit.is_person else 2

    @classmethod
    def from_bytes(cls, data: bytes) -> Synopsis:
        """The synopsis whose canonical bytes these are; anything else is refused."""
        try:
            synopsis = cls._from_header(*_split(data))
            canonical = synopsis.to_bytes() == data
        except (CoreError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InvalidSynopsis("These bytes are no rugnik synopsis.") from error
        if not canonical:
            raise InvalidSynopsis("These bytes are a rugnik synopsis that is not in its canonical form.")
        return synopsis

    def _header(self) -> dict[str, Any]:
        header = self.cells.header() | {
            "clusters": self.clusters,
            "dataset": self.dataset,
            "domain": self.domain.to_json(),
            "epsilon": str(self.epsilon),
            "mechanism": MECHANISM,
            "out_of_range": self.out_of_range.value,
            "release": self.release,
            "rule": self.rule.value,
            "size": self.size,
            "size_declared": self.size_declared,
            "size_epsilon": str(self.size_epsilon),
        }
        if self._format == 1:
            grid = {"cells_per_axis": self.grid.cells_per_axis, "dimensions": self.grid.dimensions}
            return header | {"grid": grid}
        cells = [axis.value_cells for axis in self.grid.axes]
        return header | {"grid": {"cells": cells}, "unit": self.unit.to_json()}

    @classmethod
    def _from_header(cls, header: dict[str, Any], integers: bytes) -> Synopsis:
        domain = Domain.from_json(header["domain"])
        written = header["grid"]
        grid = domain.grid(
            [_typed(cells, int) for cells in written["cells"]]
            if "cells" in written
            else _typed(written["cells_per_axis"], int)
        )
        threshold = _typed(header["threshold"], int) if "threshold" in header else None
        epsilon, size_epsilon = (Epsilon.parse(header[key]) for key in ("epsilon", "size_epsilon"))
        unit = Unit.from_json(header.get("unit"))
        cells: Cells
        if "layers" in header:
            cells = AdaptiveCells.from_bytes(
                grid, LayerLaws.of(epsilon - size_epsilon, unit), integers, header["layers"]
            )
        else:
            cells = cells_from_bytes(grid, integers, threshold)
        return cls(
            dataset=_typed(header["dataset"], str),
            release=_typed(header["release"], str),
            domain=domain,
            cells=cells,
            epsilon=epsilon,
            size_epsilon=size_epsilon,
            clusters=_typed(header["clusters"], int),
            rule=Rule(header["rule"]),
            out_of_range=OutOfRange(header["out_of_range"]),
            size=_typed(header["size"], int),
            size_declared=_typed(header["size_declared"], bool),
            unit=unit,
        )


_Kind = TypeVar("_Kind")


def _typed(value: Any, kind: type[_Kind]) -> _Kind:
    """A value of exactly this type: JSON has true where 1 was meant, and 1.0."""
    if type(value) is not kind:
        raise TypeError(kind.__name__)
    return value


def _split(data: bytes) -> tuple[dict[str, Any], bytes]:
    magic, newline, rest = data.partition(b"\n")
    line, ended, integers = rest.partition(b"\n")
    if magic + newline not in [_MAGIC % number for number in _FORMATS] or not ended:
        raise InvalidSynopsis("These bytes do not begin like a rugnik synopsis.")
    return json.loads(line), integers
