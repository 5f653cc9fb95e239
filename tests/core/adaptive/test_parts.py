"""Parts of cells: none is empty, together they are the cell, and a step belongs to the part that begins before it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.adaptive.parts import Cut, share_halvings

WIDTHS = st.one_of(st.integers(1, 20), st.sampled_from([2**16 - 1, 2**31 + 1, 2**32 - 1, 2**32]))


@st.composite
def cells(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(halvings, widths, halvings before) of up to five cells with one to three axes."""
    d, number = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    widths = draw(st.lists(st.lists(WIDTHS, min_size=d, max_size=d), min_size=number, max_size=number))
    before = draw(st.lists(st.lists(st.integers(0, 4), min_size=d, max_size=d), min_size=number, max_size=number))
    halvings = draw(st.lists(st.integers(0, 6), min_size=number, max_size=number))
    return np.array(halvings), np.array(widths), np.array(before)


def shared(halvings: int, widths: list[int], before: list[int]) -> list[int]:
    """How often each axis of a cell is halved: one halving after the other, by the words of the rule."""
    along = [0] * len(widths)
    for _ in range(halvings):
        free = [x for x, width in enumerate(widths) if 2 ** along[x] < width]
        if free:
            along[min(free, key=lambda x: (before[x] + along[x], x))] += 1
    return along


@given(cells())
def test_halvings_go_to_the_axis_that_was_halved_least(drawn: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    """The first among equals; an axis that is cut into its steps takes no more."""
    halvings, widths, before = drawn
    parts, along = share_halvings(*drawn)
    for i, halved in enumerate(along.tolist()):
        assert halved == shared(int(halvings[i]), widths[i].tolist(), before[i].tolist())
        assert parts[i].tolist() == [min(2**a, w) for a, w in zip(halved, widths[i].tolist(), strict=True)]


@given(cells())
def test_parts_are_never_empty_and_add_up_to_their_cell(drawn: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    """Volumes add up in whole numbers; widths along an axis differ by one step at most."""
    widths = drawn[1]
    cut = Cut.of(widths, share_halvings(*drawn)[0])
    begin, width = cut.spans()
    assert (width >= 1).all()
    assert (begin >= 0).all()
    assert (begin + width <= widths[cut.parents()]).all()
    volumes = [0] * len(widths)
    for parent, box in zip(cut.parents().tolist(), width.tolist(), strict=True):
        volumes[parent] += int(np.prod([int(side) for side in box], dtype=object))
    assert volumes == [int(np.prod(box, dtype=object)) for box in widths.tolist()]
    for i in range(len(widths)):
        mine = width[cut.parents() == i]
        assert (mine.max(axis=0) - mine.min(axis=0) <= 1).all()


@given(cells(), st.integers(0, 2**32))
def test_a_step_lies_in_the_part_that_locate_names_and_in_no_other(
    drawn: tuple[np.ndarray, np.ndarray, np.ndarray], seed: int
) -> None:
    """Compared with every part of its cell; steps at the edges of parts included."""
    widths = drawn[1]
    cut = Cut.of(widths, share_halvings(*drawn)[0])
    begin, width = cut.spans()
    rng = np.random.default_rng(seed)
    parents = np.repeat(cut.parents(), 3)
    edges = np.repeat(begin, 3, axis=0) + np.tile([[-1], [0], [1]], (len(begin), 1))
    anywhere = rng.integers(0, widths[parents])
    steps = np.where(rng.random(edges.shape) < 0.7, np.clip(edges, 0, widths[parents] - 1), anywhere)
    numbers, inside = cut.locate(parents, list(steps.T))
    asked = steps[:, None, :]
    holds = ((begin <= asked) & (asked < begin + width)).all(axis=2) & (cut.parents() == parents[:, None])
    assert (holds.sum(axis=1) == 1).all()
    assert (holds.argmax(axis=1) == numbers).all()
    assert (steps - begin[numbers] == np.stack(inside, axis=1)).all()


def test_the_longest_axes_are_cut_without_overflow() -> None:
    """2^32 steps in 2^28 parts, the most cells that a service may be set to: products stay below 2^63."""
    widths, parts = np.array([[2**32], [2**32 - 1]]), np.array([[2**28], [2**28]])
    cut = Cut(widths, parts, np.array([0, 2**28, 2**29]))
    for cell, steps in enumerate((2**32, 2**32 - 1)):
        chosen = [0, 1, 15, 16, 17, steps // 3, steps - 17, steps - 1]
        numbers, inside = cut.locate(np.full(len(chosen), cell), [np.array(chosen)])
        for step, number, rest in zip(chosen, numbers.tolist(), inside[0].tolist(), strict=True):
            place = step * 2**28 // steps
            assert (number, rest) == (cell * 2**28 + place, step + (-place * steps // 2**28))
