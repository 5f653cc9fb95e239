"""NoiseSource is secret, unrepeatable and the operating system's; a seeded generator is public and repeatable."""

from __future__ import annotations

import ast
import inspect
import os

import numpy as np
import pytest

from core.randomness import NoiseSource, seeded
from tests.core.processes import run_python

FORKED = """
import os
from core.budget import Epsilon
from core.mechanisms.discrete_laplace import DiscreteLaplace
from core.mechanisms.discrete_laplace_sampler import draw_noise
from core.randomness import NoiseSource

noise = NoiseSource()
draw = lambda: draw_noise(DiscreteLaplace.at(Epsilon.parse("0.001")), 64, noise).tolist()
draw()  # whatever might be kept for later is kept by now
reading, writing = os.pipe()
if os.fork() == 0:
    os.write(writing, repr([draw(), noise.read(32)]).encode())
    os._exit(0)
os.wait()
print(repr([draw(), noise.read(32)]), os.read(reading, 1 << 16).decode(), sep="\\n")
"""


def test_entropy_comes_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every byte of a NoiseSource is a byte of os.urandom, asked for at the moment it is needed."""
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return bytes(range(count))

    monkeypatch.setattr(os, "urandom", urandom)
    noise = NoiseSource()
    assert asked == []
    assert noise.read(5) == bytes([0, 1, 2, 3, 4])
    assert noise.uint16(3).tolist() == [0x0100, 0x0302, 0x0504]
    assert noise.integer(64) == 0x0706050403020100
    assert asked == [5, 6, 8]


def test_uniform_numbers_fill_their_whole_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """All ones give the largest number and all zeros the least, for 16 bits and for any width."""
    for byte, largest in ((b"\xff", True), (b"\x00", False)):
        monkeypatch.setattr(os, "urandom", lambda count, byte=byte: byte * count)
        noise = NoiseSource()
        assert noise.uint16(2).tolist() == [2**16 - 1 if largest else 0] * 2
        assert noise.uint16(2).dtype == np.uint16
        for bits in (8, 64, 128):
            assert noise.integer(bits) == (2**bits - 1 if largest else 0)


def test_a_noise_source_takes_no_seed_and_keeps_no_state() -> None:
    """There is nothing to set, to store or to repeat."""
    assert list(inspect.signature(NoiseSource).parameters) == []
    noise = NoiseSource()
    before = dict(vars(noise))
    first = noise.read(32)
    assert vars(noise) == before == {}
    assert noise.read(32) != first


def test_a_forked_child_does_not_repeat_its_parent() -> None:
    """Parent and child draw other noise from the same NoiseSource after a fork."""
    parent, child = (ast.literal_eval(line) for line in run_python(FORKED).splitlines())
    assert len(parent[0]) == len(child[0]) == 64
    assert parent[0] != child[0]
    assert parent[1] != child[1]


def test_a_seeded_generator_has_a_known_answer() -> None:
    """The same public seed gives the same numbers on every machine and in every year."""
    assert seeded(0).random(3).tolist() == [0.6369616873214543, 0.2697867137638703, 0.04097352393619469]
    assert seeded(2025).integers(0, 1000, 5).tolist() == seeded(2025).integers(0, 1000, 5).tolist()
    assert seeded(1).random() != seeded(2).random()


def test_seeded_generators_share_nothing() -> None:
    """Drawing from one generator, or from numpy's global one, moves no other."""
    one, other = seeded(7), seeded(7)
    one.random(100)
    np.random.random(3)  # noqa: NPY002 - that it changes nothing is the point
    assert other.random() == seeded(7).random()
