"""diffprivlib's histogramdd of rows in [0, 1]^d; see bench/peers/environments.py for how it is called."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from diffprivlib.tools import histogramdd


def main() -> None:
    """From `rows` and `releases`, of an `epsilon`, `bins` and a `seed`, to the counts of each, by its number."""
    given, made, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    rows = np.load(given)["rows"]
    bounds = [(0.0, 1.0)] * rows.shape[1]
    warnings.simplefilter("ignore")
    counts = [
        histogramdd(rows, each["epsilon"], bins=each["bins"], range=bounds, random_state=each["seed"])[0]
        for each in options["releases"]
    ]
    np.savez(made, **{str(number): each for number, each in enumerate(counts)})


if __name__ == "__main__":
    main()
