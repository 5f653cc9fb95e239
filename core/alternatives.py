"""Alternatives: what each rule for the grid would give for the same order, and which suits a purpose. Public numbers.

Where rows lie is private, so errors are predicted for two pictures (`core.predictions`): rows that fill the whole space
evenly, and rows that fill a sixteenth of it evenly. The recommendation weighs both alike. Neither is a statement about
the table at hand.

Offsets (`core.offsets`) tell where rows lie within cells. Rows that fill a cell evenly lie at its middle in the mean,
so in both pictures offsets only add noise, and what they are for is not in the prediction. From CHOICE_DIMENSIONS
ordered attributes on the recommendation for clusters is theirs by measurement, on rows made up for that question
(docs/methods/offsets.md). Counts keep every cell where that is possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf, isfinite, prod, sqrt

from core.adaptive.cuts import LEAST_SIGNAL, MAX_ORDERED
from core.adaptive_picture import adaptive_picture
from core.errors import InvalidOrder, TooManyCells
from core.offsets import CHOICE_DIMENSIONS, takes_offsets
from core.plan import DeclaredSize, EstimatedSize, Order, Plan, Rule, make_plan
from core.predictions import CountError, Layer, Picture, variance_of

COMPARED_SHARES = (0.01, 0.1)  # of the occupied part, that counts are predicted for
OCCUPIED = (1.0, 1 / 16)  # the pictures: the share of the space that the rows fill
_MEASURED = (  # `python -m bench.offsets` prints these figures
    "On made-up rows of four to six attributes (mixtures, crowded clusters, skewed values) the WCSS of the clusters "
    "was 0.52 of that without offsets in the geometric mean of 36 settings, and in one of them 1.24 of it. The "
    "predicted deviation does not show that, because it takes the rows of a cell to be spread evenly. In return cells "
    "have twice the noise, and those with few rows are not listed. For counts of ranges order without offsets."
)
_MARGIN = 0.95  # another rule than the default is recommended if its error is below this part of the default's
# The ranges at its end are the least and the largest that `python -m bench.predictions` printed; it prints both.
ASSUMPTION = (
    "Where the rows lie is private, so each rule is predicted twice: for rows that fill the whole space evenly, and "
    "for rows that fill one sixteenth of it evenly. Ranges lie where the rows are. The error of cut cells is taken as "
    "3.5 % of the rows in the cells on the border of a range (Qardaji et al. 2013). Real rows lie otherwise: on "
    "four public maps, whose rows crowd together, cut cells cost 1.5 to 185 times this with rugnik and eugkm, and 0.2 "
    "to 2.2 times with adaptive. The interval of an answer tells its own error."
)


class Purpose(StrEnum):
    """What a release is mainly for."""

    CLUSTERS = "clusters"
    COUNTS = "counts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A rule's cells and errors if the rows fill the share `occupied` of the space evenly.

    `counts` is None where a threshold leaves out cells, `expected_deviation` where no attribute is ordered.
    """

    occupied: float
    cells: int
    counts: tuple[CountError, ...] | None
    expected_deviation: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A rule with its predictions, one for each of OCCUPIED; none, and the reason as `note`, where it cannot serve."""

    rule: str
    predictions: tuple[Prediction, ...] = ()
    note: str | None = None
    offsets: bool = False

    @property
    def title(self) -> str:
        """The rule, and that it has offsets."""
        return f"{self.rule} with offsets" if self.offsets else self.rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All rules for an order, the one that is recommended for the purpose, with `offsets` or not, and why, in words."""

    alternatives: tuple[Alternative, ...]
    purpose: Purpose
    recommended: str
    offsets: bool
    reason: str


def compare(order: Order, *, purpose: Purpose, max_cells: int) -> Comparison | None:
    """The rules side by side; None where the size is estimated and no guess was given."""
    if isinstance(order.size, EstimatedSize) and order.size.guess is None:
        return None
    alternatives = tuple(_alternatives(order, max_cells))
    best, reason = _recommendation(alternatives, purpose, dimensions=len(order.shape.caps))
    return Comparison(
        alternatives=alternatives, purpose=purpose, recommended=best.rule, offsets=best.offsets, reason=reason
    )


def _alternatives(order: Order, max_cells: int) -> Iterator[Alternative]:
    """What an order that does not mention offsets would have comes first, and is the default."""
    usual = takes_offsets(order.attributes)
    yield _on_a_grid(order, Rule.RUGNIK, max_cells, offsets=usual)
    if len(order.shape.caps) >= CHOICE_DIMENSIONS or order.offsets:
        yield _on_a_grid(order, Rule.RUGNIK, max_cells, offsets=not usual)
    yield _on_a_grid(order, Rule.EUGKM, max_cells, offsets=usual)
    yield _adaptive(order, max_cells)


def _on_a_grid(order: Order, rule: Rule, max_cells: int, *, offsets: bool) -> Alternative:
    try:
        plan = _plan(order, rule, max_cells, offsets=offsets)
    except (TooManyCells, InvalidOrder) as error:  # the latter where the epsilon is too small to be shared
        return Alternative(rule=rule.value, note=str(error), offsets=offsets)
    predictions = tuple(_uniform(plan, occupied) for occupied in OCCUPIED)
    return Alternative(rule=rule.value, predictions=predictions, note=_threshold_note(plan), offsets=offsets)


def _plan(order: Order, rule: Rule, max_cells: int, *, offsets: bool = False) -> Plan:
    noisy_size = None if isinstance(order.size, DeclaredSize) else order.size.guess
    return make_plan(replace(order, rule=rule, offsets=offsets), max_cells=max_cells, noisy_size=noisy_size)


def _uniform(plan: Plan, occupied: float) -> Prediction:
    order, law = plan.order, plan.order.law
    m, combinations = plan.ordered_cells, order.shape.categories
    picture = Picture(
        size=plan.size,
        occupied=occupied,
        categories=combinations,
        leaves=Layer(cells=m, rate=law.rate),
        whole=_whole(m, order.shape.caps),
        empty_cells=(1 - occupied) * prod(m),
        empty_rate=law.rate,
    )
    if plan.threshold is not None:
        counts = None
    elif m:
        counts = tuple(picture.count_error(share, variance_of) for share in COMPARED_SHARES)
    else:  # ranges choose categories: whole cells
        noises = [sqrt(max(1.0, share * combinations) * law.variance) for share in COMPARED_SHARES]
        pairs = zip(COMPARED_SHARES, noises, strict=True)
        counts = tuple(CountError(share=share, noise=noise, discretisation=0.0) for share, noise in pairs)
    return Prediction(
        occupied=occupied,
        cells=plan.grid.cell_count,
        counts=counts,
        expected_deviation=picture.deviation(order.clusters) if m else None,
    )


def _threshold_note(plan: Plan) -> str | None:
    if plan.threshold is None:
        return None
    listed = (
        f"Only cells with a noisy count of at least {plan.threshold} are released: errors of counts are not predicted."
    )
    if not plan.order.offsets:
        return listed
    return (
        f"{listed} Half of the epsilon of the cells buys where their rows lie, which the k-means figure does not see."
    )


def _whole(cells: Sequence[float], caps: Sequence[int | None]) -> tuple[bool, ...]:
    """Whether each value of an axis has its own cell."""
    return tuple(cap is not None and m >= cap for m, cap in zip(cells, caps, strict=True))


def _adaptive(order: Order, max_cells: int) -> Alternative:
    rule, ordered = Rule.ADAPTIVE, len(order.shape.caps)
    if not 1 <= ordered <= MAX_ORDERED:
        note = f"It takes 1 to {MAX_ORDERED} attributes that are no categories; this order has {ordered}."
        return Alternative(rule=rule.value, note=note)
    try:
        plan = _plan(order, rule, max_cells)
    except (TooManyCells, InvalidOrder) as error:  # the latter where the epsilon is too small to be shared
        return Alternative(rule=rule.value, note=str(error))
    if plan.is_layered:
        return Alternative(
            rule=rule.value, predictions=tuple(_layered(plan, occupied, max_cells) for occupied in OCCUPIED)
        )
    return Alternative(
        rule=rule.value,
        predictions=tuple(_uniform(plan, occupied) for occupied in OCCUPIED),
        note=f"Size x epsilon / clusters is below {LEAST_SIGNAL}: the grid of the rule rugnik would be released.",
    )


def _layered(plan: Plan, occupied: float, max_cells: int) -> Prediction:
    picture = adaptive_picture(plan, occupied, max_cells=max_cells)
    return Prediction(
        occupied=occupied,
        cells=picture.cells,
        counts=tuple(picture.count_error(share, variance_of) for share in COMPARED_SHARES),
        expected_deviation=picture.deviation(plan.order.clusters),
    )


def _recommendation(
    alternatives: Sequence[Alternative], purpose: Purpose, *, dimensions: int
) -> tuple[Alternative, str]:
    """The alternative for the purpose, and why."""
    usable = [each for each in alternatives if each.predictions]
    if not usable:
        return alternatives[0], "No rule has a grid for this order that the limit on cells allows."
    default = usable[0]
    measured = [each for each in usable if each.rule == Rule.RUGNIK and each.offsets]
    if purpose is Purpose.CLUSTERS and dimensions >= CHOICE_DIMENSIONS and measured:
        return measured[0], f"For {purpose}: {measured[0].title}. {_MEASURED}"
    errors = [prod(_error(picture, purpose) for picture in each.predictions) for each in usable]
    best = usable[errors.index(min(errors))]
    if min(errors) == inf:
        return default, f"For {purpose}: {default.title}. Nothing can be predicted that tells the rules apart."
    if min(errors) >= _margin(purpose) * errors[0]:
        best = default
    return best, f"For {purpose}: {best.title}. {_words(best, default, usable, purpose)}"


def _error(prediction: Prediction, purpose: Purpose) -> float:
    """What is to be small: the deviation of k-means, or the product of the errors of counts."""
    if purpose is Purpose.CLUSTERS:
        return inf if prediction.expected_deviation is None else prediction.expected_deviation
    return inf if prediction.counts is None else prod(each.total for each in prediction.counts)


def _margin(purpose: Purpose) -> float:
    """_MARGIN for a product of so many errors: the comparison is one of geometric means."""
    factors = len(OCCUPIED) * (1 if purpose is Purpose.CLUSTERS else len(COMPARED_SHARES))
    return _MARGIN**factors


def _words(best: Alternative, default: Alternative, usable: Sequence[Alternative], purpose: Purpose) -> str:
    """A sentence with the predicted numbers of the recommended rule, beside those of the default or of the others."""
    others = [default] if best is not default else usable[1:]
    shown = [best, *(each for each in others if isfinite(_error(each.predictions[0], purpose)))]
    each = [f"{_figures(alternative, purpose)} with {alternative.title}" for alternative in shown]
    figures = each[0] if len(each) == 1 else f"{each[0]}, against {' and '.join(each[1:])}"
    subject = "deviation of k-means" if purpose is Purpose.CLUSTERS else "error of a count over 1 % of the space"
    return f"The predicted {subject} (rows everywhere / rows in a sixteenth) is {figures}."


def _figures(alternative: Alternative, purpose: Purpose) -> str:
    """The figures of both pictures."""
    return " / ".join(_figure(prediction, purpose) for prediction in alternative.predictions)


def _figure(prediction: Prediction, purpose: Purpose) -> str:
    if purpose is Purpose.CLUSTERS:
        deviation = prediction.expected_deviation
        return "unknown" if deviation is None else _short(deviation)
    return "unknown" if prediction.counts is None else _short(prediction.counts[0].total)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
