"""FastAPI parameters: from plain declarations with the Limits and Doc of `rugnik.wire`, and those of many addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from fastapi import Path, Query

from rugnik.wire import Body
from rugnik.wire.limits import NO_CONTROL, Doc, Limits

Name = Annotated[str, Path(max_length=64, pattern=NO_CONTROL, description="The dataset's name.")]
ReleaseId = Annotated[str, Path(max_length=32, pattern=NO_CONTROL, description="The release's id.")]


def query(declared: Any) -> Any:
    """FastAPI's Query with the limits and the description of an `Annotated` type."""
    options: dict[str, Any] = {}
    for note in get_args(declared)[1:] if get_origin(declared) is Annotated else ():
        if isinstance(note, Limits):
            options |= note.given()
        elif isinstance(note, Doc):
            options["description"] = note.text
    return Query(**options)


def parameters_of(function: Callable[..., Any]) -> Iterator[Parameter]:
    """The parameters of a function as FastAPI takes them: a Body is the body, everything else is in the query."""
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in signature(function).parameters.items():
        hint = hints[name]
        if not (isinstance(hint, type) and issubclass(hint, Body)):
            plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
            hint = Annotated[plain, query(hint)]
        yield parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hint)
