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
    chart = view.charts[0]
    axes = plt.subplots(layout="constrained", figsize=_size(chart))[1] if ax is None else ax
    _draw(replace(chart, **{field.name: _plain(getattr(chart, field.name)) for field in fields(chart)}), axes)
    return axes


def _size(chart: Chart) -> tuple[float, float]:
    """Of a new figure, in inches: as matplotlib has it, higher where many names stand below one another."""
    return 6.4, max(4.8, 1 + 0.25 * len(chart.names) if isinstance(chart, Whiskers) else 0)


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
        _count_days(ax.xaxis)


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
            _count_days(axis_of)


def _count_days(axis: Any) -> None:
    """Ticks are dates: matplotlib counts days since 1970, as `digits.place` does. A few, because dates are long."""
    from matplotlib.dates import AutoDateLocator  # noqa: PLC0415 - it is there once there are axes

    axis.axis_date()
    axis.set_major_locator(AutoDateLocator(minticks=2, maxticks=5))  # type: ignore[no-untyped-call]


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
    across, up = (_some(len(names)) for names in chart.names)
    ax.set_xticks(across, [chart.names[0][i] for i in across], rotation=30, ha="right")
    ax.set_yticks(up, [chart.names[1][i] for i in up])
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
