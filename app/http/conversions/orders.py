"""Orders and plans: the order of a body, and the reply with its forecast."""

from __future__ import annotations

from dataclasses import asdict, replace

from app.questions.encoding import grid_reply
from app.releases.datasets import Dataset, Schema
from app.releases.orders import ReleaseOrder, share_of
from app.releases.planning import BudgetAfter
from core.adaptive.cuts import LEAST_SIGNAL
from core.adaptive.shares import LayerLaws
from core.alternatives import ASSUMPTION, Comparison, Prediction, Purpose
from core.budget import Epsilon
from core.domain.axis import OFFSET_STEPS
from core.forecast import TYPICAL_SHARE, Forecast, epsilon_for_count_error, size_warning
from core.offsets import takes_offsets
from core.plan import DeclaredSize, EstimatedSize, Order, Rule
from core.records import OutOfRange
from rugnik import wire


def ordered(body: wire.OrderBody, schema: Dataset | Schema) -> ReleaseOrder:
    """The order of a body, without a guess of its size: an order is on record for ever."""
    order = replace(_order(body, schema, Epsilon.parse(body.epsilon)), label=body.label)
    if isinstance(order.size, EstimatedSize):
        return replace(order, size=replace(order.size, guess=None))
    return order


def planned(body: wire.PlanBody, schema: Dataset | Schema, *, max_cells: int) -> ReleaseOrder:
    """The order of a body; where it has a target, with the epsilon that reaches it."""
    if body.target is None:
        return _order(body, schema, Epsilon.parse(body.epsilon or ""))
    trial = _order(body, schema, Epsilon.parse("1")).order(schema.domain)
    epsilon = epsilon_for_count_error(trial, count_error=body.target.count_error, max_cells=max_cells)
    return _order(body, schema, epsilon)


def purpose_of(body: wire.PlanBody) -> Purpose:
    """What the release is mainly for: clusters, if the body does not say."""
    return Purpose(body.purpose or Purpose.CLUSTERS)


def _order(body: wire.TermsBody, schema: Dataset | Schema, epsilon: Epsilon) -> ReleaseOrder:
    names = tuple(body.attributes) if body.attributes is not None else schema.domain.names
    return ReleaseOrder(
        attributes=names,
        epsilon=epsilon,
        clusters=body.clusters,
        size=_size(body.size),
        rule=Rule(body.rule),
        out_of_range=OutOfRange(body.out_of_range),
        unit=schema.unit,
        offsets=takes_offsets(schema.domain.select(names).attributes) if body.offsets is None else body.offsets,
    )


def _size(body: wire.DeclaredBody | wire.EstimateBody) -> DeclaredSize | EstimatedSize:
    if isinstance(body, wire.DeclaredBody):
        return DeclaredSize(body.declared)
    return EstimatedSize(share=share_of(body.estimate), guess=body.guess)


def plan_reply(
    order: ReleaseOrder,
    schema: Schema,
    forecast: Forecast | None,
    comparison: Comparison | None,
    budget: BudgetAfter,
) -> wire.Plan:
    """An order, its forecast and the rules side by side; without a forecast, the advice to guess the size.

    No rules are compared, and none is recommended, for an order that cannot be paid.
    """
    terms = order.order(schema.domain)
    warnings = forecast.warnings if forecast else ("Add a guess to the size to see the grid and what to expect of it.",)
    further = (_unpaid(order.epsilon, budget), size_warning(terms))
    offered = comparison if budget.after is not None else None
    return wire.Plan(
        order=order.to_json(),
        grid=grid_reply(forecast.plan.grid, layered=forecast.plan.is_layered) if forecast else None,
        threshold=forecast.plan.threshold if forecast else None,
        noise=noise_reply(terms, layered=forecast.plan.is_layered if forecast else None),
        predicted=_predicted(forecast) if forecast else None,
        warnings=(*warnings, *(each for each in further if each is not None)),
        attributes=tuple(wire.AttributeCost(**asdict(each)) for each in forecast.costs) if forecast else (),
        people=tuple(wire.PersonCost(**asdict(each)) for each in forecast.people) if forecast else (),
        alternatives=_alternatives(offered) if offered else (),
        recommendation=_recommendation(offered) if offered else None,
        note=rule_note(terms, layered=forecast.plan.is_layered) if forecast else None,
        budget=wire.PlanBudget(
            remaining=str(budget.remaining), after=None if budget.after is None else str(budget.after)
        ),
    )


def _unpaid(epsilon: Epsilon, budget: BudgetAfter) -> str | None:
    """Why an order would be refused; None where it would not."""
    if budget.closed:
        return "The dataset is closed: it takes no more orders."
    if budget.after is None:
        return f"Not enough epsilon: the order takes {epsilon}, and {budget.remaining} is left. It would be refused."
    return None


def _alternatives(comparison: Comparison) -> tuple[wire.Alternative, ...]:
    return tuple(
        wire.Alternative(
            rule=each.rule,
            offsets=each.offsets,
            note=each.note,
            predictions=tuple(_prediction(picture) for picture in each.predictions),
        )
        for each in comparison.alternatives
    )


def _prediction(prediction: Prediction) -> wire.Prediction:
    counts = None
    if prediction.counts is not None:
        counts = tuple(wire.CountPrediction(**asdict(each), error=each.total) for each in prediction.counts)
    return wire.Prediction(
        occupied=prediction.occupied,
        cells=prediction.cells,
        counts=counts,
        expected_deviation=prediction.expected_deviation,
    )


def _recommendation(comparison: Comparison) -> wire.Recommendation:
    return wire.Recommendation(
        purpose=comparison.purpose.value,
        rule=comparison.recommended,
        offsets=comparison.offsets,
        reason=comparison.reason,
        assumption=ASSUMPTION,
    )


def rule_note(order: Order, *, layered: bool) -> str | None:
    """What the adaptive rule does with an order; None for other rules, which always do the same."""
    if order.rule is not Rule.ADAPTIVE:
        return None
    if layered:
        return "The cells of the base are cut further where noisy counts say that rows are many."
    return (
        f"Size x epsilon / clusters is below {LEAST_SIGNAL}, too little for cells that follow the rows: "
        "the grid of the rule rugnik serves instead."
    )


def noise_reply(order: Order, *, layered: bool | None) -> wire.Noise:
    """The noise of an order. Whether cells are `layered` is not known (None) before a size is bought.

    Then the noise of the adaptive rule is taken to be that of its leaves, which is wider than that of a grid.
    """
    law, size_law, offset_law = order.law, order.size_law, order.offset_law(len(order.shape.caps))
    if layered or (layered is None and order.rule is Rule.ADAPTIVE and LayerLaws.can_share(order.histogram_epsilon)):
        law = LayerLaws.of(order.histogram_epsilon, order.unit).leaf_cut
    return wire.Noise(
        mechanism=law.mechanism,
        epsilon_histogram=str(order.histogram_epsilon),
        epsilon_size=str(order.size_epsilon),
        cell_sd=law.standard_deviation,
        size_sd=size_law.standard_deviation if size_law else None,
        epsilon_offsets=str(order.offset_epsilon) if offset_law else None,
        offset_sd=offset_law.standard_deviation / OFFSET_STEPS if offset_law else None,
    )


def _predicted(forecast: Forecast) -> wire.Predicted:
    return wire.Predicted(
        size=forecast.plan.size,
        cell_error=forecast.cell_error,
        count_error=forecast.count_error,
        typical_range=TYPICAL_SHARE,
        expected_deviation=forecast.expected_deviation,
        theorem_range=forecast.theorem_range,
        inside_theorem=forecast.inside_theorem,
        memory_bytes=forecast.memory_bytes,
    )
