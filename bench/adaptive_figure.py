"""`python -m bench.adaptive_figure`: docs/methods/adaptive.svg, the same made-up rows released by the three rules.

40,000 rows, as skewed as incomes are: most lie near a corner of wide bounds, a few far out, a tenth in small clusters.
Each rule has epsilon 0.5 and a declared size. A cell's colour is its estimated density; below, a part of the space is
enlarged. The error under each name is the root mean square over 500 ranges of 1 % of the space and ten releases, noise
and cut cells together. Noise comes from the operating system, so that no two pictures are the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex
from rich.progress import track

from bench.published import Floats
from bench.range_workload import exact_counts, ranges_of
from bench.synopses import RowsInMemory, drawn, rows_in_memory
from core.adaptive.cells import AdaptiveCells
from core.plan import Rule
from core.queries.boxes import Box, Range
from core.queries.range_count import count_boxes, range_table
from core.synopsis import Synopsis

TARGET = Path(__file__).parents[1] / "docs" / "methods" / "adaptive.svg"
ROWS, EPSILON, CLUSTERS, DRAWS = 40_000, "0.5", 4, 10
RULES = (Rule.RUGNIK, Rule.EUGKM, Rule.ADAPTIVE)
ENLARGED = 0.25  # the part of each axis, from its lower end, that the second line of panels shows
SIDE, GAP, TOP, LEFT = 300, 24, 64, 36  # pixels
STEPS = 2.0 ** np.arange(-2, 8)  # densities, as multiples of the mean, at which the colour changes
COLOURS = [to_hex(colormaps["YlGnBu"](share)) for share in np.linspace(0, 1, len(STEPS) + 1)]
_MOST = 300_000  # bytes


class Drawing(NamedTuple):
    """A rule's cells in [0, 1]^2, their densities as multiples of the mean, and the error of its counts."""

    rule: Rule
    low: Floats
    high: Floats
    density: Floats
    error: float


def rows_of(rng: np.random.Generator) -> Floats:
    """Rows in [0, 1)^2."""
    heap = rng.lognormal((-2.9, -2.3), (0.75, 0.6), (ROWS * 9 // 10, 2))
    middles = np.array([(0.30, 0.62), (0.66, 0.22), (0.07, 0.20)])
    clusters = middles[rng.integers(3, size=ROWS - len(heap))] + rng.normal(0, 0.012, (ROWS - len(heap), 2))
    rows: Floats = np.clip(np.concatenate([heap, clusters]), 0.0, 1.0 - 1e-9)
    return rows


def cells_of(synopsis: Synopsis) -> tuple[Floats, Floats, Floats]:
    """Lower and upper ends of all cells, and the estimated rows in each."""
    if isinstance(synopsis.cells, AdaptiveCells):
        leaves = synopsis.cells.leaves
        return (leaves.low + 1) / 2, (leaves.high + 1) / 2, synopsis.cells.estimates
    shape = np.array(synopsis.grid.shape)
    places = np.indices(synopsis.grid.shape).reshape(2, -1).T
    return places / shape, (places + 1) / shape, synopsis.counts.ravel().astype(np.float64)


def drawing_of(rule: Rule, rows: RowsInMemory, boxes: tuple[Box, ...], exact: Floats) -> Drawing:
    """The last of several releases, and the error over all of them."""
    squares = []
    for _ in track(range(DRAWS), description=rule.value, transient=True):
        synopsis = drawn(rows, epsilon=EPSILON, clusters=CLUSTERS, declared=True, rule=rule)
        answer = count_boxes(range_table(synopsis), boxes, level=0.95, simultaneous=False)
        squares.append(np.mean((answer.count - exact) ** 2))
    low, high, estimates = cells_of(synopsis)
    density = estimates / (high - low).prod(axis=1) / len(rows)
    return Drawing(rule, low, high, density, float(np.sqrt(np.mean(squares))))


def panel(drawing: Drawing, left: float, top: float, part: float) -> list[str]:
    """A square of cells, one path for each colour; the first attribute runs to the right, the second upwards."""
    shown = (drawing.low < part).all(axis=1)
    scale = SIDE / part
    x, y = (scale * drawing.low[shown]).round(1).T
    right, above = (scale * np.minimum(drawing.high[shown], part)).round(1).T
    colour = np.searchsorted(STEPS, drawing.density[shown], side="right")
    lines = [f'<g transform="translate({left} {top})">']
    for number, name in enumerate(COLOURS):
        boxes = np.stack([x, SIDE - above, right - x, above - y], axis=1)[colour == number]
        path = "".join(f"M{a:.4g} {b:.4g}h{w:.3g}v{h:.3g}h-{w:.3g}z" for a, b, w, h in boxes)
        lines.append(f'<path d="{path}" fill="{name}" class="cells"/>')
    lines.append(f'<rect width="{SIDE}" height="{SIDE}" class="frame"/></g>')
    return lines


def key(left: float, top: float) -> list[str]:
    """The colours and what they stand for."""
    wide = 40
    lines = [f'<text x="{left}" y="{top - 8}">estimated density, as a multiple of the mean</text>']
    for number, name in enumerate(COLOURS):
        lines.append(f'<rect x="{left + number * wide}" y="{top}" width="{wide}" height="12" fill="{name}"/>')
    for number, step in enumerate(STEPS, start=1):
        words = f"{step:g}" if step >= 1 else f"1/{1 / step:g}"
        lines.append(
            f'<text x="{left + number * wide}" y="{top + 27}" class="small" text-anchor="middle">{words}</text>'
        )
    return lines


def picture(drawings: list[Drawing]) -> str:
    """The figure as SVG, on a ground of its own so that it reads the same on a dark page."""
    width, second = LEFT + 3 * SIDE + 3 * GAP, TOP + SIDE + 42
    height = second + SIDE + 72
    title = "The same rows under three rules"
    each = "; ".join(
        f"{drawing.rule.value}: {len(drawing.low):,} cells, a 1 % count is off by {drawing.error:.0f}"
        for drawing in drawings
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t d" '
        'font-family="system-ui, sans-serif" font-size="14">',
        f'<title id="t">{title}</title><desc id="d">{ROWS:,} made-up rows, epsilon {EPSILON}. {each}.</desc>',
        "<style>text{fill:#1b262c}.name{font-weight:600}.small{font-size:12px;fill:#455a64}"
        ".cells{stroke:#37474f;stroke-width:.3;stroke-opacity:.55}.frame{fill:none;stroke:#37474f}"
        ".part{fill:none;stroke:#c62828;stroke-width:1.6}</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, drawing in enumerate(drawings):
        left = LEFT + number * (SIDE + GAP)
        words = f"{len(drawing.low):,} cells; a 1 % count is off by {drawing.error:.0f}"
        side = ENLARGED * SIDE
        lines += [
            f'<text x="{left}" y="{TOP - 34}" class="name">{drawing.rule.value}</text>',
            f'<text x="{left}" y="{TOP - 14}" class="small">{words}</text>',
            *panel(drawing, left, TOP, 1.0),
            f'<rect x="{left}" y="{TOP + SIDE - side}" width="{side}" height="{side}" class="part"/>',
            *panel(drawing, left, second, ENLARGED),
            f'<rect x="{left}" y="{second}" width="{SIDE}" height="{SIDE}" class="part"/>',
        ]
    lines.append(f'<text x="{LEFT}" y="{second - 12}" class="small">the part in the red frame, enlarged</text>')
    lines += [*key(LEFT, second + SIDE + 34), "</svg>", ""]
    return "\n".join(lines)


def main() -> None:
    """Draw the releases and write the figure."""
    rng = np.random.default_rng(14)
    points = rows_of(rng)
    ranges = ranges_of("1 %", 2, rng)
    boxes = tuple((Range("x0", a, c), Range("x1", b, d)) for (a, b), (c, d) in ranges.tolist())
    exact, rows = exact_counts(points, ranges), rows_in_memory(points)
    drawings = [drawing_of(rule, rows, boxes, exact) for rule in RULES]
    text = picture(drawings)
    assert len(text) < _MOST, len(text)
    TARGET.write_text(text, "utf-8")
    for drawing in drawings:
        print(f"{drawing.rule.value}: {len(drawing.low):,} cells, a 1 % count is off by {drawing.error:.0f}")
    print(f"docs/methods/{TARGET.name}: {len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
