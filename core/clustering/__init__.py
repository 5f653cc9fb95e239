"""Placing k centres on a noisy histogram, and their uncertainty. Histogram in, centres out: no rows, no fresh noise.

`choice` chooses a method and `methods` has them, with weights from `weights`. `kmeans` has Lloyd's algorithm, `blocks`
fewer points for it. `mixture`, `likelihood`, `layout`, `relocation`, `sampler` and `posterior` estimate the counts by a
mixture model; `boxes`, `fine_boxes`, `layered_likelihood` and the modules of leaves do so for adaptive releases.
`centres_within_cells` refines centres on coarse grids. `certainty` has their intervals, `stability` how firm they are.
`axis_cells` and `fine_grid` have the cells of axes that may differ, and parts of cells.
"""
