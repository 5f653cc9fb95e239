"""Views of answers about clusters."""

from __future__ import annotations

from collections import Counter

from rugnik import wire
from rugnik.shown.answers import MOST_ROWS
from rugnik.shown.digits import between, place, rows, rows_between, value
from rugnik.shown.view import Bars, Chart, Line, Points, Table, View, Whiskers


def clusters_view(answer: wire.Clusters) -> View:
    """Centres with intervals, and a chart of the first two attributes."""
    body = []
    for i, (center, size, certain) in enumerate(zip(answer.centers, answer.sizes, answer.uncertainty, strict=True)):
        spans = [
            f"{value(at, each.low, each.high)} ({between(each.low, each.high)})"
            for at, each in zip(center, certain.center, strict=True)
        ]
        between_sizes = rows_between(certain.size.low, certain.size.high)
        body.append((str(i + 1), f"{rows(size)} ({between_sizes})", *spans))
    columns = ("cluster", "rows", *answer.attributes)
    merges = [
        f"Clusters {' and '.join(str(number + 1) for number in merge.clusters)} may be one, with probability "
        f"{merge.probability:.2f}."
        for merge in answer.merges
    ]
    method = f"Method {answer.method}, stability {answer.stability:.2f}, inertia {answer.inertia:.4g}."
    sizes = ", ".join(map(rows, answer.sizes))
    line = f"{len(answer.centers)} centres in {', '.join(answer.attributes)}, sizes {sizes}"
    table = Table(columns, tuple(body), len(body))
    remarks = (*answer.warnings, *merges, method, *filter(None, [answer.method_reason]))
    return View("Clusters", line, _centres(answer), (table,), remarks)


def _centres(answer: wire.Clusters) -> tuple[Chart, ...]:
    if not answer.centers or not answer.attributes:
        return ()
    low = [[each.low for each in certain.center] for certain in answer.uncertainty]
    high = [[each.high for each in certain.center] for certain in answer.uncertainty]
    words = [_dates([row[x] for row in low], [row[x] for row in high]) for x in range(len(answer.attributes))]
    if len(answer.attributes) == 1:
        sides = [tuple(place(row[0]) for row in side) for side in (answer.centers, low, high)]
        names = tuple(f"cluster {i + 1}" for i in range(len(answer.centers)))
        return (Whiskers(answer.attributes[0], names, sides[0], sides[1], sides[2], words[0]),)
    pairs = [tuple((place(row[0]), place(row[1])) for row in side) for side in (answer.centers, low, high)]
    axes = (answer.attributes[0], answer.attributes[1])
    return (Points(axes, pairs[0], pairs[1], pairs[2], answer.sizes, (words[0], words[1])),)


def _dates(low: list[float | str], high: list[float | str]) -> tuple[str, str] | None:
    """The ends in words, where they are dates."""
    texts = [[each for each in side if isinstance(each, str)] for side in (low, high)]
    return (min(texts[0]), max(texts[1])) if all(texts) else None


def scan_view(answer: wire.Scan) -> View:
    """Stability and inertia by k; the k that the service recommends, where it does, stands out."""
    at = tuple(line.k for line in answer.scan)
    advice = answer.recommended
    marked = advice.k if advice is not None and advice.k in at else None
    charts = tuple(
        Line(("k", name), at, tuple(getattr(line, name) for line in answer.scan), marked)
        for name in ("stability", "inertia")
    )
    body = tuple((str(line.k), f"{line.stability:.2f}", f"{line.inertia:.4g}") for line in answer.scan)
    stable = ", ".join(f"{line.k}: {line.stability:.2f}" for line in answer.scan)
    reason = None if advice is None else advice.reason
    remarks = (*filter(None, [reason, answer.method_reason]),)
    table = Table(("k", "stability", "inertia"), body, len(body))
    return View("Scan", f"stability by k: {stable}", charts, (table,), remarks)


def assignment_view(answer: wire.Assignment) -> View:
    """How many points each centre has."""
    counted = Counter(answer.labels)
    counts = [counted[i] for i in range(len(answer.centers))]
    body = tuple(
        (str(i + 1), f"{count:,}", *map(value, center))
        for i, (count, center) in enumerate(zip(counts, answer.centers, strict=True))
    )
    names = tuple(str(i + 1) for i in range(len(counts)))
    none = (None,) * len(counts)
    bars = Bars("cluster", tuple(map(float, counts)), none, none, names, counted="points")
    width = max((len(center) for center in answer.centers), default=0)
    columns = ("cluster", "points", *(f"centre {x + 1}" for x in range(width)))
    sizes = ", ".join(f"{count:,}" for count in counts[:MOST_ROWS])
    line = f"{len(answer.labels):,} points at {len(counts)} centres: {sizes}"
    return View("Assignment", line, (bars,), (Table(columns, body, len(body)),))
