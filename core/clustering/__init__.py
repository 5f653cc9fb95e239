"""Placing k centres on a noisy histogram, and their uncertainty. Synopsis in, centres out: no rows, no fresh noise.

`methods` chooses. `kmeans` has Lloyd's algorithm. `mixture`, `likelihood`, `sampler` and `posterior` estimate the
counts by a mixture model. `centres_within_cells` refines centres on coarse grids. `certainty` has their intervals.
"""
