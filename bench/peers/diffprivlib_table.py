"""diffprivlib's KMeans in [-1, 1]^d on many datasets of one size, at many epsilons; see bench/peers/environments.py.

Starting its environment takes longer than a hundred runs, so all of them are one call.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import KMeans


def main() -> None:
    """From (datasets, N, d) `rows` and (epsilons, datasets, draws) `states`, one centres array for each state."""
    given, made, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    with np.load(given) as arrays:
        rows, states = arrays["rows"], arrays["states"]
    clusters, d = options["clusters"], rows.shape[2]
    centres = np.empty((*states.shape, clusters, d))
    warnings.simplefilter("ignore")
    for place in np.ndindex(states.shape):
        epsilon, points = options["epsilons"][place[0]], rows[place[1]]
        bounds = (-np.ones(d), np.ones(d))
        model = KMeans(clusters, epsilon=epsilon, bounds=bounds, random_state=int(states[place]))
        centres[place] = model.fit(points).cluster_centers_
    np.savez(made, centres=centres)


if __name__ == "__main__":
    main()
