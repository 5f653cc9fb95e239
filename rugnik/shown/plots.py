"""Charts as axes of matplotlib, which has to be installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from rugnik.errors import MissingLibrary, UnfitArgument
from rugnik.shown.view import Bars, Chart, Line, Map, Points, View, Whiskers


def plotted(view: View, ax: Any) -> Any:
    """The first chart of a view, on the given axes or on new ones; the axes."""
    if not view.charts:
        raise UnfitArgument(f"{view.title} has no chart: to_pandas() or .raw have its numbers.")
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415 - the client works without it
    except ImportError:
        raise MissingLibrary("plot() needs matplotlib: pip install matplotlib. to_pandas() does not.") from None
    axes = plt.subplots()[1] if ax is None else ax
    chart = view.charts[0]
    _draw(replace(chart, **{field.name: _plain(getattr(chart, field.name)) for field in fields(chart)}), axes)
    return axes


def _plain(part: Any) -> Any:
    """A part of a chart whose texts matplotlib takes as they are: it reads what stands between two dollars as TeX."""
    if isinstance(part, str):
        return part.replace("$", r"\$")
    return tuple(map(_plain, part)) if isinstance(part, tuple) else part


def _draw(chart: Chart, ax: Any) -> None:
    match chart:
        case Whiskers():
            _whiskers(chart, ax)
        case Bars():
            _bars(chart, ax)
        case Map():
            _map(chart, ax)
        case Points():
            _points(chart, ax)
        case Line():
            _line(chart, ax)


def _whiskers(chart: Whiskers, ax: Any) -> None:
    places = range(len(chart.names))
    ax.errorbar(chart.values, places, xerr=_reach(chart.values, chart.low, chart.high), fmt="o", capsize=3)
    ax.set_yticks(list(places), chart.names)
    ax.invert_yaxis()
    ax.set_xlabel(chart.axis)
    if chart.ends is not None:
        ax.xaxis_date()  # it counts days since 1970, as `digits.place` does


def _bars(chart: Bars, ax: Any) -> None:
    places = range(len(chart.values))
    ax.bar(places, chart.values, yerr=_reach(chart.values, chart.low, chart.high), width=0.9, capsize=2)
    shown = _some(len(chart.names))
    ax.set_xticks(shown, [chart.names[i] for i in shown], rotation=30, ha="right")
    ax.set_xlabel(chart.axis)
    ax.set_ylabel(chart.counted)


def _points(chart: Points, ax: Any) -> None:
    at = list(zip(*chart.centers, strict=True))
    for axis, errors in ((0, "xerr"), (1, "yerr")):
        center, low, high = ([each[axis] for each in side] for side in (chart.centers, chart.low, chart.high))
        ax.errorbar(*at, **{errors: _reach(center, low, high)}, fmt="none", capsize=2)
    most = max(chart.weights, default=1.0) or 1.0
    ax.scatter(*at, s=[20 + 300 * max(weight, 0.0) / most for weight in chart.weights], alpha=0.6)
    for i, place in enumerate(chart.centers):
        ax.annotate(str(i + 1), place)
    ax.set_xlabel(chart.axes[0])
    ax.set_ylabel(chart.axes[1])
    for words, axis_of in zip(chart.ends, (ax.xaxis, ax.yaxis), strict=True):
        if words is not None:
            axis_of.axis_date()


def _line(chart: Line, ax: Any) -> None:
    ax.plot(chart.at, chart.values, marker="o")
    if chart.marked is not None:
        ax.axvline(chart.marked, linestyle=":")
    ax.set_xlabel(chart.axes[0])
    ax.set_ylabel(chart.axes[1])


def _map(chart: Map, ax: Any) -> None:
    columns = [list(column) for column in chart.values]
    image = ax.imshow([list(row) for row in zip(*columns, strict=True)], origin="lower", aspect="auto")
    ax.figure.colorbar(image, ax=ax, label=chart.counted)
    for names, set_ticks in zip(chart.names, (ax.set_xticks, ax.set_yticks), strict=True):
        shown = _some(len(names))
        set_ticks(shown, [names[i] for i in shown])
    ax.set_xlabel(chart.axes[0])
    ax.set_ylabel(chart.axes[1])


def _reach(values: Sequence[float], low: Sequence[float | None], high: Sequence[float | None]) -> Any:
    """How far intervals reach to both sides; None where there are none."""
    below = [value - (value if end is None else end) for value, end in zip(values, low, strict=True)]
    above = [(value if end is None else end) - value for value, end in zip(values, high, strict=True)]
    reach = [[max(0.0, each) for each in side] for side in (below, above)]
    return reach if any(map(any, reach)) else None


def _some(count: int) -> list[int]:
    """At most eight places of many, evenly apart."""
    return list(range(0, count, -(-count // 8))) if count else []
