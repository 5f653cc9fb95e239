"""The group `rugnik query`, and what its commands share: options, and one way to ask about a part or by group."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar, runtime_checkable

import typer

from app.cli.exits import Code, fail
from app.cli.options import URL, AsJson, Key, Output, Url, connect
from app.cli.output import named, note, rounded, show_json, show_table

if TYPE_CHECKING:
    from rugnik import Client
    from rugnik.asking import Asking
    from rugnik.wire import Answer, Axis
    from rugnik.wire.cells import Box
    from rugnik.wire.common import Estimate, Value

    _Answer = TypeVar("_Answer", bound=Answer)

Release = Annotated[
    str,
    typer.Argument(
        metavar="RELEASE",
        help="A release's id, a dataset's name for its newest release, or a bundle: a file x.rugnik, asked offline.",
        show_default=False,
    ),
]
Level = Annotated[float, typer.Option(help="The probability that an interval holds with.")]
Seed = Annotated[int, typer.Option(min=0, help="A public seed: the same seed gives the same answer.")]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        "-w",
        metavar="NAME:PART",
        help="Ask about a part: age:20..40, sex:f,x or cost:(missing). A range of an integer or a date holds both "
        "ends; of a number or a datetime the upper end is not in it, unless it is a number's upper bound. Repeat for "
        "more.",
        show_default=False,
    ),
]
GroupBy = Annotated[
    str | None,
    typer.Option("--group-by", "-g", metavar="NAME", help="Answer once for each value of a category."),
]
Table = tuple[Sequence[str], Sequence[Sequence[Any]]]  # column names, and rows

query = typer.Typer(no_args_is_help=True, help="Ask a published release; no question costs epsilon.")

_BUNDLE = ".rugnik"
_NO_QUESTION = {"release", "url", "key", "as_json", "output"}  # parameters that the service does not judge
_ATTRIBUTES = {"attribute", "attributes", "target", "on", "of", "given", "group_by", "where"}  # hold names of them
_FORMS = {".csv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".arrows": "arrow", ".json": "json"}


@contextmanager
def asked_release(release: str, url: str, key: str | None) -> Iterator[tuple[Asking, str]]:
    """Whom to ask, and about which release: a bundle by its file, or a service, whose client finds names."""
    if release.endswith(_BUNDLE) and Path(release).is_file():
        import rugnik

        opened = rugnik.open(release)
        yield opened.asking, opened.id
        return
    if release.endswith(_BUNDLE) and not key:
        fail(f"There is no file {release}; and to ask a service, set RUGNIK_KEY, or give --key.", Code.USAGE)
    with connect(url, key) as client:
        yield client, release_id(client, release)


def release_id(client: Client, release: str) -> str:
    """The id itself, or that of a dataset's newest published release, which is then named on standard error."""
    from rugnik.naming import is_id

    if is_id(release):
        return release
    newest = client.newest(release)
    day = f", published on {newest.published}" if newest.published else ""
    note(f"The newest release of {release}: {named(newest.id, newest.label)}{day}.")
    return newest.id


@runtime_checkable
class _Warns(Protocol):
    """An answer of a kind that has warnings."""

    @property
    def warnings(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """Of whom a question is asked, about which part, and how its answer is shown."""

    release: str
    where: list[str] | None
    group_by: str | None
    _: KW_ONLY
    url: str
    key: str | None
    as_json: bool
    output: Path | None

    @property
    def as_table(self) -> bool:
        """Whether the answer is a table on the terminal, with remarks below it."""
        return not self.as_json and self.output is None

    def show(
        self, kind: type[_Answer], table: Callable[[_Answer], Table], **parameters: Any
    ) -> list[tuple[str | None, _Answer]]:
        """Ask, and print a table, or JSON. Returns the answers by group; without groups, one answer by None."""
        with asked_release(self.release, self.url, self.key) as (client, asked):
            parameters["where"] = self.where or ()
            if self.group_by is None:
                answer = client.ask(asked, kind, **parameters)
                self._print(answer, *table(answer))
                return [(None, answer)]
            grouped = client.ask_by_group(asked, kind, self.group_by, **parameters)
        answers = grouped.answers(kind)
        columns, rows = together({value: table(each) for value, each in answers.items()})
        self._print(grouped, (self.group_by, *columns), rows)
        if self.as_table:
            for value, each in answers.items():
                self._remarks(each, value)
        return list(answers.items())

    def _print(self, answer: Answer, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        if not self.as_table:
            show_json(answer.raw, self.output)
            return
        show_table(columns, rows)
        about_part(answer)
        self._remarks(answer)

    def _remarks(self, answer: Answer, group: str | None = None) -> None:
        warnings = answer.warnings if isinstance(answer, _Warns) else ()
        for text in (*warnings, *answer.notes):
            note(f"{prefix(group)}Note: {text}")


def _asked(
    release: Release,
    *,
    where: Where = None,
    group_by: GroupBy = None,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
    output: Output = None,
) -> Asked:
    """What every question takes, as options of a command."""
    return Asked(release, where, group_by, url=url, key=key, as_json=as_json, output=output)


def question(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes what every question takes, hands it on as `asked`, and has arguments and options of its own.

    Typer reads the signature: the release comes first, then what is the command's own, then the shared options.
    """
    release, *options = inspect.signature(_asked, eval_str=True).parameters.values()
    _first, *own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (release, *own, *options)]
    names = {release.name, *(each.name for each in options)}
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

    @wraps(command)
    def asking(context: typer.Context, **given: Any) -> None:
        from rugnik.errors import Invalid

        common = {name: given.pop(name) for name in names}
        try:
            command(_asked(**common), **given)
        except Invalid as error:
            fail(f"{error}{_unknown(context, str(error))}{_typed(context)}", Code.REFUSED)

    parameters.append(context)
    asking.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what `inspect` reads
    asking.__annotations__ = {each.name: each.annotation for each in parameters}
    return asking


def _unknown(context: typer.Context, sentence: str) -> str:
    """The names that were typed and are no attributes, where the service lists those that are."""
    listed = re.match(r"There is no attribute of that name.*?: (.+)\.$", sentence)
    if listed is None:
        return ""
    typed: list[str] = []
    for name in _ATTRIBUTES & context.params.keys():
        value = context.params[name] or []
        typed += [value] if isinstance(value, str) else value
    names = sorted({each.partition(":")[0] for each in typed})
    unknown = [each for each in names if f", {each}, " not in f", {listed[1]}, "]
    return f" It has no {', '.join(map(repr, unknown))}." if unknown else ""


def _typed(context: typer.Context) -> str:
    """What was asked on the command line, for a person who looks for a slip: the service does not repeat it."""
    said: list[str] = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is None or source.name != "COMMANDLINE" or parameter.name in _NO_QUESTION:
            continue
        option = f"{parameter.opts[0]} " if parameter.param_type_name == "option" else ""
        value = context.params[parameter.name or ""]
        said += [f"{option}{each}" for each in (value if isinstance(value, list | tuple) else [value])]
    return f" You typed: {' '.join(said)}." if said else ""


def about_part(answer: Answer) -> None:
    """Say which part of the rows was answered: whole cells."""
    if answer.slice:
        note("About the part " + ", ".join(f"{name}:{part}" for name, part in answer.slice.items()) + ".")


def sides(axes: Sequence[Axis]) -> list[str]:
    """The columns of a box: both ends of an ordered attribute, or a category. A cell of datetimes lacks its end."""
    until = {"datetime": "before"}
    names = (
        [axis.name] if axis.kind == "category" else [f"{axis.name} from", f"{axis.name} {until.get(axis.kind, 'to')}"]
        for axis in axes
    )
    return [name for pair in names for name in pair]


def estimated(estimate: Estimate) -> list[Any]:
    """A value and both ends of its interval."""
    low, high = estimate.interval.low, estimate.interval.high
    return rounded((estimate.value, low, high), low, high)


def ends(axes: Sequence[Axis], box: Box) -> list[Any]:
    """The values below `sides`: edges of numbers with three digits of the cell's width."""
    shown: list[Any] = []
    for axis in axes:
        side = axis.shown(box[len(shown) : len(shown) + len(axis.columns)])
        shown += rounded(side, *side, digits=3) if axis.kind == "number" and side[0] is not None else side
    return shown


def span(value: Value, low: Value, high: Value, shift: float) -> str:
    """A value with its interval, and how far the grid can move it: of a date in days, of a datetime in seconds."""
    unit = "" if not isinstance(value, str) else " s" if "T" in value else " days"
    shown, least, most = (
        each if isinstance(each, str) else f"{each:.10g}" for each in rounded((value, low, high), low, high)
    )
    return f"{shown} ({least} to {most}) ± {shift:.2g}{unit}"


def prefix(group: str | None) -> str:
    """What stands before a remark about a group; nothing if there are no groups."""
    return "" if group is None else f"{group}: "


def form_of(output: Path) -> str:
    """The format that the name of a file asks for."""
    form = _FORMS.get(output.suffix.lower())
    if form is None:
        fail(f"{output}: end the name in {', '.join(_FORMS)}.", Code.USAGE)
    return form


def together(tables: Mapping[str, Table]) -> Table:
    """The rows of all groups in one table, each after its group.

    Tables may differ in their last columns: clusters of one group may be judged by the model, and those of another not.
    """
    columns = max((names for names, _ in tables.values()), key=len, default=())
    rows = [(value, *row, *[None] * (len(columns) - len(row))) for value, (_, own) in tables.items() for row in own]
    return columns, rows
