"""Damage that knows nothing of a format: bytes that are cut, repeated, swapped, or read as another number."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from typing import TypeVar

Chance = random.Random
_Item = TypeVar("_Item")

CANARY = "CANARY7f3a"  # in many files, and in no reply
NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 8, 63, 64, 127, 128, 255, 256, 4096, 65535, 65536),
    *(2**24, 2**30, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, -(2**63)),
)
_MOST_ADDED = 2**19  # bytes
_LAYOUTS = ("<b", "<h", "<i", "<q")


def odd_number(chance: Chance, near: int = 0) -> int:
    """A number that a reader may not expect: a power of two, a sign, or a neighbour of the right one."""
    return chance.choice([near + 1, near - 1, near * 2, -near, chance.choice(NUMBERS), chance.choice(NUMBERS)])


def wrapped(number: int, layout: str) -> bytes:
    """The number as bytes of this layout, modulo its range."""
    bits = 8 * struct.calcsize(layout)
    number &= (1 << bits) - 1
    return number.to_bytes(bits // 8, "little")


def overwrite(data: bytes, place: int, new: bytes) -> bytes:
    """The data with other bytes at a place."""
    return data[:place] + new + data[place + len(new) :]


def flip(data: bytes, chance: Chance) -> bytes:
    """One bit of one byte."""
    place = chance.randrange(len(data))
    return overwrite(data, place, bytes([data[place] ^ 1 << chance.randrange(8)]))


def renumber(data: bytes, chance: Chance) -> bytes:
    """A number of 1, 2, 4 or 8 bytes, at a place that is aligned for it."""
    layout = chance.choice(_LAYOUTS)
    size = struct.calcsize(layout)
    place = chance.randrange(max(1, len(data) // size)) * size
    near = int.from_bytes(data[place : place + size], "little", signed=True)
    return overwrite(data, place, wrapped(odd_number(chance, near), layout))[: len(data)]


def cut(data: bytes, chance: Chance) -> bytes:
    """A piece is gone; often the end."""
    start = chance.randrange(len(data))
    end = len(data) if chance.random() < 0.5 else min(len(data), start + chance.randint(1, 64))
    return data[:start] + data[end:]


def repeat(data: bytes, chance: Chance) -> bytes:
    """A piece comes several times."""
    start = chance.randrange(len(data))
    end = min(len(data), start + chance.choice([1, 8, 64, 512, len(data)]))
    return data[:end] + data[start:end] * chance.choice([1, 2, 30]) + data[end:]


def swap(data: bytes, chance: Chance) -> bytes:
    """Two pieces change places."""
    first, second, third = sorted(chance.randint(0, len(data)) for _ in range(3))
    return data[:first] + data[second:third] + data[first:second] + data[third:]


def insert(data: bytes, chance: Chance) -> bytes:
    """Bytes that were not there."""
    place = chance.randint(0, len(data))
    scrap = chance.choice([b"\0", b"\xff", b"\xff" * 8, b"PAR1", b"\n", CANARY.encode(), chance.randbytes(16)])
    return data[:place] + scrap + data[place:]


_DAMAGES: tuple[Callable[[bytes, Chance], bytes], ...] = (flip, flip, renumber, renumber, cut, repeat, swap, insert)


def damaged(data: bytes, chance: Chance) -> bytes:
    """One to three damages; what they make long is cut."""
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        if data:
            data = chance.choice(_DAMAGES)(data, chance)[: len(data) + _MOST_ADDED]
    return data


def reordered(items: Sequence[_Item], chance: Chance) -> list[_Item]:
    """The same items with one left out, repeated, or moved."""
    items = list(items)
    if not items:
        return items
    place = chance.randrange(len(items))
    match chance.randrange(4):
        case 0:
            del items[place]
        case 1:
            items[place:place] = [items[place]] * chance.choice([1, 2, 50])
        case 2:
            other = chance.randrange(len(items))
            items[place], items[other] = items[other], items[place]
        case _:
            chance.shuffle(items)
    return items
