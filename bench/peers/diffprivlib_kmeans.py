"""diffprivlib's KMeans in [-1, 1]^d, one run for each seed; see bench/peers/environments.py for how it is called."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import KMeans


def main() -> None:
    """From `rows`, `clusters`, `epsilon` and `seeds` to `centres`, (seeds, clusters, d)."""
    given, made, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    rows = np.load(given)["rows"]
    bounds = (-np.ones(rows.shape[1]), np.ones(rows.shape[1]))
    warnings.simplefilter("ignore")
    models = [
        KMeans(options["clusters"], epsilon=options["epsilon"], bounds=bounds, random_state=seed)
        for seed in options["seeds"]
    ]
    np.savez(made, centres=np.array([model.fit(rows).cluster_centers_ for model in models]))


if __name__ == "__main__":
    main()
