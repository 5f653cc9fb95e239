"""A held body stays in memory up to the limit, goes sealed to disk beyond it, and is read like one file."""

from __future__ import annotations

import io
import os
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest import held_body
from app.ingest.errors import Cap, SpoolFailure, UploadTooLarge
from app.ingest.held_body import HeldBody
from app.ingest.limits import MIB, Limits
from app.ingest.spool import SealedSpool

CANARY = b"canary-4711-of-a-row"


def body_of(content: bytes, *, memory: int, chunk: int = 1000, folder: Path | None = None) -> HeldBody:
    """A sealed body that came in chunks, with so much memory for it."""
    body = HeldBody(Limits(buffer_bytes=memory, spool_folder=folder))
    for start in range(0, len(content), chunk):
        body.append(content[start : start + chunk])
    body.seal()
    return body


def reserved(body: HeldBody) -> int:
    """Bytes of memory that are set aside for a body."""
    return sum(map(len, body._segments))


@given(st.lists(st.integers(0, 500), max_size=12), st.integers(0, 3000), st.integers(1, 300), st.data())
def test_what_was_appended_is_read_back_from_anywhere(
    sizes: list[int], memory: int, first: int, data: st.DataObject
) -> None:
    """However much of it is in memory, in any order of seeks and reads, like a file in memory."""
    with patch.object(held_body, "_FIRST_BYTES", first), HeldBody(Limits(buffer_bytes=memory)) as body:
        model = io.BytesIO()
        for number, size in enumerate(sizes):
            part = bytes((number + place) % 251 for place in range(size))
            body.append(part)
            model.write(part)
        body.seal()
        model.seek(0)
        assert len(body) == sum(sizes)
        assert reserved(body) <= memory
        for _ in range(data.draw(st.integers(1, 8))):
            if data.draw(st.booleans()):
                place = data.draw(st.integers(0, len(body) + 10)), data.draw(st.sampled_from([0, 2]))
                body.seek(*place)
                model.seek(*place)
            count = data.draw(st.integers(-1, 2000))
            read = body.read if data.draw(st.booleans()) else body.view
            assert read(count) == model.read(count)
            assert body.tell() == model.tell()


def test_a_body_that_fits_into_memory_touches_no_disk(tmp_path: Path) -> None:
    """To its last byte: no file is opened, so a folder that takes none does not matter."""
    content = CANARY * 1000
    with body_of(content, memory=len(content), folder=tmp_path / "missing") as body:
        assert body.read() == content
        body.require_sound()
    with pytest.raises(SpoolFailure):
        body_of(content, memory=len(content) - 1, folder=tmp_path / "missing")


def test_only_what_exceeds_the_memory_is_on_disk_and_nothing_of_it_in_the_clear() -> None:
    """Byte by byte: what is in memory is not written as well."""
    content = CANARY * 10_000
    with body_of(content, memory=150_000) as body:
        spool = body._spool
        assert spool is not None
        assert len(spool) == len(content) - 150_000
        on_disk = Path(f"/proc/self/fd/{spool.fileno()}").read_bytes()
        assert len(on_disk) == len(spool) + 16
        assert b"canary" not in on_disk
        assert body.read() == content


@pytest.mark.parametrize("size", [1, 5000, MIB, 3 * MIB + 1])
def test_memory_is_set_aside_as_the_body_comes(size: int) -> None:
    """A short body takes little of a large allowance, also if it comes in tiny chunks."""
    with body_of(bytes(size), memory=64 * MIB, chunk=max(1, size // 5000)) as body:
        assert reserved(body) <= max(MIB, 2 * size)


@pytest.mark.parametrize("memory", [0, 60, 1000])
def test_a_body_is_capped_as_a_whole(memory: int) -> None:
    """The same cap, however much of the body is in memory."""
    with HeldBody(Limits(buffer_bytes=memory, spool_bytes=100)) as body:
        body.append(bytes(100))
        with pytest.raises(UploadTooLarge) as refusal:
            body.append(b"x")
        assert (refusal.value.cap, refusal.value.allowed) == (Cap.SPOOL_BYTES, 100)


def test_a_body_is_forgotten_on_any_exit() -> None:
    """Its memory, its file and its key, also when the reason is an exception."""
    with pytest.raises(KeyError), body_of(CANARY * 10, memory=50) as body:
        raise KeyError
    assert reserved(body) == 0
    assert body._spool is not None
    assert body._spool.closed


def test_what_pyarrow_reads_is_what_was_sent_and_cannot_be_changed() -> None:
    """Views of the memory, without a copy, and bytes of the spool."""
    content = CANARY * 100
    with body_of(content, memory=1500) as body:
        with body.for_arrow() as file:
            assert file.read_at(700, 300) == content[300:1000]
            assert file.read_at(700, 1000) == content[1000:1700]
            assert file.read_at(700, 1500) == content[1500:]
        assert len(body) == len(content)
        body.seek(0)
        view = body.view(10)
        assert isinstance(view, memoryview)
        assert view.readonly


def test_a_damaged_spool_is_told() -> None:
    """For callers whose library hides exceptions."""

    class Damaged(SealedSpool):
        def seal(self) -> None:
            super().seal()
            os.pwrite(self.fileno(), bytes(64), 0)

    with patch.object(held_body, "SealedSpool", Damaged), body_of(CANARY * 100, memory=1500) as body:
        assert body.read(1500) == (CANARY * 100)[:1500]
        body.require_sound()
        with pytest.raises(SpoolFailure):
            body.read(1)
        with pytest.raises(SpoolFailure):
            body.require_sound()


def test_writing_ends_where_reading_begins() -> None:
    """As for a spool."""
    with HeldBody(Limits()) as body:
        with pytest.raises(io.UnsupportedOperation):
            body.read()
        body.seal()
        with pytest.raises(io.UnsupportedOperation):
            body.append(b"x")
