"""The terms of an order, judged on this machine as the service would: before a dataset is registered for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from app.cli.checking import domain_of, settings_here
from app.cli.exits import Code, fail

if TYPE_CHECKING:
    from app.cli.schema import Schema


def require_fit(bounds: Schema, terms: Mapping[str, Any]) -> None:
    """End the command if the service would refuse an order with these terms for a dataset of these bounds.

    A dataset is registered for ever, so that nothing may be left to say about its first order. The limit on cells is
    that of this machine's settings.
    """
    from pydantic import TypeAdapter, ValidationError

    from app.http.conversions.orders import ordered
    from app.problems import invalid_request
    from app.releases.datasets import Schema as Registered
    from app.releases.planning import forecast_askable
    from core.errors import CoreError
    from core.unit import Unit
    from rugnik.wire import OrderBody

    domain = domain_of(bounds)
    _require_decimals(terms)
    try:
        body = TypeAdapter(OrderBody).validate_python(_body(terms))
        schema = Registered(domain, Unit.from_json(bounds.unit))
        forecast_askable(ordered(body, schema).order(domain), max_cells=settings_here().max_cells)
    except ValidationError as error:
        detail = invalid_request([{**each, "loc": ("body", *each["loc"])} for each in error.errors()])["detail"]
        _refuse(re.sub(r"'([a-z_]+)'(?= must|:)", lambda field: f"--{field[1].replace('_', '-')}", detail))
    except CoreError as error:
        _refuse(str(error))


def _require_decimals(terms: Mapping[str, Any]) -> None:
    from core.budget import Epsilon
    from core.errors import InvalidEpsilon

    for name in ("epsilon", "estimate"):
        try:
            Epsilon.parse(terms[name] or "1")
        except InvalidEpsilon as error:
            _refuse(f"--{name}: {error}")


def _refuse(sentence: str) -> NoReturn:
    fail(f"{sentence} Nothing was registered or spent.", Code.USAGE)


def _body(terms: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an order's body, without terms that are left to the service."""
    given = {name: value for name, value in terms.items() if value is not None}
    size = {name: given.pop(name) for name in ("declared", "estimate") if name in given}
    return given | ({"size": size} if size else {})
