"""Our discrete Laplace sampler beside OpenDP's (exact, the same law) and numpy's (continuous, seeded, insecure).

`python -m bench.noise`. The targets: at least ten times OpenDP's speed, at most four times numpy's time, and no more
memory than the result and one block of scratch. OpenDP draws fewer numbers, as a draw costs the same at any count. It
runs in an environment and a process of its own (`bench.peers.timed`), where its CPU time is measured.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from bench.peers.timed import timed
from bench.report import Section, cpu_seconds, publish, save, take_turns
from core.budget import Epsilon
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.discrete_laplace_sampler import draw_noise
from core.randomness import NoiseSource

EPSILONS = ("1", "0.1", "0.01", "0.0001")
DRAWS = 1_000_000
OPENDP_DRAWS = 10_000
REPEATS = 5
MEMORY_CELLS = (1_000_000, 4_000_000)


def nanoseconds_per_draw(epsilon: Epsilon) -> dict[str, float]:
    """Median CPU time of a draw, for each sampler."""
    noise, rng = NoiseSource(), np.random.default_rng(1)
    scale = 1 / float(epsilon)
    with timed("opendp", "opendp_laplace.py", cores="all", scale=scale, draws=OPENDP_DRAWS) as opendp:
        timers: dict[str, Callable[[], float]] = {
            "rugnik": partial(cpu_seconds, lambda: draw_noise(DiscreteLaplace.at(epsilon), DRAWS, noise)),
            "numpy": partial(cpu_seconds, lambda: rng.laplace(0, scale, DRAWS)),
            "OpenDP": opendp.cpu_seconds,
        }
        seconds = take_turns(timers, repeats=REPEATS)
        assert opendp.result == OPENDP_DRAWS
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
