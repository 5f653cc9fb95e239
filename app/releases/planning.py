"""Plan a release: what an order would give. Free, and no rows are involved."""

from __future__ import annotations

from app.access.principal import Principal
from app.releases import datasets
from app.releases.datasets import Schema
from app.releases.orders import ReleaseOrder
from app.service import Service
from core.alternatives import Comparison, Purpose, compare
from core.errors import InvalidOrder
from core.forecast import Forecast, forecast


def plan(service: Service, caller: Principal, dataset: str, wanted: ReleaseOrder) -> Forecast | None:
    """What an order would give; free, and no data is touched."""
    return forecast_order(service, datasets.get_schema(service, caller, dataset), wanted)


def compare_rules(
    service: Service, caller: Principal, dataset: str, wanted: ReleaseOrder, purpose: Purpose
) -> Comparison | None:
    """What each rule for the grid would give for an order; free, and no data is touched."""
    order = wanted.order(datasets.get_schema(service, caller, dataset).domain)
    return compare(order, purpose=purpose, max_cells=service.settings.max_cells)


def forecast_order(service: Service, schema: Schema, wanted: ReleaseOrder) -> Forecast | None:
    """The same for attributes of a schema; raises what is wrong with an order that no grid can serve."""
    if wanted.unit != schema.unit:
        raise InvalidOrder("An order has the privacy unit of its dataset.")
    return forecast(wanted.order(schema.domain), max_cells=service.settings.max_cells)
