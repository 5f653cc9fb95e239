"""Charts as SVG in the colour of the text around them, so that they can be read on dark and light paper."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rugnik.shown.digits import both_ends, short, value
from rugnik.shown.html import Markup, element
from rugnik.shown.view import Bars, Chart, Line, Map, Points, Whiskers

_COLOUR = "#1a9e8f"  # it stands out on white and on black
_WIDTH, _HEIGHT, _TOP, _BOTTOM = 440, 170, 10, 34
_LEFT = 62


def drawn(chart: Chart) -> Markup:
    """The picture of a chart."""
    match chart:
        case Whiskers():
            return _whiskers(chart)
        case Bars():
            return _bars(chart)
        case Map():
            return _map(chart)
        case Points():
            return _points(chart)
        case Line():
            return _line(chart)


class Scale:
    """Numbers from low to high -> places from one pixel to another. A little room is left at both ends."""

    def __init__(self, numbers: Sequence[float], first: float, last: float, *, room: float = 0.0) -> None:
        low, high = min(numbers, default=0.0), max(numbers, default=1.0)
        spread = (high - low) or abs(high) or 1.0
        self.low = low - room * spread if low < 0 else max(0.0, low - room * spread)  # no axis of counts below zero
        self.high = high + room * spread
        if self.low == self.high:
            self.high = self.low + spread
        self._first, self._last = first, last

    def __call__(self, number: float) -> float:
        """The place of a number."""
        share = (number - self.low) / (self.high - self.low)
        return round(self._first + share * (self._last - self._first), 1)


def _svg(label: str, width: int, height: int, *inner: str) -> Markup:
    style = "max-width:100%;height:auto;vertical-align:top;margin-right:12px"
    box = f"0 0 {width} {height}"
    shape = {"viewBox": box, "width": width, "height": height, "role": "img", "style": style}
    return element("svg", *inner, **shape, aria_label=label, xmlns="http://www.w3.org/2000/svg")


def _text(words: str, x: float, y: float, anchor: str = "middle") -> Markup:
    return element("text", short(words), x=x, y=y, text_anchor=anchor, font_size=11, fill="currentColor", opacity=0.8)


def _stroke(x1: float, y1: float, x2: float, y2: float, *, faint: bool = False) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke="currentColor", opacity=0.35 if faint else 0.9)


def _between(low: float | None, high: float | None) -> list[float]:
    return [each for each in (low, high) if each is not None]


def _whiskers(chart: Whiskers) -> Markup:
    """A dot for each value, and a line for its interval."""
    height = 22 * len(chart.names) + _BOTTOM
    left = 12 + min(180, 7 * max(len(short(name)) for name in chart.names))
    ends = [each for pair in zip(chart.low, chart.high, strict=True) for each in _between(*pair)]
    scale = Scale([*chart.values, *ends], left, _WIDTH - 20, room=0.05)
    parts = []
    for i, (name, at, low, high) in enumerate(zip(chart.names, chart.values, chart.low, chart.high, strict=True)):
        y = 12 + 22 * i
        if low is not None and high is not None:
            parts += [_stroke(scale(low), y, scale(high), y)]
            parts += [_stroke(scale(end), y - 4, scale(end), y + 4) for end in (low, high)]
        parts += [element("circle", cx=scale(at), cy=y, r=3.5, fill=_COLOUR), _text(name, left - 8, y + 4, "end")]
    words = chart.ends or both_ends(scale.low, scale.high)
    foot = _across(chart.axis, words, left, _WIDTH - 20, height)
    return _svg(f"{chart.axis}: values with intervals", _WIDTH, height, *parts, *foot)


def _across(axis: str, ends: tuple[str, str], left: float, right: float, height: float) -> list[Markup]:
    """A line below a chart, the words at its ends, and its name."""
    y = height - _BOTTOM + 4
    words = [_text(ends[0], left, y + 14, "start"), _text(ends[1], right, y + 14, "end")]
    return [_stroke(left, y, right, y, faint=True), *words, _text(axis, (left + right) / 2, y + 28)]


def _upward(axis: str, scale: Scale) -> list[Markup]:
    """The words beside a chart: its highest number, zero or the lowest one, and what they count."""
    low, high = both_ends(scale.low, scale.high)
    top, bottom = _TOP + 4, _HEIGHT - _BOTTOM + 4
    return [
        _text(high, _LEFT - 6, top, "end"),
        _text(low, _LEFT - 6, bottom, "end"),
        _text(axis, _LEFT - 6, (top + bottom) / 2, "end"),
    ]


def _bars(chart: Bars) -> Markup:
    """A bar for each cell with a line for its interval. Noise makes counts below zero, which are drawn as such."""
    ends = [each for pair in zip(chart.low, chart.high, strict=True) for each in _between(*pair)]
    scale = Scale([0.0, *chart.values, *ends], _HEIGHT - _BOTTOM, _TOP)
    width = (_WIDTH - 20 - _LEFT) / max(1, len(chart.values))
    parts = []
    for i, (count, low, high) in enumerate(zip(chart.values, chart.low, chart.high, strict=True)):
        x, top, zero = _LEFT + i * width, scale(max(count, 0.0)), scale(min(count, 0.0))
        shape = {"x": round(x, 1), "y": top, "width": round(max(width * 0.9, 0.8), 1), "height": round(zero - top, 1)}
        parts.append(element("rect", **shape, fill=_COLOUR, opacity=0.8))
        if low is not None and high is not None and width >= 3:
            parts.append(_stroke(round(x + 0.45 * width, 1), scale(low), round(x + 0.45 * width, 1), scale(high)))
    words = chart.ends or ("", "")
    foot = _across(chart.axis, words, _LEFT, _WIDTH - 20, _HEIGHT)
    if chart.ends is None:
        most = max(3, int(width / 7))
        foot += [
            _text(short(name, most), _LEFT + (i + 0.45) * width, _HEIGHT - _BOTTOM + 18)
            for i, name in enumerate(chart.names)
            if width >= 14
        ]
    return _svg(f"{chart.counted} by {chart.axis}", _WIDTH, _HEIGHT, *parts, *_upward(chart.counted, scale), *foot)


def _map(chart: Map) -> Markup:
    """A square for each pair of cells, the darker the more."""
    side, height = 210, 210 + _BOTTOM
    most = max((each for column in chart.values for each in column), default=0.0)
    width, tall = side / max(1, len(chart.values)), side / max(1, len(chart.values[0]))
    parts = [element("rect", x=_LEFT, y=0, width=side, height=side, fill="none", stroke="currentColor", opacity=0.35)]
    for i, column in enumerate(chart.values):
        for j, count in enumerate(column):
            if most > 0 and count > 0.01 * most:
                shape = {"x": round(_LEFT + i * width, 1), "y": round(side - (j + 1) * tall, 1)}
                size = {"width": round(width, 1), "height": round(tall, 1)}
                parts.append(element("rect", **shape, **size, fill=_COLOUR, fill_opacity=round(count / most, 2)))
    first, second = chart.ends
    foot = _across(chart.axes[0], first, _LEFT, _LEFT + side, height)
    beside = [
        _text(short(second[1], 9), _LEFT - 6, 12, "end"),
        _text(short(second[0], 9), _LEFT - 6, side, "end"),
        _text(short(chart.axes[1], 9), _LEFT - 6, side / 2, "end"),
    ]
    label = f"{chart.counted.capitalize()} by {chart.axes[0]} and {chart.axes[1]}; at most {value(most)}"
    return _svg(label, _LEFT + side + 10, height, *parts, *foot, *beside)


def _points(chart: Points) -> Markup:
    """A circle for each centre, its area by its size, with a cross of intervals."""
    across, up = ([point[axis] for point in (*chart.centers, *chart.low, *chart.high)] for axis in (0, 1))
    height = 230
    x, y = Scale(across, _LEFT, 330, room=0.06), Scale(up, height - _BOTTOM, _TOP, room=0.06)
    most = max(chart.weights, default=1.0) or 1.0
    parts = []
    for i, (center, low, high) in enumerate(zip(chart.centers, chart.low, chart.high, strict=True)):
        at = x(center[0]), y(center[1])
        radius = round(4 + 10 * (max(chart.weights[i], 0.0) / most) ** 0.5, 1)
        parts += [
            element("circle", cx=at[0], cy=at[1], r=radius, fill=_COLOUR, opacity=0.55),
            _stroke(x(low[0]), at[1], x(high[0]), at[1]),
            _stroke(at[0], y(low[1]), at[0], y(high[1])),
            _text(str(i + 1), at[0] + radius + 6, at[1] + 4),
        ]
    ends = [words or both_ends(scale.low, scale.high) for words, scale in zip(chart.ends, (x, y), strict=True)]
    foot = _across(chart.axes[0], ends[0], _LEFT, 330, height)
    beside = [
        _text(short(ends[1][1], 9), _LEFT - 6, _TOP + 4, "end"),
        _text(short(ends[1][0], 9), _LEFT - 6, height - _BOTTOM, "end"),
        _text(short(chart.axes[1], 9), _LEFT - 6, height / 2 - 10, "end"),
    ]
    frame = _stroke(_LEFT, _TOP, _LEFT, height - _BOTTOM + 4, faint=True)
    return _svg(f"Centres by {chart.axes[0]} and {chart.axes[1]}", 360, height, frame, *parts, *foot, *beside)


def _line(chart: Line) -> Markup:
    """Dots joined by lines; the one that stands out is ringed."""
    x, y = Scale(chart.at, _LEFT, 250, room=0.05), Scale(chart.values, _HEIGHT - _BOTTOM, _TOP)
    dots = [(x(at), y(number)) for at, number in zip(chart.at, chart.values, strict=True)]
    parts = [_stroke(*first, *second, faint=True) for first, second in pairwise(dots)]
    for place, (across, up) in zip(chart.at, dots, strict=True):
        parts.append(element("circle", cx=across, cy=up, r=3.5, fill=_COLOUR))
        if place == chart.marked:
            parts.append(element("circle", cx=across, cy=up, r=7, fill="none", stroke="currentColor"))
    foot = _across(chart.axes[0], (str(min(chart.at)), str(max(chart.at))), _LEFT, 250, _HEIGHT)
    title = f"{chart.axes[1]} by {chart.axes[0]}"
    return _svg(title, 270, _HEIGHT, *parts, *_upward(chart.axes[1], y), *foot)
