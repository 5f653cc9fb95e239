"""Answers on the wire. These models describe the replies in the OpenAPI document; the bytes come from orjson."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, FiniteFloat

from app.http.schemas.base import Body
from app.http.schemas.orders import GridReply
from app.questions.questions import MAX_BOXES
from core.clustering.methods import Method
from core.intervals.levels import MAX_LEVEL

MAX_POINTS = 100_000
Level = Annotated[
    float,
    Field(
        gt=0, le=MAX_LEVEL, description=f"The probability that an interval is to hold with: above 0, up to {MAX_LEVEL}."
    ),
]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
WHERE = (
    "attribute:lower..upper, such as age:20..40; either end may be left out. The range is half-open, [lower, upper): a "
    "value equal to lower is counted, a value equal to upper is not, unless upper is the attribute's upper bound. A "
    "range that reaches beyond the bounds is cut to them; one that is empty or lies outside them is refused. Ranges of "
    "the same attribute intersect."
)
Where = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=64)]


class CountsBody(Body):
    """Many boxes at once, each a list of ranges like those of `where`."""

    boxes: Annotated[list[Where], Field(min_length=1, max_length=MAX_BOXES, description=f"Each range: {WHERE}")]
    level: Level = 0.95
    simultaneous: bool = False


class AssignBody(Body):
    """The analyst's own points, each with one number per attribute of the release."""

    points: Annotated[list[list[FiniteFloat]], Field(max_length=MAX_POINTS)]
    k: Annotated[int, Field(ge=1)]
    seed: Seed = 0
    method: Method = Method.POSTERIOR


class AnswerReply(BaseModel):
    """What every answer carries. Asking is post-processing: it spends nothing."""

    release: str
    synopsis_digest: str
    epsilon_spent: str
    question: str
    parameters: dict[str, Any]


class IntervalReply(BaseModel):
    """low to high, which covers the noise with probability `level` or more; of a count or a quantile, the grid too."""

    level: float
    low: float
    high: float


class EndsReply(BaseModel):
    """low to high."""

    low: float
    high: float


class NoiseReply(EndsReply):
    """low to high covers what the count would be without noise, cut cells by their share; `sd` is the noise's."""

    sd: float


class CountReply(AnswerReply):
    """A range count. `interval` covers the number of rows in the box: noise and cut cells together.

    Its parts: `noise` at the same level, and `discretisation`, the noisy count without, and with, all of the cells that
    the box cuts. An upper end on an edge between two cells counts as a cut of the cell above it, which holds the rows
    equal to that end. `snapped`, only with snap=true, has the edges that each range was moved to.
    """

    count: float
    interval: IntervalReply
    noise: NoiseReply
    discretisation: EndsReply
    snapped: dict[str, EndsReply] | None = None


class ManyEndsReply(BaseModel):
    """low and high for each box."""

    low: list[float]
    high: list[float]


class ManyNoiseReply(ManyEndsReply):
    """The interval and the standard deviation of the noise of each box."""

    sd: list[float]


class CountsReply(AnswerReply):
    """Range counts, one entry per box in each list. low to high covers noise and cut cells together."""

    counts: list[float]
    low: list[float]
    high: list[float]
    noise: ManyNoiseReply
    discretisation: ManyEndsReply


class AxisReply(BaseModel):
    """The cell edges of an attribute."""

    name: str
    edges: list[float]


class ReachReply(BaseModel):
    """count -+ each holds for one cell, count -+ all for every cell at once."""

    level: float
    each: float
    all: float


class SidesReply(BaseModel):
    """low and high of every cell, nested like the counts."""

    low: list[Any]
    high: list[Any]


class BoundsReply(BaseModel):
    """What the true count of one cell lies between, and of every cell at once."""

    level: float
    each: SidesReply
    all: SidesReply


class MarginalReply(AnswerReply):
    """A histogram: nested lists, the last attribute innermost. Of a thresholded release, with bounds for each cell.

    Where `cells` was asked for, `cells_summed` neighbours on each axis are one cell, the last one maybe fewer.
    """

    attributes: list[AxisReply]
    counts: list[Any]
    noise_sd: float | None
    reach: ReachReply | None
    bounds: BoundsReply | None
    cells_summed: int | None = None


class QuantileReply(BaseModel):
    """A quantile; its interval covers noise and cell width, `discretisation` is the cell it lies in."""

    q: float
    value: float
    interval: IntervalReply
    discretisation: EndsReply


class QuantilesReply(AnswerReply):
    """Quantiles of one attribute."""

    quantiles: list[QuantileReply]


class EstimateReply(BaseModel):
    """A value, or none where the noise leaves nothing to divide by, and its interval.

    A correlation has no value where a variance cannot be told from zero.
    """

    value: float | None
    interval: IntervalReply


class ShiftReply(BaseModel):
    """How far the grid can move a mean and a standard deviation."""

    mean: float
    sd: float


class AttributeMomentsReply(BaseModel):
    """Mean and variance of one attribute."""

    name: str
    mean: EstimateReply
    variance: EstimateReply
    discretisation: ShiftReply


class PairMomentsReply(BaseModel):
    """Covariance and correlation of two attributes."""

    attributes: list[str]
    covariance: EstimateReply
    correlation: EstimateReply


class MomentsReply(AnswerReply):
    """The moments of the gridded rows. `size` combines a bought size with the sum of all cells.

    Of a thresholded release, values are those of the listed cells, and intervals allow for all rows. A declared size
    bounds nothing there, so that without a bought one intervals may be as wide as the domain.
    """

    size: EstimateReply
    attributes: list[AttributeMomentsReply]
    pairs: list[PairMomentsReply]


class ClusterUncertainty(BaseModel):
    """What noise leaves certain of one cluster: an interval for each coordinate of its centre, and for its size.

    An interval covers the mean of the gridded rows around the centre. Where the centre lies elsewhere than that mean's
    estimate (it leaves out counts that look like noise, or was moved within its cell), the interval is widened to reach
    as far beyond the centre. A centre at an end of its interval is at a bound of the domain, or has no noise.

    Those of `region` hold for all coordinates together. `noise_probability`, that next to no rows are there, is null
    for methods without a model of the counts.
    """

    center: list[IntervalReply]
    region: list[IntervalReply]
    size: IntervalReply
    noise_probability: float | None


class MergeReply(BaseModel):
    """Two clusters, counted from 0, and the probability that the rows have one centre for both."""

    clusters: list[int]
    probability: float


class CentreShift(BaseModel):
    """How far the grid can move a centre, for each attribute."""

    center: list[float]


class ClustersReply(AnswerReply):
    """k clusters, the largest first, in the attributes' own units; `inertia` in [-1, 1]^d."""

    attributes: list[str]
    centers: list[list[float]]
    sizes: list[float]
    uncertainty: list[ClusterUncertainty]
    merges: list[MergeReply]
    discretisation: CentreShift
    inertia: float
    stability: float
    method: Method
    method_reason: str
    warnings: list[str]


class ScanLineReply(BaseModel):
    """One k."""

    k: int
    inertia: float
    stability: float


class ScanReply(AnswerReply):
    """Inertia and stability for each k."""

    scan: list[ScanLineReply]
    method: Method
    method_reason: str


class AssignReply(AnswerReply):
    """The number of the nearest centre for each point."""

    labels: list[int]
    centers: list[list[float]]
    method: Method
    method_reason: str


class SynopsisReply(AnswerReply):
    """The noisy histogram as drawn, the last attribute fastest. `reach` is as for a marginal.

    With a `threshold`, only cells whose noisy count reaches it, by number in `cells`; else every cell.
    """

    dataset: str
    grid: GridReply
    attributes: list[AxisReply]
    epsilon: str
    epsilon_histogram: str
    mechanism: str
    size: int
    size_declared: bool
    clusters: int
    rule: str
    out_of_range: str
    threshold: int | None
    cells: list[int] | None
    counts: list[int]
    noise_sd: float
    reach: ReachReply


class RowsReply(AnswerReply):
    """Synthetic rows, one number per attribute."""

    attributes: list[str]
    rows: list[list[float]]
