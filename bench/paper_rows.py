"""Every row of the paper's WCSS table (Table II), measured: the paper's grids, the peers, no privacy and our default.

Each row says what a release of it would be: three of them read the private points twice, and are no release at all.
Every number has a seed of its own, so that none depends on which others are measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from multiprocessing import Pool

import numpy as np
from rich.progress import track

from bench import methods
from bench.peers import environments
from bench.peers.coreset import coreset_centres
from bench.published import SEEDS, TABLES, Cell, Floats, Runs, Setting, dataset, noisy_counts, published_kmeans
from core.clustering.kmeans import kmeans, nearest

DRAWS = 4
_QUICK_DATASETS = 10  # in the row `posterior`, which takes most of the time
GRIDS = ("RUGNIK", "EUGkM")
BARE = "no privacy"
EPSILONS = (0.1, 0.15, 0.25, 0.4, 0.6, 1.0)


@dataclass(frozen=True, slots=True)
class Row:
    """A way to get centres. `printed` is the row of Table II beside it; `draws` of the noise on each dataset."""

    printed: str
    rule: str
    label: str
    privacy: str
    draws: int = DRAWS


_PAID, _UNPAID, _NONE = "epsilon", "no: reads points twice", "no"
ROWS = (
    Row("RUGNIK", "published", "ten runs, best by the private points", _UNPAID),
    Row("RUGNIK", "noisy", "same runs, best by the noisy objective", _PAID),
    Row("RUGNIK", "ours", "clipped counts, our k-means", _PAID),
    Row("EUGkM", "published", "ten runs, best by the private points", _UNPAID),
    Row("EUGkM", "noisy", "same runs, best by the noisy objective", _PAID),
    Row("EUGkM", "ours", "clipped counts, our k-means", _PAID),
    Row("RUGNIK", "posterior", "our service's default", _PAID, draws=1),
    Row("IBM", "diffprivlib", "diffprivlib 0.6.6, KMeans", _PAID),
    Row("GCC", "coreset", "bench/peers/coreset.py", "epsilon, delta = 1/N^2"),
    Row(BARE, "published", "ten packed starts on the points", _NONE, draws=1),
    Row(BARE, "ours", "our k-means on the points", _NONE, draws=1),
)
PRINTED: Mapping[Cell, float] = {
    Cell(e["method"], Setting(e["K"], e["N"], e["d"]), e["eps"])
    if e["method"] != "noprivate"
    else Cell(BARE, Setting(e["K"], e["N"], e["d"]), inf): e["value"]
    for e in TABLES["wcss"]
}
Values = dict[tuple[str, Cell], float]  # average WCSS of one dataset, by rule and entry


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the table, measured: the average WCSS of each dataset."""

    row: Row
    cell: Cell
    values: Floats

    @property
    def ratios(self) -> Floats:
        """Measured / printed, of each dataset."""
        return self.values / PRINTED[self.cell]

    @property
    def ratio(self) -> float:
        """Measured / printed."""
        return float(self.ratios.mean())

    @property
    def error(self) -> float:
        """Standard error of the ratio, clustered by dataset: draws on one dataset are not independent."""
        return float(self.ratios.std(ddof=1) / np.sqrt(len(self.values)))


Case = tuple[Setting, int, Sequence[float], bool]  # a setting, a seed, epsilons, and whether to measure `posterior`


def measure(case: Case) -> Values:
    """One dataset in every row but IBM's."""
    setting, seed, epsilons, slow = case
    points = dataset(setting, seed)
    values = _without_privacy(setting, points, seed)
    for epsilon in epsilons:
        for method in GRIDS:
            values |= _on_a_grid(Cell(method, setting, epsilon), points, seed)
        gcc, rugnik = Cell("GCC", setting, epsilon), Cell("RUGNIK", setting, epsilon)
        values["coreset", gcc] = coreset_value(gcc, points, seed)
        if slow:
            values["posterior", rugnik] = methods.wcss(rugnik, points, "posterior", seed)
    return values


def _without_privacy(setting: Setting, points: Floats, seed: int) -> Values:
    rng = np.random.default_rng([seed, *setting])
    cell, ones = Cell(BARE, setting, inf), np.ones(len(points))
    runs = published_kmeans(points, points, ones[None], setting.K, rng)
    ours = _ours(points, points, ones, setting.K, rng)
    return {("published", cell): runs.best_by_points(), ("ours", cell): ours}


def _on_a_grid(cell: Cell, points: Floats, seed: int) -> Values:
    rng = generator(cell, seed)
    counts, runs = published(cell, points, rng)
    ours = np.mean([_ours(points, cell.grid.centres(), draw, cell.setting.K, rng) for draw in counts])
    by_points, by_objective = runs.best_by_points(), runs.best_by_objective()
    return {("published", cell): by_points, ("noisy", cell): by_objective, ("ours", cell): float(ours)}


def coreset_value(cell: Cell, points: Floats, seed: int) -> float:
    """One dataset in the row GCC. The paper does not print delta; with 1 / N^2 its row is repeated."""
    setting, rng = cell.setting, np.random.default_rng([seed, *cell.setting, round(1000 * cell.epsilon), 2])
    drawn = [coreset_centres(points, setting.K, cell.epsilon, 1 / setting.N**2, rng) for _ in range(DRAWS)]
    return _wcss(points, np.stack(drawn))


def published(cell: Cell, points: Floats, rng: np.random.Generator) -> tuple[Floats, Runs]:
    """Noisy counts of one dataset in one cell, and the runs of k-means on them."""
    counts = noisy_counts(points, cell.grid, cell.epsilon, DRAWS, rng)
    return counts, published_kmeans(points, cell.grid.centres(), counts, cell.setting.K, rng)


def generator(cell: Cell, seed: int) -> np.random.Generator:
    """A stream for each cell and dataset, so that no entry depends on which others are measured."""
    return np.random.default_rng([seed, *cell.setting, round(1000 * cell.epsilon), GRIDS.index(cell.method)])


def _ours(points: Floats, cells: Floats, counts: Floats, K: int, rng: np.random.Generator) -> float:
    weights = np.maximum(counts, 0.0)
    if not weights.any():
        weights = np.ones(len(weights))
    return _wcss(points, kmeans(cells, weights, K, restarts=20 + 4 * K, rng=rng).centres[None])


def _wcss(points: Floats, centres: Floats) -> float:
    """The average WCSS of Eq. (1), averaged over (draws, K, d) centres."""
    return float(nearest(points, centres)[1].sum(axis=1).mean() / centres.shape[1])


def ibm(case: tuple[Setting, Sequence[int], Sequence[float]]) -> list[Values]:
    """All datasets of a setting in the row of diffprivlib, in one call of its environment."""
    setting, seeds, epsilons = case
    rows = np.stack([dataset(setting, seed) for seed in seeds])
    # The states of RandomState, which diffprivlib takes, have 32 bits.
    places = [[[seed, *setting, round(1000 * epsilon), 3] for seed in seeds] for epsilon in epsilons]
    states = np.array([[np.random.SeedSequence(place).generate_state(DRAWS) for place in line] for line in places])
    made = environments.run(
        "diffprivlib",
        "diffprivlib_table.py",
        {"rows": rows, "states": states},
        clusters=setting.K,
        epsilons=list(epsilons),
    )
    return [
        {
            ("diffprivlib", Cell("IBM", setting, epsilon)): _wcss(rows[i], centres[i])
            for epsilon, centres in zip(epsilons, made["centres"], strict=True)
        }
        for i in range(len(seeds))
    ]


def simulate(settings: Sequence[Setting], epsilons: Sequence[float], *, complete: bool, processes: int) -> list[Entry]:
    """Every entry of these settings and epsilons; `complete` has all datasets in the row `posterior` too."""
    slow = len(SEEDS) if complete else _QUICK_DATASETS
    # The largest tasks first, so that no core is idle at the end.
    order = sorted(settings, key=lambda setting: setting.K * setting.N * setting.d, reverse=True)
    cases: list[Case] = [(s, seed, epsilons, i < slow) for i, seed in enumerate(SEEDS) for s in order]
    environments.interpreter("diffprivlib")  # made once, before several processes want it
    values: dict[tuple[str, Cell], list[float]] = {}
    with Pool(processes) as pool:
        grids = track(pool.imap(measure, cases), "the paper's table", total=len(cases))
        _collect(grids, values)
        peers = track(pool.imap(ibm, [(s, SEEDS, epsilons) for s in order]), "diffprivlib", total=len(order))
        for batch in peers:
            _collect(batch, values)
    return [Entry(r, c, np.array(values[r.rule, c])) for r in ROWS for c in _cells(r, settings, epsilons)]


def _collect(measured: Iterable[Values], values: dict[tuple[str, Cell], list[float]]) -> None:
    for one in measured:
        for key, value in one.items():
            values.setdefault(key, []).append(value)


def _cells(row: Row, settings: Sequence[Setting], epsilons: Sequence[float]) -> list[Cell]:
    return [Cell(row.printed, s, e) for s in settings for e in ((inf,) if row.printed == BARE else epsilons)]
