"""Noise sources whose bits are written in advance, to see what the sampler makes of each of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from core.randomness import NoiseSource

JUNK = 0xA5A5  # sixteen bits that the sampler reads and must not look at


class Undecided(Exception):
    """More bits were asked for than the script holds."""


class ScriptedBytes(NoiseSource):
    """Hands out whole answers in order; each must be asked for at its exact length."""

    def __init__(self, answers: Iterable[bytes]) -> None:
        self.answers = deque(answers)

    def read(self, count: int) -> bytes:
        """The next answer."""
        answer = self.answers.popleft()
        if len(answer) != count:
            raise AssertionError(f"{count} bytes were asked for where the script has {len(answer)}")
        return answer


class ScriptedBits(NoiseSource):
    """One string of bits for each digit that is drawn, read from its front: 16 bits, 48 more, then 64 at a time.

    `strings` are pairs (u, width): the first `width` bits of U as the whole number u. `used` tells how many bits of
    each string the sampler looked at.
    """

    def __init__(self, strings: Iterable[tuple[int, int]]) -> None:
        self.waiting = deque(strings)
        self.used: list[int] = []

    def read(self, count: int) -> bytes:
        """Two bytes begin the next string; eight go on in it."""
        if count == 2:
            self.string, self.width = self.waiting.popleft()
            self.used.append(0)
            return self._next(16).to_bytes(2, "little")
        if count != 8:
            raise AssertionError(f"{count} bytes were asked for; a single draw takes 2 or 8")
        if self.used[-1] == 16:
            return (self._next(48) << 16 | JUNK).to_bytes(8, "little")
        return self._next(64).to_bytes(8, "little")

    def _next(self, bits: int) -> int:
        rest = self.width - self.used[-1] - bits
        if rest < 0:
            raise Undecided
        self.used[-1] += bits
        return self.string >> rest & ((1 << bits) - 1)
