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
from core.domain.domain import Attribute, Domain
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

    `counts` are as drawn: signed, one for each cell, the last attribute fastest. `size` is the N that the grid was
    planned for, a statement of the curator (`size_declared`) or a noisy count bought with `size_epsilon`.

    A thresholded synopsis lists only the cells whose noisy count is at least `threshold`: their numbers, ascending, in
    `cells`, and their counts in `counts`. Without a threshold `cells` is None: every cell has its count.
    """

    dataset: str
    release: str
    domain: Domain
    grid: Grid
    epsilon: Epsilon
    size_epsilon: Epsilon
    clusters: int
    rule: Rule
    out_of_range: OutOfRange
    size: int
    size_declared: bool
    counts: NDArray[np.int64]
    threshold: int | None = None
    cells: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.grid.dimensions != self.domain.dimensions:
            raise InvalidSynopsis("The grid and the domain of a synopsis have the same dimensions.")
        if self.size_epsilon >= self.epsilon:
            raise InvalidSynopsis("The size of a synopsis was bought with a part of its epsilon, not with all of it.")
        if (self.threshold is None) != (self.cells is None):
            raise InvalidSynopsis("A synopsis lists its cells if, and only if, it has a threshold.")
        listed = self.grid.cell_count if self.cells is None else len(self.cells)
        if self.counts.shape != (listed,) or self.counts.dtype != np.int64:
            raise InvalidSynopsis("A synopsis has one 64-bit integer for each of its cells.")
        # An array over bytes, unlike a copy with its flag cleared, cannot be made writeable again.
        object.__setattr__(self, "counts", np.frombuffer(self.counts.tobytes(), dtype=np.int64))
        if self.cells is not None and self.threshold is not None:
            self._check_cells(self.cells, self.threshold)
            object.__setattr__(self, "cells", np.frombuffer(self.cells.tobytes(), dtype=np.int64))

    def _check_cells(self, cells: NDArray[np.int64], threshold: int) -> None:
        if cells.ndim != 1 or cells.dtype != np.int64:
            raise InvalidSynopsis("The cells of a synopsis are 64-bit integers.")
        if threshold < 1 or bool((self.counts < threshold).any()):
            raise InvalidSynopsis("A thresholded synopsis lists no count below its threshold, which is at least 1.")
        ascend = bool((cells[1:] > cells[:-1]).all())
        if len(cells) and not (ascend and cells[0] >= 0 and cells[-1] < self.grid.cell_count):
            raise InvalidSynopsis("The cells of a synopsis ascend, and lie on its grid.")

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

        With a threshold the numbers of the listed cells stand before their counts, in the same way.
        """
        listed = b"" if self.cells is None else self.cells.astype("<i8").tobytes()
        return _MAGIC + canonical_json(self._header()) + b"\n" + listed + self.counts.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Synopsis:
        """The synopsis whose canonical bytes these are; anything else is refused."""
        try:
            header, counts = _split(data)
            synopsis = cls._from_header(header, np.frombuffer(counts, dtype="<i8").astype(np.int64))
            canonical = synopsis.to_bytes() == data
        except (CoreError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InvalidSynopsis("These bytes are no rugnik synopsis.") from error
        if not canonical:
            raise InvalidSynopsis("These bytes are a rugnik synopsis that is not in its canonical form.")
        return synopsis

    def _header(self) -> dict[str, Any]:
        threshold = {} if self.threshold is None else {"threshold": self.threshold}
        return threshold | {
            "clusters": self.clusters,
            "dataset": self.dataset,
            "domain": [[a.name, a.lower, a.upper] for a in self.domain.attributes],
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
    def _from_header(cls, header: dict[str, Any], numbers: NDArray[np.int64]) -> Synopsis:
        threshold = _typed(header["threshold"], int) if "threshold" in header else None
        cells, counts = (None, numbers) if threshold is None else np.split(numbers, 2)
        return cls(
            dataset=_typed(header["dataset"], str),
            release=_typed(header["release"], str),
            domain=Domain(tuple(Attribute(*attribute) for attribute in header["domain"])),
            grid=Grid(**{name: _typed(value, int) for name, value in header["grid"].items()}),
            epsilon=Epsilon.parse(header["epsilon"]),
            size_epsilon=Epsilon.parse(header["size_epsilon"]),
            clusters=_typed(header["clusters"], int),
            rule=Rule(header["rule"]),
            out_of_range=OutOfRange(header["out_of_range"]),
            size=_typed(header["size"], int),
            size_declared=_typed(header["size_declared"], bool),
            counts=counts,
            threshold=threshold,
            cells=cells,
        )


_Kind = TypeVar("_Kind")


def _typed(value: Any, kind: type[_Kind]) -> _Kind:
    """A value of exactly this type: JSON has true where 1 was meant, and 1.0."""
    if type(value) is not kind:
        raise TypeError(kind.__name__)
    return value


def _split(data: bytes) -> tuple[dict[str, Any], bytes]:
    magic, rest = data[: len(_MAGIC)], data[len(_MAGIC) :]
    line, newline, counts = rest.partition(b"\n")
    if magic != _MAGIC or not newline:
        raise InvalidSynopsis("These bytes do not begin like a rugnik synopsis.")
    return json.loads(line), counts
