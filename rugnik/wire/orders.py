"""Orders, and plans: what an order would give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from rugnik.wire.alternatives import Alternative, Recommendation
from rugnik.wire.base import Body, Reply
from rugnik.wire.common import Grid
from rugnik.wire.limits import MAX_DIMENSIONS, MAX_LABEL, Doc, EpsilonText, Limits, Line, Whole, one_of

Note = Annotated[
    str | None,
    Doc("Of the adaptive rule: whether its cells are cut, or the grid of the paper serves instead, and why."),
]
Threshold = Annotated[int | None, Doc("Only cells whose noisy count reaches it are released; null: every cell.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredBody(Body):
    """A size that is public anyway."""

    declared: Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateBody(Body):
    """A size that is bought with a share of the epsilon; the guess serves predictions only."""

    estimate: EpsilonText = "0.05"
    guess: Whole | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetBody(Body):
    """What to solve for when epsilon is not given."""

    count_error: Annotated[float, Limits(gt=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsBody(Body):
    """What an order and a plan have in common; without attributes, all of the dataset's."""

    attributes: Annotated[list[str], Limits(min_length=1, max_length=MAX_DIMENSIONS)] | None = None
    clusters: Whole
    size: DeclaredBody | EstimateBody = EstimateBody()
    rule: Annotated[
        str, one_of("rugnik", "eugkm", "adaptive"), Doc("How the number of cells follows from the public numbers.")
    ] = "rugnik"
    out_of_range: Annotated[
        str, one_of("clip", "drop"), Doc("What becomes of a row with a value outside the public bounds.")
    ] = "clip"
    offsets: Annotated[
        bool | None,
        Doc(
            "Whether half of the epsilon of the cells buys the mean place of the rows of each listed cell. Clusters "
            "gain. Counts of ranges lose: only cells whose noisy count reaches a threshold are listed. It takes four "
            "attributes, and not the rule adaptive. Without it: from seven attributes on that are no categories."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderBody(TermsBody):
    """A release to charge for. A guess of its size is taken and left out: an order is on record for ever."""

    epsilon: EpsilonText
    label: Annotated[
        Annotated[Line, Limits(min_length=1, max_length=MAX_LABEL)] | None,
        Doc(
            "A name for people, such as 2026-Q3: public, and on record for ever. Write nothing in it that you learned "
            "from the rows."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBody(TermsBody):
    """An order to try for nothing, or the error to reach in place of its epsilon."""

    epsilon: EpsilonText | None = None
    target: TargetBody | None = None
    purpose: Annotated[
        Annotated[str, one_of("clusters", "counts")] | None,
        Doc("What the release is mainly for; clusters if it is not said. Only the recommendation depends on it."),
    ] = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.target is None):
            raise ValueError("give either epsilon or target")


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise(Reply):
    """How the noise is drawn and what it does to one cell."""

    mechanism: str
    epsilon_histogram: str
    epsilon_size: str
    cell_sd: Annotated[
        float,
        Doc(
            "Of a count. Of the adaptive rule: of a leaf below a base cell that was cut, unless a grid serves instead."
        ),
    ]
    size_sd: float | None
    epsilon_offsets: Annotated[
        str | None, Doc("What the sums of offsets are bought with; left out where there are none.")
    ] = None
    offset_sd: Annotated[
        float | None,
        Doc("The standard deviation of the noise of a sum of offsets, in rows that lie at the edge of their cell."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted(Reply):
    """What to expect, at 95 % and from noise alone; cells that a range cuts come on top."""

    size: Annotated[int, Doc("The size that the prediction is for: declared or guessed.")]
    cell_error: Annotated[int, Doc("95 % of cells are off by at most this.")]
    count_error: Annotated[
        float | None, Doc("95 % of counts over a typical range are off by at most this; unknown with a threshold.")
    ]
    typical_range: Annotated[float, Doc("The share of the cells that a typical range covers.")]
    expected_deviation: Annotated[
        float | None,
        Doc("The paper's bound d h(m) / K on the K-means objective, in [-1, 1]^d; null where all are categories."),
    ]
    theorem_range: Annotated[
        tuple[float, float] | None,
        Doc("The epsilons for which Theorem 2 bounds the cells; null where not all attributes are numbers."),
    ]
    inside_theorem: bool | None
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeCost(Reply):
    """What an attribute does to the grid."""

    name: str
    cells: Annotated[int, Doc("Its cells, that of missing values included.")]
    note: Annotated[str, Doc('In words, such as "sex multiplies cells by 3".')]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonCost(Reply):
    """The noise if at most `max_rows` rows of each person were counted."""

    max_rows: int
    cell_sd: float
    count_error: Annotated[float | None, Doc("As predicted for the grid of that noise; unknown with a threshold.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBudget(Reply):
    """What is left of the dataset's budget, and what the order would leave of it. A plan reserves nothing."""

    remaining: str
    after: Annotated[str | None, Doc("Null if the order cannot be paid, or the dataset is closed.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan(Reply):
    """A dry run of an order. Grid and prediction are null where the size is estimated and no guess was given."""

    order: Mapping[str, Any]
    grid: Grid | None
    threshold: Threshold
    noise: Noise
    predicted: Predicted | None
    warnings: tuple[str, ...]
    attributes: Annotated[
        tuple[AttributeCost, ...],
        Doc("What each attribute costs; left out where all are numbers, which cost as much."),
    ] = ()
    people: Annotated[
        tuple[PersonCost, ...], Doc("What counting more or fewer rows of each person costs; left out for records.")
    ] = ()
    alternatives: Annotated[
        tuple[Alternative, ...],
        Doc("The rules for the grid side by side; left out where there is no prediction, or the order cannot be paid."),
    ] = ()
    recommendation: Annotated[
        Recommendation | None, Doc("The rule for the purpose; left out where there are no alternatives.")
    ] = None
    note: Note = None
    budget: Annotated[PlanBudget | None, Doc("What the order would leave.")] = None
