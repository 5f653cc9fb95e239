"""Alternatives: what each rule for the grid would give for the same order, and which suits a purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rugnik.wire.base import Reply
from rugnik.wire.limits import Doc

WithOffsets = Annotated[
    bool, Doc("Whether offsets are bought with it: the `offsets` of the order to place. Left out where they are not.")
]
Rows = Annotated[float, Doc("Root mean square error, in rows.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountPrediction(Reply):
    """The predicted error of a count over a range in the part of the space that the rows fill."""

    share: Annotated[float, Doc("The share of that part that the range covers.")]
    noise: Rows
    discretisation: Annotated[float, Doc("From cells that the range cuts: root mean square error, in rows.")]
    error: Annotated[float, Doc("Noise and cut cells together: root mean square error, in rows.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction(Reply):
    """What a rule would give if the rows filled a share of the space evenly."""

    occupied: Annotated[float, Doc("The share of the space that the rows are taken to fill.")]
    cells: Annotated[int, Doc("Of the grid; for adaptive the expected number.")]
    counts: Annotated[
        tuple[CountPrediction, ...] | None, Doc("Errors of counts; null where a threshold leaves out cells.")
    ]
    expected_deviation: Annotated[
        float | None,
        Doc("The bound d h / K on the K-means objective, in [-1, 1]^d; null where all attributes are categories."),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative(Reply):
    """A rule for the grid, with or without offsets, for the same order."""

    rule: str
    note: Annotated[str | None, Doc("Why it cannot serve, or what to know about it.")]
    predictions: Annotated[
        tuple[Prediction, ...], Doc("For rows that fill all of the space, and a part; empty where it cannot serve.")
    ]
    offsets: WithOffsets = False

    @property
    def title(self) -> str:
        """The rule, and that it has offsets."""
        return f"{self.rule} with offsets" if self.offsets else self.rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(Reply):
    """The rule that suits a purpose by its predictions."""

    purpose: str
    rule: str
    reason: Annotated[str, Doc("In words, with the predicted numbers.")]
    assumption: Annotated[str, Doc("What the predictions assume, in words.")]
    offsets: WithOffsets = False
