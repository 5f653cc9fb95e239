"""Two kinds of randomness that must never be mistaken for one another.

NoiseSource is secret and unrepeatable: it makes noise, comes from the operating system, and takes no seed. A seeded
generator is public and repeatable: it starts k-means and draws synthetic rows, so that an answer can be had again.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray


class NoiseSource:
    """Uniform bits from the operating system; no state, so a fork or a copy shares nothing with its parent."""

    def read(self, count: int) -> bytes:
        """`count` bytes of entropy."""
        return os.urandom(count)

    def uint16(self, count: int) -> NDArray[np.uint16]:
        """`count` uniform numbers below 2^16."""
        return np.frombuffer(self.read(2 * count), dtype="<u2")

    def integer(self, bits: int) -> int:
        """A uniform number below 2^bits; `bits` is a multiple of eight."""
        return int.from_bytes(self.read(bits // 8), "little")


def seeded(seed: int) -> np.random.Generator:
    """A generator that gives the same numbers for the same public seed."""
    return np.random.Generator(np.random.PCG64(seed))
