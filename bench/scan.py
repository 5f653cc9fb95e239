"""The k that a scan recommends, on data that its constants were not chosen on.

`python -m bench.scan [--draws 2]`; 8 with FULL=1. Half a minute and two; not part of `python -m bench`.

Two kinds of data. The paper's generator (`bench.published`) places K clusters of equal size apart from one another, so
that their number is known. Sets that ship with scikit-learn (`bench.realsets`) have the number of their labels: species
of flowers, cultivars of wine, kinds of tumour. Labels need not be clusters, least of all in two or three attributes.
Grids are those of the default rule for 5 clusters, whatever K is: who asks for a recommended k does not know K.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from rich.progress import track

from bench.published import Floats, Setting, dataset
from bench.realsets import real_sets
from bench.report import Section, chosen, publish
from bench.synopses import released
from core.queries.cluster_scan import scan

LEAST, MOST = 2, 12
PLANNED = 5
SETTINGS = [Setting(*each) for each in product((2, 3, 4, 6, 8), (1_000, 10_000, 100_000), (2, 3))]
EPSILONS = ("0.1", "0.5", "1")
# The number of labels of each set that has some, apart from the attributes that were chosen of it.
LABELS = {"iris": 3, "wine": 3, "tumours": 2, "digits": 10}
_FRESH = 950  # the first seed; those from 900 on showed that sizes have to count, and are used up
DRAWS = chosen(2, 8)


class Trial(NamedTuple):
    """A set of rows with its number of clusters, an epsilon, and the k that was recommended; None where nothing was."""

    kind: str
    K: int
    epsilon: str
    k: int | None


def recommended(points: Floats, epsilon: str, seed: int) -> int | None:
    """From one release; None where nothing stands out."""
    rng = np.random.default_rng([_FRESH + seed, len(points), round(1000 * float(epsilon))])
    release = released(points, epsilon=epsilon, clusters=PLANNED, declared=True, rng=rng)
    ks = range(LEAST, min(MOST, len(release.counts)) + 1)  # small grids have fewer cells
    answer = scan(release, ks, seed=0).recommended
    return None if answer is None else answer.k


def on_generated(draws: int) -> list[Trial]:
    """The paper's generator, a new set for each draw; its seeds are not those of the paper's tables."""
    tasks = [(setting, epsilon, draw) for setting in SETTINGS for epsilon in EPSILONS for draw in range(draws)]
    return [
        Trial(f"{s.d} dimensions, N = {s.N:,}", s.K, epsilon, recommended(dataset(s, _FRESH + draw), epsilon, draw))
        for s, epsilon, draw in track(tasks, "generated")
    ]


def on_real(draws: int) -> list[Trial]:
    """Real sets by their labels."""
    sets = [(real, LABELS[kind]) for real in real_sets() if (kind := real.name.split()[0].strip(",")) in LABELS]
    tasks = [(real, labels, epsilon, draw) for real, labels in sets for epsilon in EPSILONS for draw in range(draws)]
    return [
        Trial(f"{real.name} ({len(real.points):,} rows)", labels, epsilon, recommended(real.points, epsilon, draw))
        for real, labels, epsilon, draw in track(tasks, "real")
    ]


def summary(title: str, trials: Sequence[Trial]) -> Section:
    """How often k was exact, off by one, off by more on either side, and none, by kind and epsilon."""
    rows = []
    for kind in (*dict.fromkeys(trial.kind for trial in trials), "all"):
        for epsilon in EPSILONS:
            own = [trial for trial in trials if kind in (trial.kind, "all") and trial.epsilon == epsilon]
            off = [trial.k - trial.K for trial in own if trial.k is not None]
            counts = (
                off.count(0),
                sum(abs(each) == 1 for each in off),
                sum(each < -1 for each in off),
                sum(each > 1 for each in off),
                len(own) - len(off),
            )
            rows.append([kind, epsilon, str(len(own)), *map(str, counts)])
    headings = ["data", "epsilon", "releases", "exact", "off by one", "too few", "too many", "none"]
    return Section(title, [f"k from {LEAST} to {MOST}."], headings, rows)


def run(draws: int = DRAWS) -> list[Section]:
    """Both kinds."""
    return [
        summary("Recommended k: the paper's generator", on_generated(draws)),
        summary("Recommended k: scikit-learn's sets by their labels", on_real(draws)),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS)
    publish(run(parser.parse_args().draws), "scan")
