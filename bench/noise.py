"""Our discrete Laplace sampler beside OpenDP's (exact, the same law) and numpy's (continuous, seeded, insecure).

`python -m bench.noise`. The targets: at least ten times OpenDP's speed, at most four times numpy's time, and no more
memory than the result and one block of scratch. OpenDP draws fewer numbers, as a draw costs the same at any count.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import opendp.prelude as dp
from matplotlib.figure import Figure

from bench.report import Section, compare, publish, save
from core.budget import Epsilon
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.discrete_laplace_sampler import draw_noise
from core.randomness import NoiseSource

EPSILONS = ("1", "0.1", "0.01", "0.0001")
DRAWS = 1_000_000
OPENDP_DRAWS = 10_000
REPEATS = 5
MEMORY_CELLS = (1_000_000, 4_000_000)


def _opendp_sampler(epsilon: Epsilon) -> Callable[[], object]:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    measurement = dp.m.make_laplace(*space, scale=1 / float(epsilon))
    zeros = [0] * OPENDP_DRAWS
    return lambda: measurement(zeros)


def nanoseconds_per_draw(epsilon: Epsilon) -> dict[str, float]:
    """Median CPU time of a draw, for each sampler."""
    noise, rng = NoiseSource(), np.random.default_rng(1)
    seconds = compare(
        {
            "rugnik": lambda: draw_noise(DiscreteLaplace.at(epsilon), DRAWS, noise),
            "numpy": lambda: rng.laplace(0, 1 / float(epsilon), DRAWS),
            "OpenDP": _opendp_sampler(epsilon),
        },
        repeats=REPEATS,
    )
    return {name: value / (OPENDP_DRAWS if name == "OpenDP" else DRAWS) * 1e9 for name, value in seconds.items()}


def memory(epsilon: Epsilon) -> tuple[float, float]:
    """Memory as bytes per cell and a constant in megabytes: slope and intercept of the peak over two sizes."""
    noise = NoiseSource()
    draw_noise(DiscreteLaplace.at(epsilon), 1, noise)  # the tables of this epsilon are built once and stay
    peaks = []
    for cells in MEMORY_CELLS:
        tracemalloc.start()
        draw_noise(DiscreteLaplace.at(epsilon), cells, noise)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    slope = (peaks[1] - peaks[0]) / (MEMORY_CELLS[1] - MEMORY_CELLS[0])
    return slope, (peaks[0] - slope * MEMORY_CELLS[0]) / 1e6


def run() -> list[Section]:
    """Speed and memory at each epsilon."""
    rows, faster, slower, times = [], [], [], []
    for text in EPSILONS:
        epsilon = Epsilon.parse(text)
        ns = nanoseconds_per_draw(epsilon)
        per_cell, constant = memory(epsilon)
        faster.append(ns["OpenDP"] / ns["rugnik"])
        slower.append(ns["rugnik"] / ns["numpy"])
        times.append(ns)
        figures = [f"{ns[name]:,.1f}" for name in ("rugnik", "numpy", "OpenDP")]
        rows.append([text, *figures, f"{faster[-1]:,.0f}x", f"{slower[-1]:.2f}x", f"{per_cell:.2f}", f"{constant:.1f}"])
    remarks = [
        f"At least {min(faster):,.0f} times OpenDP's speed (target: 10 or more).",
        f"At most {max(slower):.2f} times the time of numpy's insecure generator (target: 4 or less).",
        f"Medians of {REPEATS} rounds of {DRAWS:,} draws ({OPENDP_DRAWS:,} for OpenDP), one thread.",
    ]
    header = ["epsilon", "rugnik ns", "numpy ns", "OpenDP ns", "OpenDP/rugnik", "rugnik/numpy", "bytes/cell", "+ MB"]
    return [Section("Noise: time of a draw, memory of a cell", remarks, header, rows, _plot(times))]


def _plot(times: list[dict[str, float]]) -> str:
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    for shift, name in enumerate(("rugnik", "numpy", "OpenDP")):
        axes.bar(np.arange(len(EPSILONS)) + 0.27 * (shift - 1), [ns[name] for ns in times], 0.25, label=name)
    axes.set(yscale="log", xlabel="epsilon", ylabel="nanoseconds per draw", xticks=range(len(EPSILONS)))
    axes.set_xticklabels(EPSILONS)
    axes.legend()
    return save(figure, "noise")


if __name__ == "__main__":
    publish(run(), "noise")
