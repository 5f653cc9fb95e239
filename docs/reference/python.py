"""The Python reference, from the docstrings and signatures of the package `rugnik`."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from docs.reference.markdown import prose, sections

WIDTH = 110


def text() -> str:
    """The client's methods by part, the values that they return, and the tree of errors."""
    import rugnik  # noqa: PLC0415 - for those who ask
    from rugnik import AsyncClient, Client, OfflineRelease, Retries, errors  # noqa: PLC0415 - as above
    from rugnik.listing import Releases  # noqa: PLC0415 - as above

    names = ", ".join(f"`{name}`" for name in rugnik.__all__)
    return sections(
        [
            f"`rugnik` exports {names}.",
            "## Client",
            _code(_signature("Client", Client.__init__)),
            _docstring(Client),
            *(_part(owner) for owner in _owners(Client)),
            *(_terms(cls) for cls in _keyword_terms(Client)),
            "## AsyncClient",
            _code(_signature("AsyncClient", AsyncClient.__init__)),
            "Every method of `Client`, to be awaited: `async with AsyncClient(url, key) as client`.",
            "## open",
            _code(_signature("open", rugnik.open)),
            _docstring(rugnik.open),
            _part(OfflineRelease),
            "## Retries",
            _code("\n".join(_fields(Retries))),
            _docstring(Retries),
            "## What the methods return",
            _part(Releases),
            *(_value(cls) for cls in _returned(Client)),
            "## Errors",
            "The classes of `rugnik.errors`:",
            f"```text\n{inspect.cleandoc(errors.__doc__ or '')}\n```",
        ]
    )


def _owners(client: type) -> Iterator[type]:
    """The client and the classes of `rugnik` that it is made of, if they define public methods."""
    for owner in client.__mro__:
        if owner.__module__.partition(".")[0] == "rugnik" and list(_methods(owner)):
            yield owner


def _methods(owner: type) -> Iterator[tuple[str, FunctionType]]:
    for name, member in vars(owner).items():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if isinstance(function, FunctionType) and not name.startswith("_"):
            written = inspect.unwrap(function)
            # Of an opened bundle, questions are those of the client, described there.
            if written is function or written.__qualname__ == f"{owner.__name__}.{name}":
                yield name, function


def _part(owner: type) -> str:
    """The methods that one class defines."""
    described = [
        sections([f"#### {name}", _code(_member(owner, name, function)), _docstring(function)])
        for name, function in _methods(owner)
    ]
    return sections([f"### {owner.__name__}", "" if owner.__name__ == "Client" else _docstring(owner), *described])


def _member(owner: type, name: str, function: Callable[..., Any]) -> str:
    """A method as it is called, or a property as it is read."""
    if isinstance(vars(owner)[name], property):
        return f"{name}: {_spelled(inspect.signature(function).return_annotation)}"
    return _signature(name, function)


def _signature(name: str, function: Callable[..., Any]) -> str:
    """A signature as in the source; one parameter a line where it is long."""
    signature = inspect.signature(function)
    parameters = list(_parameters(signature))
    returned = "" if name in ("Client", "AsyncClient") else f" -> {_spelled(signature.return_annotation)}"
    line = f"{name}({', '.join(parameters)}){returned}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {parameter}," for parameter in parameters), f"){returned}"])


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    keyword_only = False
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*"
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        yield f"{stars}{parameter.name}: {_spelled(parameter.annotation)}{default}"


def _docstring(member: Any) -> str:
    """A docstring; indented lines, such as tables of parameters, keep their form."""
    blocks = []
    for paragraph in (inspect.getdoc(member) or "").split("\n\n"):
        aligned = all("   " in line for line in paragraph.splitlines())
        blocks.append(f"```text\n{paragraph}\n```" if aligned and paragraph else prose(paragraph))
    return sections(blocks)


def _returned(client: type) -> list[type]:
    """The dataclasses of `rugnik` that methods return, and those that their fields hold, in order of appearance."""
    waiting: list[Any] = []
    for owner in _owners(client):
        waiting += [typing.get_type_hints(function).get("return") for _, function in _methods(owner)]
    seen: dict[type, None] = {}
    while waiting:
        hint = waiting.pop(0)
        if isinstance(hint, type) and dataclasses.is_dataclass(hint) and hint.__module__.startswith("rugnik"):
            if hint not in seen:
                seen[hint] = None
                waiting += [typing.get_type_hints(hint)[field.name] for field in dataclasses.fields(hint)]
        else:
            waiting[:0] = typing.get_args(hint)
    return sorted(seen, key=lambda cls: cls.__name__)


def _keyword_terms(client: type) -> list[type]:
    """The typed dictionaries whose keys some methods take as further keywords."""
    hints = [
        hint
        for owner in _owners(client)
        for _, function in _methods(owner)
        for hint in typing.get_type_hints(function).values()
        if typing.get_origin(hint) is typing.Unpack
    ]
    return list(dict.fromkeys(typing.get_args(hint)[0] for hint in hints))


def _terms(cls: type) -> str:
    return sections([f"### {cls.__name__}", _docstring(cls)])


def _value(cls: type) -> str:
    members = [_member(cls, name, function) for name, function in _methods(cls) if name != "of"]
    return sections([f"### {cls.__name__}", _docstring(cls), _code("\n".join([*_fields(cls), *members]))])


def _fields(cls: type) -> list[str]:
    return [f"{field.name}: {_spelled(field.type)}" for field in dataclasses.fields(cls) if field.repr]


def _spelled(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _code(source: str) -> str:
    return f"```py\n{source}\n```" if source else ""
