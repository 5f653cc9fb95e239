"""Example questions: requests that succeed for a published release of the dataset `city`, at least one per question.

A test that goes through all questions takes them from here: a new question needs one more line in EXAMPLES, and is then
asked everywhere. `tests/app/questions/test_registry.py` compares the table with the registry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from rugnik import wire
from rugnik.wire.base import Body, dumped
from tests.support.service.routes import Route

BELOW = "/v1/releases/{release_id}/"  # the template of every question's path begins with it


@dataclass(frozen=True, slots=True)
class Example:
    """A question with parameters that fit `city`: a query string for a GET, or a body for a POST."""

    answer: type[wire.Answer]
    query: str = ""
    body: Body | None = None

    @property
    def method(self) -> str:
        """GET, or POST if it has a body."""
        return "GET" if self.body is None else "POST"

    @property
    def address(self) -> str:
        """Path and query string, below /v1/releases/{id}/."""
        return f"{self.answer.path}?{self.query}" if self.query else self.answer.path

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of the HTTP client: the body, if there is one."""
        sent = {"Content-Type": "application/json"}
        return {} if self.body is None else {"content": dumped(self.body), "headers": sent}

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The query string as keyword arguments of `Client.ask`."""
        return parse_qs(self.query)

    @property
    def route(self) -> Route:
        """Method and path template, as in the OpenAPI document."""
        return self.method, BELOW + self.answer.path

    def __str__(self) -> str:
        """The name of the test that asks it."""
        return f"{self.method} {self.address}"


EXAMPLES = (
    Example(wire.Count, "where=age:20..40&where=income:..500"),
    Example(wire.Count),
    Example(wire.Count, "where=age:20..40&snap=true"),
    Example(wire.Counts, body=wire.CountsBody(boxes=[["age:20..40"], []])),
    Example(wire.Marginal, "attributes=age"),
    Example(wire.Marginal, "attributes=income,age&counts=nonnegative"),
    Example(wire.Marginal, "attributes=income,age&cells=3"),
    Example(wire.Quantiles, "attribute=age&q=0.5&q=0.9"),
    Example(wire.Moments),
    Example(wire.Moments, "level=0.9"),
    Example(wire.Clusters, "k=3"),
    Example(wire.Scan, "k=2..3"),
    Example(wire.Assignment, body=wire.AssignBody(points=[[20, 500]], k=2)),
    Example(wire.Rows, "count=10&seed=3"),
    Example(wire.Synopsis),
    Example(wire.Regression, "target=income&on=age"),
    Example(wire.Components),
    Example(wire.Conditional, "of=income&given=age&cells=3"),
    Example(wire.Information, "attributes=age,income&cells=3"),
    Example(wire.Hotspots, "attributes=age,income"),
)
GETS = tuple(example for example in EXAMPLES if example.method == "GET")
# The first example of each question, by its route.
BY_ROUTE: dict[Route, Example] = {example.route: example for example in reversed(EXAMPLES)}
