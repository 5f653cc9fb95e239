"""The exact sampler of the discrete vector Laplace law: random bits and whole numbers, no step rounds.

Z has P(Z = z) = C p^(max |z_x|) with p = exp(-e), for a rational rate e (`core.mechanisms.vector_laplace`).
Three steps, each of which keeps that law exact:

1. *Mixture.* Let k >= 0 have P(k) proportional to (2k + 1)^d p^k, and let Z be uniform on the (2k + 1)^d vectors with
   all coordinates in -k … k. Then P(Z = z) is proportional to the sum over k >= max |z_x| of p^k, which is
   p^(max |z_x|) / (1 - p).
2. *Rejection.* The sum G of d + 1 independent geometric numbers has P(G = k) = C(k + d, d) (1 - p)^(d + 1) p^k. Accept
   it with probability a(k) = product over i = 1 … d of (2k + 1) / (2k + 2i), which is at most 1. Then k has a
   probability proportional to C(k + d, d) a(k) p^k = (2k + 1)^d p^k / (2^d d!), since C(k + d, d) = prod (k + i) / d!.
   Factor i is the event U < 2k + 1 for U uniform on 0 … 2k + 2i - 1.
3. *Uniform numbers* below n from 64 random bits u: rejected where u is not below the largest multiple of n up to 2^64,
   else u mod n.

The geometric numbers are those of `discrete_laplace_sampler.draw_excess`. Nothing here looks at the sums that the noise
is added to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.mechanisms.discrete_laplace_sampler import draw_excess
from core.mechanisms.vector_laplace import VectorLaplace
from core.randomness import NoiseSource

Wholes = NDArray[np.int64]
_BLOCK = 2**14  # vectors at once


def draw_vectors(law: VectorLaplace, size: int, noise: NoiseSource) -> Wholes:
    """(size, d) independent vectors of noise at exactly the rate of the law."""
    vectors = np.empty((size, law.dimensions), dtype=np.int64)
    for start in range(0, size, _BLOCK):
        block = vectors[start : start + _BLOCK]
        reach = _reaches(law, len(block), noise)
        for x in range(law.dimensions):
            block[:, x] = uniform_below(2 * reach + 1, noise) - reach
    return vectors


def _reaches(law: VectorLaplace, size: int, noise: NoiseSource) -> Wholes:
    """`size` draws of k: steps 1 and 2."""
    reaches = np.empty(size, dtype=np.int64)
    waiting = np.arange(size)
    while len(waiting):
        k = np.zeros(len(waiting), dtype=np.int64)
        for _ in range(law.dimensions + 1):
            k += draw_excess(law.geometric, len(waiting), noise)
        accepted = np.ones(len(waiting), dtype=np.bool_)
        for i in range(1, law.dimensions + 1):
            accepted &= uniform_below(2 * k + 2 * i, noise) < 2 * k + 1
        reaches[waiting[accepted]] = k[accepted]
        waiting = waiting[~accepted]
    return reaches


def uniform_below(ends: Wholes, noise: NoiseSource) -> Wholes:
    """A uniform number from 0 to end - 1 for each of these ends, which are positive."""
    ends = ends.astype(np.uint64)
    # The largest u below the last whole multiple of the end: 2^64 - 1 - (2^64 mod end), and 2^64 mod end is
    # (2^64 - end) mod end, which 64 bits can hold.
    last = ~np.uint64(0) - (np.uint64(0) - ends) % ends
    numbers = np.empty(len(ends), dtype=np.uint64)
    waiting = np.arange(len(ends))
    while len(waiting):
        bits = np.frombuffer(noise.read(8 * len(waiting)), dtype="<u8")
        good = bits <= last[waiting]
        numbers[waiting[good]] = bits[good] % ends[waiting[good]]
        waiting = waiting[~good]
    return numbers.astype(np.int64)
