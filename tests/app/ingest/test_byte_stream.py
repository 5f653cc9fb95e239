"""Byte streams: limited in size, decompressed in bounded steps, and read in pieces of the requested size."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest.byte_stream import ByteSource, capped, inflate
from app.ingest.errors import Cap, UnreadableFile, UploadTooLarge
from app.ingest.limits import KIB, MIB
from tests.app.ingest.bodies import cut

SIZES = st.integers(1, 50)


@given(st.binary(max_size=300), SIZES, st.integers(0, 300))
def test_a_body_passes_up_to_its_cap_and_is_refused_one_byte_beyond(body: bytes, size: int, allowed: int) -> None:
    """Never cut short: what does not fit is refused."""
    if len(body) <= allowed:
        assert b"".join(capped(cut(body, size), Cap.BYTES, allowed)) == body
    else:
        with pytest.raises(UploadTooLarge) as refusal:
            list(capped(cut(body, size), Cap.BYTES, allowed))
        assert (refusal.value.cap, refusal.value.allowed) == (Cap.BYTES, allowed)


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=5), SIZES)
def test_gzip_members_inflate_to_their_contents_one_after_the_other(members: list[bytes], size: int) -> None:
    """However the body was cut into chunks, empty members included."""
    body = b"".join(gzip.compress(member) for member in members)
    assert b"".join(inflate(cut(body, size))) == b"".join(members)


@given(st.binary(min_size=1, max_size=200), st.data(), SIZES)
def test_a_gzip_body_that_ends_early_is_unreadable(content: bytes, data: st.DataObject, size: int) -> None:
    """Wherever it was cut off, from nothing at all to the last byte missing."""
    body = gzip.compress(content)
    end = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises(UnreadableFile, match="ends early"):
        list(inflate(cut(body[:end], size)))


@pytest.mark.parametrize("garbage", [b"\0", b"garbage", gzip.compress(b"x", mtime=0)[:5], zlib.compress(b"x")])
def test_bytes_after_the_last_gzip_member_are_refused(garbage: bytes) -> None:
    """They are either damage or rows that nobody would count."""
    with pytest.raises(UnreadableFile):
        list(inflate([gzip.compress(b"content") + garbage]))


def test_a_flipped_bit_in_a_gzip_body_is_unreadable() -> None:
    """The checksum at the end is checked."""
    body = bytearray(gzip.compress(b"0123456789" * 100, mtime=0))
    body[-6] ^= 1
    with pytest.raises(UnreadableFile):
        list(inflate([bytes(body)]))


def test_a_gzip_bomb_comes_out_in_small_steps() -> None:
    """A thousand to one: no step is larger than 256 KiB, whatever the size of the chunk that holds it."""
    bomb = gzip.compress(bytes(20 * MIB))
    steps = [len(step) for step in inflate([bomb])]
    assert sum(steps) == 20 * MIB
    assert max(steps) <= 256 * KIB


def test_a_gzip_bomb_is_refused_at_the_cap_of_inflated_bytes() -> None:
    """No more of it is inflated than the cap and one step."""
    body = capped(inflate([gzip.compress(bytes(20 * MIB))]), Cap.INFLATED_BYTES, MIB)
    steps: list[int] = []
    with pytest.raises(UploadTooLarge) as refusal:
        steps.extend(map(len, body))
    assert sum(steps) <= MIB
    assert refusal.value.cap is Cap.INFLATED_BYTES


@given(st.binary(max_size=200), SIZES, st.lists(st.integers(0, 60), max_size=10))
def test_a_source_gives_the_bytes_that_are_asked_for_or_what_is_left(body: bytes, size: int, counts: list[int]) -> None:
    """Across chunks, in order, and never more than there is."""
    source = ByteSource(cut(body, size))
    position = 0
    for count in counts:
        assert source.take(count) == body[position : position + count]
        position += count
