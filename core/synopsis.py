"""Synopsis: noisy counts with their grid and provenance; immutable, named by its digest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.budget import Epsilon
from core.canonical import canonical_json
from core.cells import Cells, cells_from_bytes
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.errors import CoreError, InvalidSynopsis
from core.mechanisms.discrete_laplace import MECHANISM, DiscreteLaplace
from core.mechanisms.law import NoiseLaw
from core.plan import Rule
from core.records import OutOfRange

_MAGIC = b"rugnik synopsis 1\n"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Synopsis:
    """What stage 1 leaves behind and stage 2 sees: public numbers and noisy counts, nothing else.

    `cells` are the noisy counts on their grid: `DenseCells` for every cell, `ThresholdedCells` for those that reach a
    threshold. `size` is the N that the grid was planned for, a statement of the curator (`size_declared`) or a noisy
    count bought with `size_epsilon`.
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

    def __post_init__(self) -> None:
        if self.grid.dimensions != self.domain.dimensions:
            raise InvalidSynopsis("The grid and the domain of a synopsis have the same dimensions.")
        if self.size_epsilon >= self.epsilon:
            raise InvalidSynopsis("The size of a synopsis was bought with a part of its epsilon, not with all of it.")

    @property
    def grid(self) -> Grid:
        """The grid of the cells."""
        return self.cells.grid

    @property
    def counts(self) -> NDArray[np.int64]:
        """The noisy counts of the listed cells, as drawn: signed, the last attribute fastest, read-only."""
        return self.cells.counts

    @property
    def threshold(self) -> int | None:
        """The least noisy count that is listed; None where every cell is listed."""
        return self.cells.threshold

    @property
    def histogram_epsilon(self) -> Epsilon:
        """What the cells were noised with."""
        return self.epsilon - self.size_epsilon

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise of each cell."""
        return DiscreteLaplace.at(self.histogram_epsilon)

    @property
    def size_law(self) -> NoiseLaw | None:
        """The law of the noise of a bought size; None where the size was declared."""
        return DiscreteLaplace.at(self.size_epsilon) if self.size_epsilon else None

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical bytes, in hexadecimal."""
        return sha256(self.to_bytes()).hexdigest()

    def to_bytes(self) -> bytes:
        """A line that names the format, a line of canonical JSON, then the counts as little-endian 64-bit integers.

        With a threshold the numbers of the listed cells stand before their counts, in the same way. This is format 1:
        it has uniform grids only, and any other raises ValueError.
        """
        return _MAGIC + canonical_json(self._header()) + b"\n" + self.cells.to_bytes()

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
        return self.cells.header() | {
            "clusters": self.clusters,
            "dataset": self.dataset,
            "domain": self.domain.to_json(),
            "epsilon": str(self.epsilon),
            "grid": {"cells_per_axis": self.grid.cells_per_axis, "dimensions": self.grid.dimensions},
            "mechanism": MECHANISM,
            "out_of_range": self.out_of_range.value,
            "release": self.release,
            "rule": self.rule.value,
            "size": self.size,
            "size_declared": self.size_declared,
            "size_epsilon": str(self.size_epsilon),
        }

    @classmethod
    def _from_header(cls, header: dict[str, Any], integers: bytes) -> Synopsis:
        domain = Domain.from_json(header["domain"])
        grid = domain.grid(_typed(header["grid"]["cells_per_axis"], int))
        threshold = _typed(header["threshold"], int) if "threshold" in header else None
        return cls(
            dataset=_typed(header["dataset"], str),
            release=_typed(header["release"], str),
            domain=domain,
            cells=cells_from_bytes(grid, integers, threshold),
            epsilon=Epsilon.parse(header["epsilon"]),
            size_epsilon=Epsilon.parse(header["size_epsilon"]),
            clusters=_typed(header["clusters"], int),
            rule=Rule(header["rule"]),
            out_of_range=OutOfRange(header["out_of_range"]),
            size=_typed(header["size"], int),
            size_declared=_typed(header["size_declared"], bool),
        )


_Kind = TypeVar("_Kind")


def _typed(value: Any, kind: type[_Kind]) -> _Kind:
    """A value of exactly this type: JSON has true where 1 was meant, and 1.0."""
    if type(value) is not kind:
        raise TypeError(kind.__name__)
    return value


def _split(data: bytes) -> tuple[dict[str, Any], bytes]:
    magic, rest = data[: len(_MAGIC)], data[len(_MAGIC) :]
    line, newline, integers = rest.partition(b"\n")
    if magic != _MAGIC or not newline:
        raise InvalidSynopsis("These bytes do not begin like a rugnik synopsis.")
    return json.loads(line), integers
