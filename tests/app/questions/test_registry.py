"""Questions and their wire types: what is answered is what is declared, and limits agree with core's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from inspect import Signature
from typing import Annotated, Any, get_args, get_type_hints

import pytest
from fastapi import FastAPI

from app.access.permissions import Role
from app.http.parameters import parameters_of
from app.main import create_app
from app.questions.question import Question, registered
from app.settings.settings import Settings
from core.clustering.methods import Method
from core.domain.grid import MAX_DIMENSIONS
from core.intervals.levels import MAX_LEVEL
from core.ledger.kinds import Kind, State
from core.plan import MAX_SIZE, Rule
from core.records import OutOfRange
from rugnik import wire
from rugnik.wire import keys, ledger, limits
from rugnik.wire.base import dumped
from rugnik.wire.datasets import State as WireState
from rugnik.wire.limits import Doc, Limits
from tests.support.service.api import Api, frozen_clock
from tests.support.service.questions import BELOW, EXAMPLES, Example


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """An application on SQLite for all tests here."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("registry") / "data", log_level="warning")
    with Api(create_app(settings, frozen_clock)) as api:
        api.register()
        yield api


@pytest.fixture(scope="module")
def release(opened: Api) -> str:
    """A published release."""
    return opened.published(epsilon="1")


def same(answer: type[wire.Answer], body: Any) -> None:
    """What is read into the type is all that was sent."""
    assert json.loads(dumped(answer.of(body))) == body
    assert list(answer.of(body).raw) == list(body)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_an_answer_has_the_fields_of_its_type_and_no_others(opened: Api, release: str, example: Example) -> None:
    """The client reads all that the service writes, null or not."""
    path = f"/v1/releases/{release}/{example.address}"
    same(example.answer, opened.analyst(example.method, path, **example.options).json())


def test_every_answer_of_the_wire_can_be_asked_for(opened: Api) -> None:
    """A type with a path is registered, or one of the two that are files as well."""
    paths = {kind.path for kind in wire.Answer.__subclasses__() if hasattr(kind, "path")}
    assert paths == {question.answer.path for question in registered()} | {"rows", "synopsis"}
    documented = opened.app.openapi()["paths"]
    assert all(f"{BELOW}{path}" in documented for path in paths)


def test_every_question_has_an_example() -> None:
    """Of its own method and type; tests/support/service/questions.py is the place to add one."""
    examples = {(example.method, example.answer) for example in EXAMPLES}
    questions = {("POST" if question.takes_body else "GET", question.answer) for question in registered()}
    assert examples == questions | {("GET", wire.Rows), ("GET", wire.Synopsis)}


def test_a_declaration_becomes_parameters_with_limits_and_words() -> None:
    """A question file needs no FastAPI: Limits and Doc are validated and documented all the same."""

    def ask(share: Annotated[float, Limits(gt=0, le=1), Doc("A share.")], much: bool = False) -> Question:
        raise AssertionError((share, much))

    share, much = parameters_of(ask)
    assert (share.name, much.name, much.default) == ("share", "much", False)
    app = FastAPI()

    async def endpoint(**asked: Any) -> None:
        assert not asked

    endpoint.__signature__ = Signature([share, much])  # type: ignore[attr-defined] # FastAPI reads it
    app.get("/asked")(endpoint)
    documented = app.openapi()["paths"]["/asked"]["get"]["parameters"][0]
    assert documented["description"] == "A share."
    assert documented["schema"]["maximum"] == 1
    assert documented["required"] is True


def choices(annotation: Any) -> tuple[str, ...]:
    """The words that a wire field takes."""
    (given,) = (note.choices for note in get_args(annotation)[1:] if isinstance(note, Limits))
    assert given is not None
    return tuple(given)


def test_limits_of_the_wire_are_those_of_core() -> None:
    """`rugnik` and `core` do not import each other, so that three numbers and some words stand in both."""
    assert (limits.MAX_LEVEL, limits.MAX_SIZE, limits.MAX_DIMENSIONS) == (MAX_LEVEL, MAX_SIZE, MAX_DIMENSIONS)
    terms = get_type_hints(wire.OrderBody, include_extras=True)
    words: list[tuple[Any, type[StrEnum]]] = [
        (limits.Method, Method),
        (WireState, State),
        (keys.Role, Role),
        (ledger.Kind, Kind),
        (terms["rule"], Rule),
        (terms["out_of_range"], OutOfRange),
    ]
    for annotation, kind in words:
        assert choices(annotation) == tuple(member.value for member in kind)
