"""Views of answers that are counts or moments of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rugnik import wire
from rugnik.shown.digits import NONE, between, both_ends, place, rows, rows_between, short, value
from rugnik.shown.view import Bars, Chart, Map, Table, View, Whiskers
from rugnik.wire.cells import Axis
from rugnik.wire.cells import Box as CellBox

MOST_ROWS = 10  # of a table
_MOST_NAMED = 24  # values with intervals in one chart
_MOST_CELLS = 400  # of a histogram
MOST_SQUARES = 2500  # of a map


def about(answer: wire.Answer) -> list[str]:
    """What is said below every answer: its part, its notes, and where it is from."""
    part = ", ".join(f"{name}: {each}" for name, each in (answer.slice or {}).items())
    source = f"Release {answer.release}, synopsis {answer.synopsis_digest[:12]}…; this question cost no epsilon."
    return [*([f"About the part {part}."] if part else []), *answer.notes, source]


def count_view(answer: wire.Count) -> View:
    """A count with its whole interval, and of what that is made."""
    interval, noise, cut = answer.interval, answer.noise, answer.discretisation
    whole = f"{rows_between(interval.low, interval.high)} rows at level {interval.level:g}, about {rows(answer.count)}"
    parts = f"noise alone: {rows_between(noise.low, noise.high)}; without and with cut cells: "
    box = "".join(f"; {name} from {side.low} to {side.high}" for name, side in (answer.snapped or {}).items())
    line = f"{whole}; {parts}{rows_between(cut.low, cut.high)}{box}"
    chart = Whiskers(
        "rows",
        ("noise and cut cells", "noise alone"),
        (answer.count, answer.count),
        (interval.low, noise.low),
        (interval.high, noise.high),
    )
    return View("Count", line, charts=(chart,))


def counts_view(answer: wire.Counts) -> View:
    """The first boxes, in the order asked."""
    boxes = [f"box {i + 1}" for i in range(len(answer.counts))]
    listed = list(zip(boxes, answer.counts, answer.low, answer.high, strict=True))
    chart = whiskers("rows", listed)
    body = tuple((short(name, 60), rows(count), rows(low), rows(high)) for name, count, low, high in listed[:MOST_ROWS])
    line = ", ".join(f"{rows(count)} ({rows_between(low, high)})" for _, count, low, high in listed[:3])
    more = f", … of {len(listed):,} boxes" if len(listed) > 3 else ""
    return View("Counts", line + more, chart, (Table(("box", "rows", "low", "high"), body, len(listed)),))


def whiskers(axis: str, listed: Sequence[tuple[str, Any, Any, Any]]) -> tuple[Chart, ...]:
    """A chart of the values that there are, if they are not too many: name, value, and both ends of each."""
    there = [each for each in listed if each[1] is not None][:_MOST_NAMED]
    if not there:
        return ()
    values, low, high = (tuple(place(each[x]) for each in there) for x in (1, 2, 3))
    ends = None
    if isinstance(there[0][1], str):  # dates, whose places are days
        ends = (min(each[2] for each in there), max(each[3] for each in there))
    return (Whiskers(axis, tuple(each[0] for each in there), values, low, high, ends),)


def marginal_view(answer: wire.Marginal) -> View:
    """Bars for one attribute, a map for two, and the first cells."""
    cells = list(answer.cells())
    names = ", ".join(axis.name for axis in answer.attributes)
    total = f"about {rows(sum(count for _, count, _, _ in cells))} rows"
    charts = _charts(answer.attributes, [count for _, count, _, _ in cells], [each[2:] for each in cells])
    body = tuple(
        (*cell_names(answer.attributes, box), rows(count), rows(low), rows(high))
        for box, count, low, high in cells[:MOST_ROWS]
    )
    columns = (*(axis.name for axis in answer.attributes), "rows", "low", "high")
    line = f"{names}: {len(cells):,} cells, {total}"
    return View("Marginal", line, charts, (Table(columns, body, len(cells)),))


def _charts(axes: tuple[Axis, ...], counts: Sequence[float], ends: Sequence[tuple[Any, Any]]) -> tuple[Chart, ...]:
    if len(axes) == 1 and len(counts) <= _MOST_CELLS:
        low, high = zip(*ends, strict=True)
        return (Bars(axes[0].name, tuple(counts), low, high, _names(axes[0]), _ends(axes[0])),)
    if len(axes) == 2 and len(counts) <= MOST_SQUARES:
        inner = axes[1].cells
        columns = tuple(tuple(counts[i : i + inner]) for i in range(0, len(counts), inner))
        return (cell_map(axes[0], axes[1], columns, "rows"),)
    return ()


def cell_map(first: Axis, second: Axis, columns: tuple[tuple[float, ...], ...], counted: str) -> Map:
    """What is counted in each pair of cells of two attributes: `columns[i][j]`."""
    names = (_names(first), _names(second))
    ends_of = [_ends(axis) or (own[0], own[-1]) for axis, own in zip((first, second), names, strict=True)]
    return Map((first.name, second.name), columns, names, (ends_of[0], ends_of[1]), counted)


def _names(axis: Axis) -> tuple[str, ...]:
    return tuple(_cell_name(axis, axis.side(i)) for i in range(axis.cells))


def _ends(axis: Axis) -> tuple[str, str] | None:
    if axis.kind == "category":
        return None
    low, high = axis.shown((axis.edges[0], axis.edges[-1]))
    return value(low), value(high)


def cell_names(axes: Sequence[Axis], box: CellBox) -> list[str]:
    """A cell's place on each axis, in words."""
    named, sides = [], list(box)
    for axis in axes:
        named.append(_cell_name(axis, tuple(sides[: len(axis.columns)])))
        del sides[: len(axis.columns)]
    return named


def _cell_name(axis: Axis, edges: CellBox) -> str:
    """In words. A cell of datetimes ends before its upper edge, which a person cannot know; all others as typed."""
    side = axis.shown(edges)
    if all(end is None for end in side):
        return "(missing)"
    if len(side) == 1 or side[0] == side[1]:
        return value(side[0])
    until = "before " if axis.kind == "datetime" else ""
    return f"{value(side[0])} … {until}{value(side[1])}"


def quantiles_view(answer: wire.Quantiles) -> View:
    """Each quantile with its interval."""
    name = str(answer.parameters.get("attribute", "value"))
    listed = [(f"{each.q:g}", each.value, each.interval.low, each.interval.high) for each in answer.quantiles]
    cells = [between(each.discretisation.low, each.discretisation.high) for each in answer.quantiles]
    body = tuple(
        (q, value(at, low, high), *both_ends(low, high), cell)
        for (q, at, low, high), cell in zip(listed, cells, strict=True)
    )
    line = ", ".join(f"{q}: {value(at, low, high)} ({between(low, high)})" for q, at, low, high in listed[:5])
    table = Table(("q", name, "low", "high", "cell"), body, len(body))
    return View("Quantiles", f"{name} at {line}", whiskers(name, listed), (table,))


def moments_view(answer: wire.Moments) -> View:
    """Every moment with its interval, and what the grid can add."""
    body, correlations = [], []
    for (name, of, estimate), shift in zip(answer.estimates(), answer.shifts(), strict=True):
        low, high = estimate.interval.low, estimate.interval.high
        added = NONE if shift is None else value(shift)
        body.append((name, of, value(estimate.value, low, high), *both_ends(low, high), added))
        if name == "correlation":
            correlations.append((of, estimate.value, low, high))
    size, interval = answer.size, answer.size.interval
    means = ", ".join(f"mean {each.name} {value(*_estimated(each.mean))}" for each in answer.attributes[:4])
    line = f"{rows(size.value)} rows ({rows_between(interval.low, interval.high)}); {means}"
    table = Table(("moment", "of", "value", "low", "high", "grid adds up to"), tuple(body), len(body))
    return View("Moments", line, whiskers("correlation", correlations), (table,))


def _estimated(estimate: wire.ValueEstimate | wire.Estimate) -> tuple[Any, Any, Any]:
    return estimate.value, estimate.interval.low, estimate.interval.high


def rows_view(answer: wire.Rows) -> View:
    """The first synthetic rows."""
    body = tuple(tuple(value(each) for each in row) for row in answer.rows[:MOST_ROWS])
    line = f"{len(answer.rows):,} synthetic rows of {', '.join(answer.attributes)}"
    return View("Rows", line, tables=(Table(answer.attributes, body, len(answer.rows)),))


def synopsis_view(answer: wire.Synopsis) -> View:
    """What the histogram is, its picture where it has one or two attributes, and its first cells."""
    names = ", ".join(axis.name for axis in answer.attributes)
    line = f"{names}: {answer.grid.sentence}, about {rows(answer.size)} rows, epsilon {answer.epsilon}"
    charts: tuple[Chart, ...] = ()
    reach = None if answer.reach is None else answer.reach.each
    if answer.layers is None and answer.cells is None:
        ends = [(None, None) if reach is None else (count - reach, count + reach) for count in answer.counts]
        charts = _charts(answer.attributes, answer.counts, ends)
    body = tuple(
        (*cell_names(answer.attributes, box), rows(count))
        for box, count, _ in zip(answer.boxes(), answer.counts, range(MOST_ROWS), strict=False)
    )
    table = Table((*(axis.name for axis in answer.attributes), "rows"), body, len(answer.counts))
    noise = [] if answer.noise_sd is None else [f"Noise of a cell: standard deviation {answer.noise_sd:.3g}."]
    listed = (
        []
        if answer.threshold is None
        else [f"Only cells whose noisy count is {answer.threshold:,} or more were released."]
    )
    return View("Synopsis", line, charts, (table,), (*noise, *listed))


def grouped_view(answer: wire.Grouped, view_of: Callable[[Any], View]) -> View:
    """The line of each group; of counts, a chart of all groups as well."""
    kind = answer.kind
    if kind is None:
        names = ", ".join(group.value for group in answer.groups)
        return View("Grouped", f"{answer.question} by {answer.group_by}: {names}", remarks=tuple(about(answer)))
    groups = answer.answers(kind)
    body = tuple((name, view_of(each).line) for name, each in groups.items())
    counts = [
        (name, each.count, each.interval.low, each.interval.high)
        for name, each in groups.items()
        if isinstance(each, wire.Count)
    ]
    line = f"{answer.question} by {answer.group_by}: {', '.join(groups)}"
    table = Table((answer.group_by, answer.question), body, len(body))
    return View("Grouped", line, whiskers("rows", counts), (table,), tuple(about(answer)))
