"""The application's routes: as its document lists them, and as the router really holds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

Route = tuple[str, str]  # method, path template
_METHODS = {"get", "post", "put", "delete", "patch", "head", "options", "trace"}


def operations(app: FastAPI) -> dict[Route, dict[str, Any]]:
    """Every operation of the OpenAPI document."""
    return {
        (method.upper(), path): operation
        for path, item in app.openapi()["paths"].items()
        for method, operation in item.items()
        if method in _METHODS
    }


def operation_of(app: FastAPI, method: str, path: str) -> dict[str, Any] | None:
    """The operation that a request meets, if any."""
    for (verb, template), operation in operations(app).items():
        if verb == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            return operation
    return None


def routes(app: FastAPI) -> list[Any]:
    """Everything that is mounted, shown in the document or not."""
    return list(_flat(app.routes))


def api_routes(app: FastAPI) -> list[APIRoute]:
    """The routes that are functions of ours."""
    return [route for route in routes(app) if isinstance(route, APIRoute)]


def _flat(mounted: Iterable[Any]) -> Iterator[Any]:
    for route in mounted:
        router = getattr(route, "original_router", None)  # FastAPI keeps an included router whole
        if router is None:
            yield route
        else:
            yield from _flat(router.routes)
