"""Intervals that follow from the public law of the noise alone; nothing is assumed about the rows.

`radius` chooses a method for the radius of a weighted sum of noise: `exact`, `lattice`, `normal` or `chernoff`, each in
a module of its own. `ratios` has Fieller intervals, `listed` bounds for thresholded releases, `levels` confidence
levels. Nothing here can draw noise.
"""
