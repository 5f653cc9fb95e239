"""`rugnik query …`: questions to a published release, as tables, JSON or files. None of them costs epsilon."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.exits import Code, fail
from app.cli.options import URL, AsJson, Key, Output, Url, connect
from app.cli.output import note, show_json, show_table

if TYPE_CHECKING:
    from rugnik import Client
    from rugnik.wire import Answer, Axis
    from rugnik.wire.common import Value

query = typer.Typer(no_args_is_help=True, help="Ask a published release; no question costs epsilon.")

Release = Annotated[
    str,
    typer.Argument(
        metavar="RELEASE", help="A release's id, or a dataset's name for its newest release.", show_default=False
    ),
]
Level = Annotated[float, typer.Option(help="The probability that an interval holds with.")]
Seed = Annotated[int, typer.Option(min=0, help="A public seed: the same seed gives the same answer.")]
_ID = re.compile(r"r[0-9a-f]{16}")
_FORMS = {".csv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".arrows": "arrow", ".json": "json"}


def release_id(client: Client, release: str) -> str:
    """The id itself, or that of a dataset's newest published release."""
    if _ID.fullmatch(release):
        return release
    newest = client.dataset(release).newest
    if newest is None:
        fail(f"{release} has no published release yet.", Code.REFUSED)
    return newest.id


def _show(
    answer: Answer, columns: Sequence[str], rows: Sequence[Sequence[Any]], as_json: bool, output: Path | None
) -> None:
    if as_json or output is not None:
        show_json(answer.raw, output)
        return
    show_table(columns, rows)
    for warning in answer.raw.get("warnings", ()):
        note(f"Note: {warning}")


@query.command()
def count(
    release: Release,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            "-w",
            help="attribute:lower..upper, half-open: lower is in the range, upper is not, unless it is the attribute's "
            "upper bound. Repeat for more.",
        ),
    ] = None,
    snap: Annotated[
        bool, typer.Option("--snap", help="Move the ends to the nearest cell edges, so that no cell is cut.")
    ] = False,
    level: Level = 0.95,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Count the rows in a box, with the interval of its whole error: noise and cut cells together.

    \b
    Example:
      rugnik query count bike-trips --where hour:7..9 --where x:..4
    """
    with connect(url, key) as client:
        answer = client.count(release_id(client, release), where or [], level=level, snap=snap)
    whole, noise, cells = answer.interval, answer.noise, answer.discretisation
    row = (answer.count, whole.low, whole.high, noise.low, noise.high, cells.low, cells.high)
    columns = ("count", "low", "high", "noise low", "noise high", "without cut cells", "with cut cells")
    _show(answer, columns, [row], as_json, output)
    if as_json or output is not None:
        return
    cut = "noise and cut cells together" if cells.low != cells.high else "the box cuts no cell"
    note(f"Between {round(whole.low):,} and {round(whole.high):,} rows with {100 * level:g} % probability: {cut}.")
    for name, ends in (answer.snapped or {}).items():
        note(f"{name} was counted from {_short(ends.low, 6)} to {_short(ends.high, 6)}, the nearest cell edges.")


@query.command()
def marginal(
    release: Release,
    attributes: Annotated[list[str], typer.Argument(help="One attribute or more.", show_default=False)],
    counts: Annotated[str, typer.Option(help="raw, or nonnegative with the same sum.")] = "raw",
    level: Level = 0.95,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """The histogram of some attributes, cell by cell.

    \b
    Example:
      rugnik query marginal bike-trips hour
    """
    with connect(url, key) as client:
        answer = client.marginal(release_id(client, release), attributes, level=level, counts=counts)
    rows = [(*box, *values) for box, *values in answer.cells()]
    names = _sides(answer.attributes)
    _show(answer, (*names, "count", "low", "high"), rows, as_json, output)


@query.command()
def quantiles(
    release: Release,
    attribute: Annotated[str, typer.Argument(help="One attribute.", show_default=False)],
    q: Annotated[list[float] | None, typer.Option("--q", help="A share between 0 and 1; repeat for more.")] = None,
    level: Level = 0.95,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Quantiles of one attribute, with intervals.

    \b
    Example:
      rugnik query quantiles bike-trips hour --q 0.5 --q 0.9
    """
    with connect(url, key) as client:
        answer = client.quantiles(release_id(client, release), attribute, q or [0.25, 0.5, 0.75], level=level)
    rows = [(each.q, each.value, each.interval.low, each.interval.high) for each in answer.quantiles]
    _show(answer, ("q", attribute, "low", "high"), rows, as_json, output)


@query.command()
def moments(
    release: Release,
    level: Level = 0.95,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Size, means, variances, covariances and correlations, with intervals.

    \b
    Example:
      rugnik query moments bike-trips
    """
    with connect(url, key) as client:
        answer = client.moments(release_id(client, release), level=level)
    rows = [(name, of, each.value, each.interval.low, each.interval.high) for name, of, each in answer.estimates()]
    _show(answer, ("moment", "of", "value", "low", "high"), rows, as_json, output)


@query.command()
def clusters(
    release: Release,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="How many clusters.", show_default=False)],
    method: Annotated[
        str | None,
        typer.Option(help="posterior, projected, thresholded or lloyd.", show_default="the service's choice"),
    ] = None,
    level: Level = 0.95,
    seed: Seed = 0,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Cluster centres in the attributes' own units, the largest cluster first, each number with its reach.

    \b
    Example:
      rugnik query clusters bike-trips --k 5
    """
    with connect(url, key) as client:
        answer = client.clusters(release_id(client, release), k, level=level, seed=seed, method=method)
    rows = []
    for center, size, certain in zip(answer.centers, answer.sizes, answer.uncertainty, strict=True):
        spans = [_span(value, each.low, each.high) for value, each in zip(center, certain.center, strict=True)]
        chance = [] if certain.noise_probability is None else [f"{certain.noise_probability:.2g}"]
        rows.append((round(size), f"{certain.size.low:,.0f} … {certain.size.high:,.0f}", *spans, *chance))
    judged = any(certain.noise_probability is not None for certain in answer.uncertainty)
    _show(answer, ("size", "size between", *answer.attributes, *["noise alone"] * judged), rows, as_json, output)
    if not as_json and output is None:
        for merge in answer.merges:
            pair = " and ".join(str(number + 1) for number in merge.clusters)
            note(f"Clusters {pair} may be one, with probability {merge.probability:.2f}.")
        note(f"method {answer.method}, stability {answer.stability:.2f}, inertia {answer.inertia:.4g}")
        if answer.method_reason:
            note(answer.method_reason)


@query.command()
def scan(
    release: Release,
    low: Annotated[int, typer.Option("--from", min=1, help="The smallest k.")] = 2,
    high: Annotated[int, typer.Option("--to", min=1, help="The largest k.")] = 10,
    seed: Seed = 0,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Inertia and stability for several k: which number of clusters the synopsis supports.

    \b
    Example:
      rugnik query scan bike-trips --from 2 --to 8
    """
    with connect(url, key) as client:
        answer = client.scan_clusters(release_id(client, release), low, high, seed=seed)
    rows = [(line.k, line.inertia, line.stability) for line in answer.scan]
    _show(answer, ("k", "inertia", "stability"), rows, as_json, output)


@query.command()
def rows(
    release: Release,
    count: Annotated[int, typer.Option(min=1, help="How many rows.")] = 10,
    seed: Seed = 0,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Synthetic rows; with -o as a file: .csv, .parquet or .json.

    \b
    Example:
      rugnik query rows bike-trips --count 1000 --seed 1 -o rows.parquet
    """
    with connect(url, key) as client:
        asked = release_id(client, release)
        if output is not None:
            client.download_rows(asked, output, count=count, seed=seed, format=_form(output))
            note(f"Written to {output}.")
            return
        answer = client.rows(asked, count, seed=seed)
    _show(answer, answer.attributes, answer.rows, as_json, None)


@query.command()
def synopsis(
    release: Release,
    url: Url = URL,
    key: Key = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """The whole noisy histogram; with -o as a file: .csv, .parquet, .arrow or .json.

    \b
    Example:
      rugnik query synopsis bike-trips -o cells.csv
    """
    with connect(url, key) as client:
        asked = release_id(client, release)
        if output is not None:
            client.download_synopsis(asked, output, format=_form(output))
            note(f"Written to {output}.")
            return
        answer = client.synopsis(asked)
    names = _sides(answer.attributes)
    rows = [(*box, count) for box, count in zip(answer.boxes(), answer.counts, strict=True)]
    _show(answer, (*names, "count"), rows, as_json, None)
    if answer.threshold is not None and not as_json:
        note(f"Only cells whose noisy count is {answer.threshold} or more were released.")


def _sides(axes: Sequence[Axis]) -> list[str]:
    """The columns of a box: both ends of an ordered attribute, or a category."""
    sides = ([axis.name] if axis.kind == "category" else [f"{axis.name} from", f"{axis.name} to"] for axis in axes)
    return [name for names in sides for name in names]


def _span(value: Value, low: Value, high: Value) -> str:
    return f"{_short(value, 4)} ({_short(low, 4)} … {_short(high, 4)})"


def _short(value: Value, digits: int) -> str:
    """A number with so many digits; a date as it is."""
    return value if isinstance(value, str) else f"{value:.{digits}g}"


def _form(output: Path) -> str:
    form = _FORMS.get(output.suffix.lower())
    if form is None:
        fail(f"{output}: end the name in {', '.join(_FORMS)}.", Code.USAGE)
    return form
