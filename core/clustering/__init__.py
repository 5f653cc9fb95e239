"""Placing k centres on a noisy histogram, and their uncertainty. Histogram in, centres out: no rows, no fresh noise.

`methods` chooses. `kmeans` has Lloyd's algorithm, `blocks` fewer points for it. `mixture`, `likelihood`, `sampler` and
`posterior` estimate the counts by a mixture model. `centres_within_cells` refines centres on coarse grids. `certainty`
has their intervals. `axis_cells` and `fine_grid` have the cells of axes that may differ, and parts of cells.
"""
