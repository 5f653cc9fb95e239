"""Synopsis: noisy counts with their grid and provenance; immutable, named by its digest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

from core.adaptive.cells import AdaptiveCells
from core.adaptive.fusion import BoughtSize
from core.adaptive.shares import LayerLaws
from core.budget import NOTHING, Epsilon
from core.canonical import canonical_json
from core.cells import Cells, cells_from_bytes
from core.charged import Charged
from core.domain.axis import OFFSET_STEPS
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.errors import CoreError, InvalidSynopsis
from core.mechanisms.discrete_laplace import MECHANISM
from core.mechanisms.vector_laplace import MECHANISM as OFFSET_MECHANISM
from core.noisy_histogram import NoisyHistogram
from core.plan import Rule
from core.records import OutOfRange
from core.unit import RECORD, Unit

_MAGIC = b"rugnik synopsis %d\n"
_FORMATS = (1, 2, 3)
_OFFSETS_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Synopsis(Charged, NoisyHistogram):
    """What stage 1 leaves behind and stage 2 sees: public numbers and noisy counts, nothing else.

    `cells` are the noisy counts on their grid: `DenseCells` for every cell, `ThresholdedCells` for those that reach a
    threshold, `AdaptiveCells` for the cells of the adaptive rule. `size` is the N that the grid was planned for, a
    statement of the curator (`size_declared`) or a noisy count bought with `size_epsilon`.
    `offset_epsilon` bought the offsets of the cells, if they have any.
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
    offset_epsilon: Epsilon = NOTHING

    def __post_init__(self) -> None:
        if self.grid.dimensions != self.domain.dimensions:
            raise InvalidSynopsis("The grid and the domain of a synopsis have the same dimensions.")
        if isinstance(self.cells, AdaptiveCells) and self.rule is not Rule.ADAPTIVE:
            raise InvalidSynopsis("Only the adaptive rule releases layers of cells.")
        if self.size_epsilon + self.offset_epsilon >= self.epsilon:
            raise InvalidSynopsis(
                "The size and the offsets of a synopsis were bought with a part of its epsilon, not with all of it."
            )
        offsets = self.cells.offsets
        if self.offset_law(len(self.grid.ordered_axes)) != (offsets and offsets.law):
            raise InvalidSynopsis("The sums of offsets of a synopsis were bought with its epsilon for offsets.")
        if isinstance(self.cells, AdaptiveCells) and self.rule is not Rule.ADAPTIVE:
            raise InvalidSynopsis("Layers of cells come from the adaptive rule alone.")

    @property
    def digest(self) -> str:
        """The digest of its canonical bytes, which are written anew for it."""
        return digest_of(self.to_bytes())

    def to_bytes(self) -> bytes:
        """A line that names the format, a line of canonical JSON, then the counts as little-endian 64-bit integers.

        With a threshold the numbers of the listed cells stand before their counts, in the same way. Format 1, that of
        version 0.1, serves whatever it can say: numbers alone, equally many cells on every axis, one record for a unit.
        Format 2 has the kinds of attributes, the cells of each axis and the unit. Format 3 is format 2 with offsets,
        where the header says how they were drawn and the sums of each listed cell follow the counts, or with `layers`:
        the counts are those of the base, of the coarse cells that were counted, and of the leaves (`core.adaptive`).
        """
        magic, header = _MAGIC % self._format, canonical_json(self._header())
        return magic + header + b"\n" + self.cells.to_bytes()

    @property
    def _format(self) -> int:
        if self.offset_epsilon or isinstance(self.cells, AdaptiveCells):
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
        header |= {"grid": {"cells": cells}, "unit": self.unit.to_json()}
        return header | {"offsets": _offsets_header(self.offset_epsilon)} if self.offset_epsilon else header

    @classmethod
    def _from_header(cls, header: dict[str, Any], integers: bytes) -> Synopsis:
        domain, grid = _domain_and_grid(header)
        threshold = _typed(header["threshold"], int) if "threshold" in header else None
        terms = _Terms(
            epsilon=Epsilon.parse(header["epsilon"]),
            size_epsilon=Epsilon.parse(header["size_epsilon"]),
            offset_epsilon=Epsilon.parse(header["offsets"]["epsilon"]) if "offsets" in header else NOTHING,
            unit=Unit.from_json(header.get("unit")),
        )
        cells: Cells
        if "layers" in header:
            laws = LayerLaws.of(terms.histogram_epsilon, terms.unit)
            law = terms.size_law
            bought = None if law is None else BoughtSize(_typed(header["size"], int), law)
            cells = AdaptiveCells.from_bytes(grid, laws, integers, header["layers"], bought)
        else:
            cells = cells_from_bytes(grid, integers, threshold, terms.offset_law(len(grid.ordered_axes)))
        return cls(
            dataset=_typed(header["dataset"], str),
            release=_typed(header["release"], str),
            domain=domain,
            cells=cells,
            epsilon=terms.epsilon,
            size_epsilon=terms.size_epsilon,
            offset_epsilon=terms.offset_epsilon,
            clusters=_typed(header["clusters"], int),
            rule=Rule(header["rule"]),
            out_of_range=OutOfRange(header["out_of_range"]),
            size=_typed(header["size"], int),
            size_declared=_typed(header["size_declared"], bool),
            unit=terms.unit,
        )


def digest_of(canonical: bytes) -> str:
    """The name of the synopsis with these canonical bytes: their SHA-256, in hexadecimal."""
    return sha256(canonical).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms(Charged):
    """How the charge of a synopsis was divided, as its header says."""

    epsilon: Epsilon
    size_epsilon: Epsilon
    offset_epsilon: Epsilon
    unit: Unit


@dataclass(frozen=True, slots=True)
class Outline:
    """What the first two lines of a synopsis say of its cells: where they lie, and which integers follow."""

    domain: Domain
    grid: Grid
    layered: bool
    thresholded: bool
    has_offsets: bool

    @classmethod
    def of(cls, header: str) -> Outline:
        """From the two lines. InvalidSynopsis where they are not those of a synopsis."""
        try:
            fields, _ = _split(header.encode("ascii"))
            return cls(*_domain_and_grid(fields), *(name in fields for name in ("layers", "threshold", "offsets")))
        except (CoreError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InvalidSynopsis("These lines are not the beginning of a rugnik synopsis.") from error


def _domain_and_grid(header: dict[str, Any]) -> tuple[Domain, Grid]:
    domain, written = Domain.from_json(header["domain"]), header["grid"]
    if "cells" in written:
        return domain, domain.grid([_typed(cells, int) for cells in written["cells"]])
    return domain, domain.grid(_typed(written["cells_per_axis"], int))


def _offsets_header(epsilon: Epsilon) -> dict[str, Any]:
    """What a reader of the sums needs; the canonical check refuses any other."""
    return {
        "epsilon": str(epsilon),
        "mechanism": OFFSET_MECHANISM,
        "steps": OFFSET_STEPS,
        "version": _OFFSETS_VERSION,
    }


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


def most_bytes(beginning: bytes) -> int | None:
    """The most bytes of a synopsis that begins like this, by the grid of its header, before any count is read.

    `beginning` holds the first two lines. None with layers: how many cells they have follows from the counts, and
    `Synopsis.from_bytes` compares as it goes. InvalidSynopsis where the header is none.
    """
    head = b"".join(beginning.split(b"\n", 2)[:2])
    try:
        header, _ = _split(beginning[: len(head) + 2])
        _, grid = _domain_and_grid(header)
    except (CoreError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidSynopsis("These bytes are no rugnik synopsis.") from error
    if "layers" in header:
        return None
    integers = 1  # for each cell
    if "threshold" in header:
        integers = 2 + ("offsets" in header) * len(grid.ordered_axes)
    return len(head) + 2 + 8 * integers * grid.cell_count
