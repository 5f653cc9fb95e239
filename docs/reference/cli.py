"""The command-line reference, from the commands themselves and not from their rendered help."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Literal

from docs.reference.markdown import prose, sections, table

WORDS: dict[Any, str] = {str: "text", int: "number", float: "number", Path: "path"}
NOT_REPEATED = {"url", "key", "install_completion", "show_completion"}  # the hand-written part of the page has them


def text() -> str:
    """Every command in the order of `rugnik --help`, with its arguments, options and examples."""
    from typer.main import get_command  # noqa: PLC0415 - for those who ask

    from app.cli import main  # noqa: PLC0415 - as above

    tool: Any = get_command(main)
    commands = list(_commands(tool, ("rugnik",)))
    codes = f"## Exit codes\n\n```text\n{_without_marks(tool.epilog)}\n```"
    return sections([*(_command(path, command) for path, command in commands), codes])


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, inner in command.commands.items():
        if hasattr(inner, "commands"):
            yield from _commands(inner, (*path, name))
        else:
            yield (*path, name), inner


def _command(path: tuple[str, ...], command: Any) -> str:
    shown = [parameter for parameter in command.params if parameter.name not in NOT_REPEATED and not parameter.hidden]
    arguments = [parameter for parameter in shown if parameter.param_type_name == "argument"]
    options = [parameter for parameter in shown if parameter.param_type_name == "option"]
    words = [*path, *(_argument(parameter) for parameter in arguments), *(["[OPTIONS]"] if options else [])]
    return sections(
        [
            f"## {' '.join(path)}",
            f"```text\n{' '.join(words)}\n```",
            *_paragraphs(command.help or ""),
            table(("Argument", "Meaning"), [(f"`{_argument(item)}`", _meaning(item)) for item in arguments]),
            table(("Option", "Meaning"), [(_option(item), _meaning(item)) for item in options]),
        ]
    )


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name).strip("{}[]").upper()
    name = f"{name}..." if parameter.nargs == -1 else name
    return name if parameter.required else f"[{name}]"


def _option(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} *{_type(parameter)}*"


def _type(parameter: Any) -> str:
    """What an option takes, in words; of a list, what each entry is."""
    if parameter.metavar:
        return str(parameter.metavar).lower()
    annotation = parameter.type_descriptor.annotation
    kinds = [kind for kind in (typing.get_args(annotation) or (annotation,)) if kind is not type(None)]
    if typing.get_origin(annotation) is Literal:
        return " or ".join(str(value) for value in kinds)
    if issubclass(kinds[0], Enum):
        return " or ".join(str(member.value) for member in kinds[0])
    return str(WORDS.get(kinds[0], kinds[0].__name__.lower()))


def _meaning(parameter: Any) -> str:
    notes = []
    variable = getattr(parameter, "envvar", None)
    if variable:
        notes.append(f"Variable: `{variable}`.")
    if parameter.required and parameter.param_type_name == "option":
        notes.append("Required.")
    default = parameter.default
    if isinstance(default, str | int | float | Path) and not isinstance(default, bool) and default != "":
        notes.append(f"Default: `{default}`.")
    return " ".join([prose(parameter.help or ""), *notes])


def _paragraphs(help_text: str) -> Iterator[str]:
    """Paragraphs of a help text; what begins with the mark `\\b` keeps its lines."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(help_text)):
        if paragraph.startswith("\b"):
            yield f"```text\n{_without_marks(paragraph)}\n```"
        else:
            yield prose(paragraph)


def _without_marks(paragraph: str) -> str:
    return inspect.cleandoc(paragraph.replace("\b", "")).strip("\n")
