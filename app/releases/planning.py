"""Plan a release: what an order would give. Free, and no rows are involved."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from app.access.principal import Principal
from app.ledger.book import read_book
from app.releases import datasets
from app.releases.datasets import Schema
from app.releases.orders import ReleaseOrder
from app.service import Service
from core.alternatives import Comparison, Purpose, compare
from core.budget import Epsilon
from core.errors import InvalidOrder
from core.forecast import Forecast, forecast
from core.plan import Order
from core.queries.clusters import MAX_CLUSTERS


@dataclass(frozen=True, slots=True)
class BudgetAfter:
    """What is left of a budget, and what an order would leave of it: None where it would be refused."""

    remaining: Epsilon
    after: Epsilon | None
    closed: bool


def plan(service: Service, caller: Principal, dataset: str, wanted: ReleaseOrder) -> Forecast | None:
    """What an order would give; free, and no data is touched."""
    return forecast_order(service, datasets.get_schema(service, caller, dataset), wanted)


def compare_rules(
    service: Service, caller: Principal, dataset: str, wanted: ReleaseOrder, purpose: Purpose
) -> Comparison | None:
    """What each rule for the grid would give for an order; free, and no data is touched."""
    order = wanted.order(datasets.get_schema(service, caller, dataset).domain)
    return compare(order, purpose=purpose, max_cells=service.settings.max_cells)


def budget_after(service: Service, caller: Principal, dataset: str, epsilon: Epsilon) -> BudgetAfter:
    """What an order of this epsilon would leave; nothing is reserved."""
    with read_book(service) as book:
        account = datasets.find_account(book, caller, dataset)
        remaining, closed = book.budget(dataset).remaining, account.closed
    can_be_paid = not closed and epsilon <= remaining
    return BudgetAfter(remaining, remaining - epsilon if can_be_paid else None, closed)


def forecast_order(service: Service, schema: Schema, wanted: ReleaseOrder) -> Forecast | None:
    """The same for attributes of a schema; raises what is wrong with an order that no grid can serve."""
    if wanted.unit != schema.unit:
        raise InvalidOrder("An order has the privacy unit of its dataset.")
    return forecast_askable(wanted.order(schema.domain), max_cells=service.settings.max_cells)


def forecast_askable(order: Order, *, max_cells: int) -> Forecast | None:
    """What an order would give; raises what is wrong with one that no grid can serve, or no question can ask for."""
    expected = forecast(order, max_cells=max_cells)
    _require_askable(order)
    return expected


def _require_askable(order: Order) -> None:
    """Refuse an order for more clusters than any question may ask for. Old orders on record stay as they are."""
    if order.clusters > MAX_CLUSTERS:
        raise InvalidOrder(
            f"An order for {order.clusters:,} clusters: questions ask for {MAX_CLUSTERS} at most. Order no more."
        )
    caps = order.shape.caps
    values = [cap for cap in caps if cap is not None]
    if caps and len(values) == len(caps) and prod(values) < order.clusters:
        raise InvalidOrder(
            f"An order for {order.clusters:,} clusters: the attributes have {prod(values):,} different values in all, "
            "categories left out, and each cluster needs one. Order no more."
        )
