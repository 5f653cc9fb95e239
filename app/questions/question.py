"""Question: a name, its parameters and how to answer it; and the registry of questions.

A new question is one file here: a function with the decorator `question`, whose parameters are those of the HTTP
request and whose docstring describes it. `app.http.routes.answers` makes a route of it; `registered()` finds it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

import app.questions
from core.canonical import canonical_json
from core.checkpoint import Checkpoint
from core.queries.effort import Effort, effort_of_cells
from core.queries.range_count import RangeTable, range_table
from core.queries.synthetic import cumulative_weights
from core.synopsis import Synopsis
from rugnik import wire

# Raise it with any change that can change a byte of an answer.
ANSWERS_VERSION = 8


class Prepared:
    """A synopsis in memory, with tables that are computed from it when first needed."""

    def __init__(self, synopsis: Synopsis) -> None:
        self.synopsis = synopsis
        self.digest = synopsis.digest

    @cached_property
    def table(self) -> RangeTable:
        """What range counts are read from."""
        return range_table(self.synopsis)

    @cached_property
    def cumulative(self) -> NDArray[np.float64]:
        """What synthetic rows are drawn from; once for all streams."""
        return cumulative_weights(self.synopsis)

    @property
    def weight(self) -> int:
        """Bytes that it may hold: counts, range table and cumulative weights."""
        return self.synopsis.cells.memory_bytes


@dataclass(frozen=True, slots=True)
class Published:
    """What never changes about a published release: enough to know who may ask and to name an answer."""

    release: str
    dataset: str
    digest: str


Common = Mapping[str, Any]  # the fields of wire.Answer, which every answer begins with
Answerer = Callable[[Prepared, Checkpoint, Common], wire.Answer]


@dataclass(frozen=True, slots=True)
class Question:
    """A question by name and parameters, how to answer it, and the effort that takes.

    A long computation calls the checkpoint between its steps. Costly answers are kept in the database as well.
    """

    name: str
    parameters: Mapping[str, Any]
    answerer: Answerer
    effort: Callable[[Synopsis], Effort] = effort_of_cells
    costly: bool = False

    def answer(self, prepared: Prepared, checkpoint: Checkpoint) -> wire.Answer:
        """The answer, computed now."""
        return self.answerer(prepared, checkpoint, self.common(prepared))

    def common(self, prepared: Prepared) -> Common:
        """The fields that every answer begins with."""
        return {
            "release": prepared.synopsis.release,
            "synopsis_digest": prepared.digest,
            "epsilon_spent": "0",
            "question": self.name,
            "parameters": self.parameters,
        }

    def key(self, published: Published) -> str:
        """The name of the answer: the same in every process, for ever."""
        asked = {"digest": published.digest, "release": published.release, "version": ANSWERS_VERSION}
        return sha256(canonical_json(asked | {"name": self.name, "parameters": self.parameters})).hexdigest()


@dataclass(frozen=True, slots=True)
class Registered:
    """A question that can be asked: the function that takes its parameters, and the type of its answer."""

    ask: Callable[..., Question]
    answer: type[wire.Answer]

    @property
    def takes_body(self) -> bool:
        """Whether it is asked with a body: its function then has that as its one parameter."""
        return any(isinstance(kind, type) and issubclass(kind, wire.Body) for kind in get_type_hints(self.ask).values())


_REGISTRY: dict[str, Registered] = {}


def question(answer: type[wire.Answer]) -> Callable[[Callable[..., Question]], Callable[..., Question]]:
    """Register a function as the question whose answer has this type."""

    def register(ask: Callable[..., Question]) -> Callable[..., Question]:
        _REGISTRY[answer.path] = Registered(ask, answer)
        return ask

    return register


def registered() -> list[Registered]:
    """Every registered question, by path. Imports all modules of this package, so that each can register its own."""
    for module in pkgutil.iter_modules(app.questions.__path__):
        import_module(f"app.questions.{module.name}")
    return [_REGISTRY[path] for path in sorted(_REGISTRY)]
