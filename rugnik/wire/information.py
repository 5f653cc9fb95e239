"""`information`: entropies of two attributes, and what each tells about the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rugnik.wire.base import Reply, frame
from rugnik.wire.common import Answer, Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeEntropy(Reply):
    """The entropy of one attribute over its cells, in bits: from 0 to the logarithm of their number."""

    name: str
    cells: int
    entropy: Estimate


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Information(Answer):
    """Entropies in bits over the rows with a value of both attributes, and their mutual information.

    All are those of the cells that were asked for. Values are corrected for the noise and kept within what is possible;
    they are not unbiased, least of all near zero. Each interval holds by itself. Where the noise leaves next to nothing
    certain, a value is null.
    """

    path: ClassVar[str] = "information"

    attributes: tuple[AttributeEntropy, ...]
    rows: Estimate
    joint_entropy: Estimate
    mutual_information: Estimate
    warnings: tuple[str, ...]

    def to_pandas(self) -> Any:
        """One row per number: the entropy of each attribute and of both, and their mutual information."""
        each = [
            *((f"entropy of {one.name}", one.entropy) for one in self.attributes),
            ("joint entropy", self.joint_entropy),
            ("mutual information", self.mutual_information),
        ]
        return frame(
            {
                "quantity": [name for name, _estimate in each],
                "bits": [estimate.value for _name, estimate in each],
                "low": [estimate.interval.low for _name, estimate in each],
                "high": [estimate.interval.high for _name, estimate in each],
            }
        )
