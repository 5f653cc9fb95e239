"""/v1/datasets/{name}/latest/…: the newest published release of a dataset, for scripts that name no release.

A redirect and no answer of its own: an answer has one address, which any cache may keep, and its reader sees which
release it is about. Only what is read of a release is reached; an upload names its order.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from app.errors import NotFound
from app.http.callers import Anyone, Asker, CurrentService
from app.http.parameters import Name
from app.http.problems import declared
from app.http.routes import answers, cards, downloads
from app.releases.reading import latest_id

router = APIRouter(prefix="/v1/datasets/{name}/latest", tags=["answers"])

_RELEASE = answers.router.prefix
# What is read of a release, and the methods that read it.
_READ: dict[str, set[str]] = {}
for _route in (*answers.router.routes, *downloads.router.routes, *cards.router.routes):
    assert isinstance(_route, APIRoute)  # noqa: S101 - these routers have no other
    _READ.setdefault(_route.path.removeprefix(f"{_RELEASE}/"), set()).update(_route.methods or ())

Rest = Annotated[
    str, Path(max_length=64, description=f"What to read of the release: {', '.join(f'`{path}`' for path in _READ)}.")
]

_RESPONSES: dict[int | str, dict[str, Any]] = {
    307: {
        "description": "Where it is: the same of the release that was published last, with the same query.",
        "headers": {"Location": {"schema": {"type": "string"}, "description": "The address, without the host."}},
    }
}
_ANY_BODY = {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}


def _moved(*statuses: int) -> dict[str, Any]:
    return {
        "status_code": HTTPStatus.TEMPORARY_REDIRECT,
        "response_class": Response,
        "responses": declared(*statuses) | _RESPONSES,
    }


def _redirect(request: Request, address: str) -> Response:
    """307 with the query byte for byte. Nothing keeps it: the next release makes it wrong."""
    query: bytes = request.scope["query_string"]
    location = address + (f"?{query.decode('latin-1')}" if query else "")
    return Response(
        status_code=HTTPStatus.TEMPORARY_REDIRECT, headers={"Location": location, "Cache-Control": "no-store"}
    )


@router.head("", include_in_schema=False)
@router.get("", **_moved(404))
def latest(request: Request, service: CurrentService, caller: Anyone, name: Name) -> Response:
    """Go to the release of a dataset that was published last."""
    return _redirect(request, f"/v1/releases/{latest_id(service, caller, name)}")


@router.head("/{rest:path}", include_in_schema=False)
@router.get("/{rest:path}", **_moved(404, 405))
def latest_answer(request: Request, service: CurrentService, caller: Asker, name: Name, rest: Rest) -> Response:
    """Ask the release of a dataset that was published last, or take one of its files: `latest/clusters?k=3`."""
    methods = _READ.get(rest)
    if methods is None:
        raise NotFound(f"There is nothing of this name to read of a release. There is: {', '.join(_READ)}.")
    if request.method not in methods and not (request.method == "HEAD" and "GET" in methods):
        raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": ", ".join(sorted(methods))})
    return _redirect(request, f"/v1/releases/{latest_id(service, caller, name)}/{rest}")


@router.post("/{rest:path}", openapi_extra={"requestBody": _ANY_BODY}, **_moved(404, 405))
def post_latest_answer(request: Request, service: CurrentService, caller: Asker, name: Name, rest: Rest) -> Response:
    """Ask a question with a body of the release that was published last; curl sends the body again with `-L`."""
    return latest_answer(request, service, caller, name, rest)
