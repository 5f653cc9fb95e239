"""/v1/releases/{id}/…: a route for each question of `app.questions`, made from its function.

A question that takes a body is a POST. Any other is a GET, one question each, so that anything can cache it. None of
them spends epsilon. Each route has the parameters of its question and those that all questions share
(`app.questions.groups`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import Parameter, Signature
from typing import Any

from fastapi import APIRouter, Request, Response

from app.http.asking import answer, documented, fresh_answer
from app.http.callers import Asker
from app.http.parameters import ReleaseId, parameters_of
from app.questions.groups import asked_with, shared_parameters
from app.questions.question import Registered, registered, repeatable

router = APIRouter(prefix="/v1/releases/{release_id}", tags=["answers"])


def _endpoint(question: Registered, give: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
    """A function as FastAPI wants it: named, documented and with the parameters of the question's own function."""

    async def endpoint(request: Request, caller: Asker, release_id: ReleaseId, **asked: Any) -> Response:
        return await give(request, caller, release_id, repeatable(asked_with, question, asked))

    always = [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind)
        for name, kind in (("request", Request), ("caller", Asker), ("release_id", ReleaseId))
    ]
    sources: list[Callable[..., Any]] = [question.ask, *shared_parameters(question)]
    declared = [parameter for source in sources for parameter in parameters_of(source)]
    endpoint.__signature__ = Signature([*always, *declared])  # type: ignore[attr-defined] # FastAPI reads it
    endpoint.__name__, endpoint.__doc__ = question.ask.__name__, question.ask.__doc__
    return endpoint


for _question in registered():
    _method, _give = ("POST", fresh_answer) if _question.takes_body else ("GET", answer)
    router.add_api_route(
        f"/{_question.answer.path}",
        _endpoint(_question, _give),
        methods=[_method],
        responses=documented(_question.answer, grouped=not _question.takes_body),
        response_class=Response,
    )
