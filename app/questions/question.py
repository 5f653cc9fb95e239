"""Question: a name, its parameters and how to answer it; and the registry of questions.

A new question is one file here: a function with the decorator `question`, whose parameters are those of the HTTP
request and whose docstring describes it. `app.http.routes.answers` makes a route of it; `registered()` finds it.

Every question can be asked about a part of the rows (`where`), and every one that is a GET for each value of a category
(`group_by`). The registry adds both: a question's own function need not know of them. It works on
`prepared.histogram`, which is the part that was asked about.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from typing import Any, get_type_hints

import app.questions
from app.fields import is_it
from app.questions.boxes import require_where
from app.questions.prepared import Prepared
from core.canonical import canonical_json
from core.checkpoint import Checkpoint
from core.errors import InvalidQuery
from core.noisy_histogram import NoisyHistogram
from core.queries.effort import Effort, effort_of_cells
from rugnik import wire

# Raise it with any change that can change a byte of an answer.
ANSWERS_VERSION = 14


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

    A long computation calls the checkpoint between its steps. Costly answers are kept in the database as well. `where`
    names the part of the rows that it is about; the answerer is given that part.

    An answerer is a function inside of a function, which cannot be pickled. So a question is pickled as the call that
    made it, where `repeatable` has noted that.
    """

    name: str
    parameters: Mapping[str, Any]
    answerer: Answerer
    effort_of: Callable[[NoisyHistogram], Effort] = effort_of_cells
    costly: bool = False
    where: tuple[str, ...] = ()
    made_by: tuple[Any, ...] | None = None  # a function of a module, and its arguments

    def __reduce__(self) -> Any:
        if self.made_by is None:
            raise TypeError("A question is pickled as the call that made it: see `repeatable`.")
        return repeatable, self.made_by

    def about(self, where: Sequence[str] | None) -> Question:
        """The same question about a part of the rows. The order in which its texts are given does not matter."""
        if not where:
            return self
        require_where(where)
        parts = tuple(sorted(set(where)))
        return replace(self, where=parts, parameters={**self.parameters, "where": list(parts)}, made_by=None)

    def effort(self, prepared: Prepared) -> Effort:
        """Its estimated effort. InvalidQuery where there is no such part."""
        return self.effort_of(prepared.part(self.where).histogram)

    def answer(self, prepared: Prepared, checkpoint: Checkpoint) -> wire.Answer:
        """The answer, computed now."""
        part = prepared.part(self.where)
        return self.answerer(part, checkpoint, self.common(part))

    def common(self, prepared: Prepared) -> Common:
        """The fields that every answer begins with."""
        return {
            "release": prepared.synopsis.release,
            "synopsis_digest": prepared.digest,
            "epsilon_spent": "0",
            "question": self.name,
            "parameters": self.parameters,
            "slice": prepared.slice,
        }

    def key(self, published: Published) -> str:
        """The name of the answer: the same in every process, for ever."""
        asked = {"digest": published.digest, "release": published.release, "version": ANSWERS_VERSION}
        return sha256(canonical_json(asked | {"name": self.name, "parameters": self.parameters})).hexdigest()


def repeatable(make: Callable[..., Question], *args: Any) -> Question:
    """The question that make(*args) returns, in a form that can be pickled for another process."""
    return replace(make(*args), made_by=(make, *args))


@dataclass(frozen=True, slots=True)
class Registered:
    """A question that can be asked: the function that takes its parameters, and the type of its answer.

    `cuts_cells`: it has a parameter `where` of its own, whose ranges may cut cells, and is asked of the whole synopsis.
    """

    ask: Callable[..., Question]
    answer: type[wire.Answer]
    cuts_cells: bool = False

    @property
    def takes_body(self) -> bool:
        """Whether it is asked with a body: its function then has that as its one parameter."""
        return any(isinstance(kind, type) and issubclass(kind, wire.Body) for kind in get_type_hints(self.ask).values())

    @property
    def has_level(self) -> bool:
        """Whether it has intervals at a level."""
        return "level" in get_type_hints(self.ask)

    def question(self, own: Mapping[str, Any], where: Sequence[str] | None = None) -> Question:
        """The question with these parameters of its own, about a part of the rows."""
        if self.cuts_cells:
            return self.ask(**own) if self.takes_body else self.ask(**own, where=where)
        return self.ask(**own).about(own["body"].where if self.takes_body else where)


_REGISTRY: dict[str, Registered] = {}


def question(
    answer: type[wire.Answer], *, cuts_cells: bool = False
) -> Callable[[Callable[..., Question]], Callable[..., Question]]:
    """Register a function as the question whose answer has this type."""

    def register(ask: Callable[..., Question]) -> Callable[..., Question]:
        _REGISTRY[answer.path] = Registered(ask, answer, cuts_cells)
        return ask

    return register


def registered() -> list[Registered]:
    """Every registered question, by path. Imports all modules of this package, so that each can register its own."""
    for module in pkgutil.iter_modules(app.questions.__path__):
        import_module(f"app.questions.{module.name}")
    return [_REGISTRY[path] for path in sorted(_REGISTRY)]


def require_known_parameters(sent: Iterable[str], names: Sequence[str]) -> None:
    """Refuse a parameter whose name is not among these: left out, the answer would be one to another question.

    The sentence has the name that was probably meant, and none that was sent.
    """
    unknown = next((name for name in sent if name not in names), None)
    if unknown is None:
        return
    taken = ", ".join(names) or "none"
    raise InvalidQuery(f"There is no parameter of that name here; this takes: {taken}.{is_it(unknown, names)}")
