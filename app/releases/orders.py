"""A curator's order as a value and as canonical JSON: what is compared, charged, stored and recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from core.budget import NANO, Epsilon
from core.domain.domain import Domain
from core.plan import DeclaredSize, EstimatedSize, Order, Rule
from core.records import OutOfRange
from core.unit import RECORD, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOrder:
    """What the curator asks of one release: which attributes, on what terms. The unit is that of the dataset.

    `offsets` is the curator's choice or, where it is not said, follows from the attributes when the order is placed
    (`core.offsets.takes_offsets`). It is on record: an order without it, old or new, has none. `label` is a public name
    for people; nothing follows from it.
    """

    attributes: tuple[str, ...]
    epsilon: Epsilon
    clusters: int
    size: DeclaredSize | EstimatedSize
    rule: Rule
    out_of_range: OutOfRange
    unit: Unit = RECORD
    offsets: bool = False
    label: str | None = None

    def order(self, domain: Domain) -> Order:
        """What a grid follows from, with the attributes as `domain` declares them; refused here if no grid could.

        `domain` is that of the dataset, or any that has the attributes of the order.
        """
        return Order(
            attributes=domain.select(self.attributes).attributes,
            epsilon=self.epsilon,
            clusters=self.clusters,
            size=self.size,
            rule=self.rule,
            unit=self.unit,
            offsets=self.offsets,
        )

    @property
    def is_declared(self) -> bool:
        """Whether the size is the curator's statement, so that the grid is known before the upload."""
        return isinstance(self.size, DeclaredSize)

    def to_json(self) -> dict[str, Any]:
        """The order as the API shows it and the ledger records it: no floats and no guess, which serves plans."""
        offsets = {"offsets": True} if self.offsets else {}
        label = {} if self.label is None else {"label": self.label}  # no key: orders without one keep their bytes
        return {
            "attributes": list(self.attributes),
            "epsilon": str(self.epsilon),
            "clusters": self.clusters,
            "size": _size_json(self.size),
            "rule": self.rule.value,
            "out_of_range": self.out_of_range.value,
            "unit": self.unit.to_json(),
            **offsets,
            **label,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> ReleaseOrder:
        """The order that `to_json` wrote; orders of version 0.1 have no unit, which was always a record."""
        return cls(
            attributes=tuple(stored["attributes"]),
            epsilon=Epsilon.parse(stored["epsilon"]),
            clusters=stored["clusters"],
            size=_size_of(stored["size"]),
            rule=Rule(stored["rule"]),
            out_of_range=OutOfRange(stored["out_of_range"]),
            unit=Unit.from_json(stored.get("unit")),
            offsets=stored.get("offsets", False) is True,
            label=stored.get("label"),
        )


def share_of(text: str) -> Fraction:
    """A share of epsilon, written like an epsilon: at most nine decimal places, exact."""
    return Fraction(Epsilon.parse(text).nano, NANO)


def _size_json(size: DeclaredSize | EstimatedSize) -> dict[str, Any]:
    if isinstance(size, DeclaredSize):
        return {"declared": size.size}
    share = str(Epsilon(size.share.numerator * NANO // size.share.denominator))
    return {"estimate": share}


def _size_of(stored: dict[str, Any]) -> DeclaredSize | EstimatedSize:
    if "declared" in stored:
        return DeclaredSize(stored["declared"])
    return EstimatedSize(share=share_of(stored["estimate"]))  # orders of version 0.1 may have a guess as well
