"""/v1/datasets: register, list, look at, grant, close, and the two-person rule."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from app.http.callers import Anyone, Curator, CurrentService, Decider, Grantor
from app.http.conversions.datasets import about_texts, dataset_reply, domain_of, unit_of
from app.http.conversions.requests import WAITS, waiting_response
from app.http.paging import Limit, page
from app.http.parameters import Name
from app.http.problems import declared
from app.http.wire_route import WireRoute
from app.releases import datasets, deciding
from app.releases.requests import Request
from core.budget import Epsilon
from rugnik.wire import Dataset, DatasetBody, DatasetList, GrantBody, RuleBody
from rugnik.wire.limits import NO_CONTROL

router = APIRouter(prefix="/v1/datasets", tags=["datasets"], route_class=WireRoute)


@router.post("", status_code=201, responses=declared(409))
def register(service: CurrentService, caller: Curator, body: DatasetBody) -> Dataset:
    """Register a population: public attributes and bounds, and the most epsilon it may ever lose."""
    dataset = datasets.register(
        service,
        caller,
        name=body.name,
        description=body.description,
        domain=domain_of(body),
        budget=Epsilon.parse(body.budget),
        unit=unit_of(body),
        two_persons_above=_threshold(body.two_persons_above),
        about=about_texts(body),
    )
    return dataset_reply(dataset)


@router.get("", responses=declared())
def list_datasets(
    service: CurrentService,
    caller: Anyone,
    after: Annotated[str, Query(max_length=64, pattern=NO_CONTROL, description="Datasets after this name.")] = "",
    limit: Limit = 100,
) -> DatasetList:
    """List the datasets that this key may see, by name, each as `GET /v1/datasets/{name}` shows it."""
    listed = datasets.list_all(service, caller, after=after, limit=limit + 1)
    shown, following = page(listed, [dataset.name for dataset in listed], limit)
    return DatasetList(datasets=tuple(dataset_reply(dataset) for dataset in shown), next=following)


@router.get("/{name}", responses=declared(404))
def get_dataset(service: CurrentService, caller: Anyone, name: Name) -> Dataset:
    """Look at one dataset: schema, budget, and its newest releases; to an analyst, published ones only."""
    return dataset_reply(datasets.get(service, caller, name))


@router.post("/{name}/grants", status_code=201, response_model=Dataset, responses=declared(404, 409) | WAITS)
def grant(service: CurrentService, caller: Grantor, name: Name, body: GrantBody) -> Dataset | Response:
    """Raise a dataset's budget, on the record. 202 above its two-person rule: the grant waits for another key."""
    granted = datasets.grant(service, caller, name, epsilon=Epsilon.parse(body.epsilon), reason=body.reason)
    return waiting_response(granted) if isinstance(granted, Request) else dataset_reply(granted)


@router.post("/{name}/close", responses=declared(404, 409))
def close(service: CurrentService, caller: Curator, name: Name) -> Dataset:
    """Close a dataset for good: no more grants, orders or uploads. Voids still work, and so do all answers."""
    return dataset_reply(datasets.close(service, caller, name))


@router.post("/{name}/rule", response_model=Dataset, responses=declared(404, 409) | WAITS)
def set_rule(service: CurrentService, caller: Decider, name: Name, body: RuleBody) -> Dataset | Response:
    """Set the two-person rule: the epsilon above which orders, grants and voids take two keys.

    To set or to lower it takes one key. To raise or to remove it takes two: 202, and it waits for another key.
    """
    ruled = deciding.set_rule(service, caller, name, _threshold(body.above))
    return waiting_response(ruled) if isinstance(ruled, Request) else dataset_reply(ruled)


def _threshold(above: str | None) -> Epsilon | None:
    return None if above is None else Epsilon.parse(above)
