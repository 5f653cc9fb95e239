"""What all questions share: who may ask, the ETag, and how an answer is computed off the event loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from anyio import to_thread
from fastapi import Request, Response

from app.access.principal import Principal
from app.answers.answers import Answers, Speed
from app.http.middleware.observe_requests import is_noted
from app.http.negotiation import has_already, negotiate
from app.http.problems import declared
from app.http.streaming import while_connected
from app.operations.lanes import Lane, Lanes
from app.questions.formats import Form, Format
from app.questions.question import Published, Question, require_known_parameters
from core.checkpoint import Checkpoint
from rugnik import wire

FOR_EVER = {"Cache-Control": "private, max-age=31536000, immutable", "Vary": "Accept, Authorization, Cookie"}


def documented(
    model: type[Any], *statuses: int, files: Sequence[Form] = (), grouped: bool = False
) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a question for the OpenAPI document; `grouped` where it may be answered group by group."""
    content = {form.media_type: {"schema": {"type": "string", "format": "binary"}} for form in files}
    problems = declared(404, 406, 429, *statuses)
    return problems | {
        200: {"model": model | wire.Grouped if grouped else model, "content": content},
        304: {"description": "You have it already."},
    }


async def published_release(request: Request, caller: Principal, release_id: str) -> tuple[Answers, Published]:
    """The release that is asked, from memory if it is there; NotFound unless it is published and the caller may ask."""
    _refuse_unknown_parameters(request)
    answers: Answers = request.app.state.answers
    published = answers.published_here(caller, release_id)
    if published is None:
        published = await to_thread.run_sync(answers.published, caller, release_id)
    return answers, published


def _refuse_unknown_parameters(request: Request) -> None:
    names = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
    require_known_parameters(request.query_params, names)


async def answer(request: Request, caller: Principal, release_id: str, question: Question) -> Response:
    """The answer as JSON with its ETag; 304 where the client has it."""
    negotiate(request, None, (Format.JSON,))
    answers, published = await published_release(request, caller, release_id)
    key = question.key(published)
    headers = {"ETag": f'"{key}"', **FOR_EVER}
    if has_already(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    body = answers.body_here(key)
    if body is None:
        body = await while_connected(request.receive, _worked_out(request, caller, key, published, question))
    request.app.state.hot_answers.keep(request, published.dataset, key, headers)
    return Response(body, media_type="application/json", headers=headers)


async def _worked_out(request: Request, caller: Principal, key: str, published: Published, question: Question) -> bytes:
    """In the quick lane where the answer is stored or quick, else in the lane for its speed."""
    answers: Answers = request.app.state.answers
    lanes: Lanes = request.app.state.lanes
    noted = is_noted(request.scope)
    quick = partial(answers.quick_body, key, published, question)
    body = await lanes.run(lanes.quick, caller.id, key, quick, noted=noted)
    if isinstance(body, bytes):
        return body
    apart = partial(answers.body_apart, key, published, question)
    return await lanes.run(_lane(lanes, body), caller.id, key, apart, noted=noted)


async def at_speed_of(
    request: Request,
    caller: Principal,
    published: Published,
    question: Question,
    key: str,
    work: Callable[[Checkpoint], bytes],
) -> bytes:
    """The result of work that takes about as long as a question, in this process and in the lane for that."""
    answers: Answers = request.app.state.answers
    lanes: Lanes = request.app.state.lanes
    noted = is_noted(request.scope)

    async def work_out() -> bytes:
        estimate = partial(answers.speed, published, question)
        speed = await lanes.run(lanes.quick, caller.id, (key, "speed"), lambda _: estimate(), noted=noted)
        return await lanes.run(_lane(lanes, speed), caller.id, key, work, noted=noted)

    return await while_connected(request.receive, work_out())


async def fresh_answer(request: Request, caller: Principal, release_id: str, question: Question) -> Response:
    """The answer to a POST: computed now and not cached."""
    answers, published = await published_release(request, caller, release_id)
    lanes: Lanes = request.app.state.lanes
    noted = is_noted(request.scope)

    async def work_out() -> bytes:
        name = object()  # nobody else asks for the same
        estimate = partial(answers.speed, published, question)
        speed = await lanes.run(lanes.quick, caller.id, name, lambda _: estimate(), noted=noted)
        worked_out = answers.work_out if speed is Speed.QUICK else answers.work_out_apart
        work = partial(worked_out, published, question)
        return await lanes.run(_lane(lanes, speed), caller.id, name, work, noted=noted)

    return Response(await while_connected(request.receive, work_out()), media_type="application/json")


def _lane(lanes: Lanes, speed: Speed) -> Lane:
    return {Speed.QUICK: lanes.quick, Speed.MIDDLE: lanes.middle, Speed.LONG: lanes.long}[speed]
