"""Blocks have whole lines and a bounded size; a line is dropped for its own length only."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from app.ingest import lines
from app.ingest.lines import blocks, first_line
from tests.app.ingest.bodies import cut

LIMIT = 20
BYTES = st.lists(
    st.one_of(
        st.binary(max_size=6), st.sampled_from([b"\n", b"\r\n", b"\r", b"a" * 19, b"b" * 20, b"c" * 21, b"d" * 70])
    ),
    max_size=30,
).map(b"".join)


def split(body: bytes) -> list[bytes]:
    """The lines of a body, the plain way: cut at LF, the last one perhaps without."""
    lines = body.split(b"\n")
    return lines if lines[-1] else lines[:-1]


@given(BYTES, st.integers(1, 80), st.integers(1, 90))
def test_blocks_hold_every_line_up_to_the_limit_and_count_the_others(body: bytes, size: int, block_bytes: int) -> None:
    """In order, each with one LF at its end and no CR before it, however chunks and blocks were cut."""
    with patch.object(lines, "BLOCK_BYTES", block_bytes):
        produced = list(blocks(cut(body, size), max_line_bytes=LIMIT))
    wanted = [line.removesuffix(b"\r") + b"\n" for line in split(body) if len(line) <= LIMIT]
    assert b"".join(block.text for block in produced) == b"".join(wanted)
    assert sum(block.long_lines for block in produced) == len(split(body)) - len(wanted)


@given(BYTES, st.integers(1, 80), st.integers(1, 90))
def test_no_block_outgrows_its_size_by_more_than_a_line(body: bytes, size: int, block_bytes: int) -> None:
    """The memory of a block is bounded whatever the lines."""
    with patch.object(lines, "BLOCK_BYTES", block_bytes):
        assert all(
            len(block.text) <= block_bytes + size + LIMIT + 2 for block in blocks(cut(body, size), max_line_bytes=LIMIT)
        )


@given(BYTES, st.integers(1, 80))
def test_the_first_line_is_taken_off_and_the_rest_left_as_it_was(body: bytes, size: int) -> None:
    """None stands for a first line that is too long; then the rest does not matter."""
    line, rest = first_line(cut(body, size), max_line_bytes=LIMIT)
    first, _, after = body.partition(b"\n")
    if len(first) > LIMIT:
        assert line is None
    else:
        assert line == first.removesuffix(b"\r")
        assert b"".join(rest) == after
