"""diffprivlib's KMeans on the rows of an .npz file; runs in an environment of its own, see bench/dimensions.py."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import KMeans


def main() -> None:
    """Print the centres for each seed as JSON."""
    path, clusters, epsilon, runs = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    rows = np.load(path)["rows"]
    bounds = (-np.ones(rows.shape[1]), np.ones(rows.shape[1]))
    warnings.simplefilter("ignore")
    centres = [
        KMeans(clusters, epsilon=epsilon, bounds=bounds, random_state=seed).fit(rows).cluster_centers_.tolist()
        for seed in range(runs)
    ]
    print(json.dumps(centres))


if __name__ == "__main__":
    main()
