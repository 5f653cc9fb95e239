"""Orders and plans on the wire."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, FiniteFloat, model_validator

from app.http.schemas.base import Body, EpsilonText, Whole
from app.releases.orders import ReleaseOrder, share_of
from core.budget import Epsilon
from core.domain.domain import Domain
from core.domain.grid import MAX_DIMENSIONS, Grid
from core.forecast import TYPICAL_SHARE, Forecast, epsilon_for_count_error, size_warning
from core.mechanisms.discrete_laplace import MECHANISM, DiscreteLaplace
from core.plan import DeclaredSize, EstimatedSize, Rule
from core.records import OutOfRange


class DeclaredBody(Body):
    """A size that is public anyway."""

    declared: Whole


class EstimateBody(Body):
    """A size that is bought with a share of the epsilon; the guess serves predictions only."""

    estimate: EpsilonText = "0.05"
    guess: Whole | None = None


class TargetBody(Body):
    """What to solve for when epsilon is not given."""

    count_error: Annotated[FiniteFloat, Field(gt=0)]


class TermsBody(Body):
    """What an order and a plan have in common; without attributes, all of the dataset's."""

    attributes: Annotated[list[str], Field(min_length=1, max_length=MAX_DIMENSIONS)] | None = None
    clusters: Whole
    size: DeclaredBody | EstimateBody = EstimateBody()
    rule: Rule = Rule.RUGNIK
    out_of_range: OutOfRange = OutOfRange.CLIP

    def _with_epsilon(self, domain: Domain, epsilon: Epsilon) -> ReleaseOrder:
        return ReleaseOrder(
            attributes=tuple(self.attributes) if self.attributes is not None else domain.names,
            epsilon=epsilon,
            clusters=self.clusters,
            size=self._size(),
            rule=self.rule,
            out_of_range=self.out_of_range,
        )

    def _size(self) -> DeclaredSize | EstimatedSize:
        if isinstance(self.size, DeclaredBody):
            return DeclaredSize(self.size.declared)
        return EstimatedSize(share=share_of(self.size.estimate), guess=self.size.guess)


class OrderBody(TermsBody):
    """A release to charge for. A guess of its size is taken and left out: an order is on record for ever."""

    epsilon: EpsilonText

    def to_order(self, domain: Domain) -> ReleaseOrder:
        """The order as a value."""
        order = self._with_epsilon(domain, Epsilon.parse(self.epsilon))
        if isinstance(order.size, EstimatedSize):
            return replace(order, size=replace(order.size, guess=None))
        return order


class PlanBody(TermsBody):
    """An order to try for nothing, or the error to reach in place of its epsilon."""

    epsilon: EpsilonText | None = None
    target: TargetBody | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.epsilon is None) == (self.target is None):
            raise ValueError("give either epsilon or target")
        return self

    def to_order(self, domain: Domain, *, max_cells: int) -> ReleaseOrder:
        """The order as a value, its epsilon solved for where a target was given."""
        if self.epsilon is not None:
            return self._with_epsilon(domain, Epsilon.parse(self.epsilon))
        assert self.target is not None  # noqa: S101 - the validator saw to it
        trial = self._with_epsilon(domain, Epsilon.parse("1")).order
        solved = epsilon_for_count_error(trial, count_error=self.target.count_error, max_cells=max_cells)
        return self._with_epsilon(domain, solved)


class GridReply(BaseModel):
    """m cells on each of d axes."""

    cells_per_axis: int
    dimensions: int
    cells: int

    @classmethod
    def of(cls, grid: Grid) -> GridReply:
        """From a Grid."""
        return cls(cells_per_axis=grid.cells_per_axis, dimensions=grid.dimensions, cells=grid.cell_count)


class NoiseReply(BaseModel):
    """How the noise is drawn and what it does to one cell."""

    mechanism: str
    epsilon_histogram: str
    epsilon_size: str
    cell_sd: float
    size_sd: float | None

    @classmethod
    def of(cls, order: ReleaseOrder) -> NoiseReply:
        """From an order: noise follows from epsilon alone."""
        terms = order.order
        return cls(
            mechanism=MECHANISM,
            epsilon_histogram=str(terms.histogram_epsilon),
            epsilon_size=str(terms.size_epsilon),
            cell_sd=DiscreteLaplace.at(terms.histogram_epsilon).standard_deviation,
            size_sd=DiscreteLaplace.at(terms.size_epsilon).standard_deviation if terms.size_epsilon else None,
        )


class PredictedReply(BaseModel):
    """What to expect, at 95 % and from noise alone; cells that a range cuts come on top."""

    size: int = Field(description="The size that the prediction is for: declared or guessed.")
    cell_error: int = Field(description="95 % of cells are off by at most this.")
    count_error: float | None = Field(
        description="95 % of counts over a typical range are off by at most this; unknown with a threshold."
    )
    typical_range: float = Field(description="The share of the cells that a typical range covers.")
    expected_deviation: float = Field(
        description="The paper's bound d h(m) / K on the K-means objective, in [-1, 1]^d."
    )
    theorem_range: tuple[float, float] = Field(description="The epsilons for which Theorem 2 bounds the cells.")
    inside_theorem: bool
    memory_bytes: int

    @classmethod
    def of(cls, found: Forecast) -> PredictedReply:
        """From a Forecast."""
        return cls(
            size=found.plan.size,
            cell_error=found.cell_error,
            count_error=found.count_error,
            typical_range=TYPICAL_SHARE,
            expected_deviation=found.expected_deviation,
            theorem_range=(found.epsilon_low, found.epsilon_high),
            inside_theorem=found.inside_theorem,
            memory_bytes=found.memory_bytes,
        )


class PlanReply(BaseModel):
    """A dry run of an order. Grid and prediction are missing where the size is estimated and no guess was given."""

    order: dict[str, Any]
    grid: GridReply | None
    threshold: int | None = Field(description="Only cells whose noisy count reaches it are released; null: every cell.")
    noise: NoiseReply
    predicted: PredictedReply | None
    warnings: list[str]

    @classmethod
    def of(cls, order: ReleaseOrder, found: Forecast | None) -> PlanReply:
        """From an order and its forecast."""
        warnings = (
            list(found.warnings) if found else ["Add a guess to the size to see the grid and what to expect of it."]
        )
        declared = size_warning(order.order)
        return cls(
            order=order.to_json(),
            grid=GridReply.of(found.plan.grid) if found else None,
            threshold=found.plan.threshold if found else None,
            noise=NoiseReply.of(order),
            predicted=PredictedReply.of(found) if found else None,
            warnings=warnings + ([declared] if declared else []),
        )
