"""The sealed spool has no file name, no plain text on disk, and detects every change of its file."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest.errors import Cap, SpoolFailure, UploadTooLarge
from app.ingest.spool import BLOCK_BYTES, SealedSpool

CANARY = b"canary-4711-of-a-row"
SEALED_BLOCK = BLOCK_BYTES + 16


def spool_of(content: bytes, folder: Path | None = None) -> SealedSpool:
    """A spool with some content, sealed."""
    spool = SealedSpool(max_bytes=2**30, folder=folder)
    spool.append(content)
    spool.seal()
    return spool


def on_disk(spool: SealedSpool) -> bytes:
    """What somebody with access to the disk would see."""
    return Path(f"/proc/self/fd/{spool.fileno()}").read_bytes()


@given(st.lists(st.integers(0, 3 * BLOCK_BYTES), max_size=5), st.data())
def test_what_was_appended_is_read_back_from_anywhere(sizes: list[int], data: st.DataObject) -> None:
    """In any order of seeks and reads, like a file in memory."""
    with SealedSpool(max_bytes=2**30, folder=None) as spool:
        model = io.BytesIO()
        for number, size in enumerate(sizes):
            part = bytes([number + 1]) * size
            spool.append(part)
            model.write(part)
        spool.seal()
        model.seek(0)
        assert len(spool) == sum(sizes)
        for _ in range(data.draw(st.integers(1, 8))):
            if data.draw(st.booleans()):
                place = data.draw(st.integers(0, len(spool) + 10)), data.draw(st.sampled_from([0, 2]))
                spool.seek(*place)
                model.seek(*place)
            count = data.draw(st.integers(-1, 2 * BLOCK_BYTES))
            assert spool.read(count) == model.read(count)
            assert spool.tell() == model.tell()


def test_the_file_has_no_name_from_the_start(tmp_path: Path) -> None:
    """Nothing to find in the folder, and nothing to clean up after a crash."""
    with SealedSpool(max_bytes=2**20, folder=tmp_path) as spool:
        assert os.fstat(spool.fileno()).st_nlink == 0
        spool.append(CANARY * 10_000)
        assert list(tmp_path.iterdir()) == []


def test_the_disk_holds_no_byte_in_the_clear() -> None:
    """Neither a row nor two equal blocks that look alike."""
    with spool_of(CANARY.ljust(BLOCK_BYTES, b".") * 4 + CANARY) as spool:
        seen = on_disk(spool)
        assert len(seen) == 4 * SEALED_BLOCK + len(CANARY) + 16
        assert b"canary" not in seen
        assert b"...." not in seen
        assert len({seen[start : start + 64] for start in range(0, 4 * SEALED_BLOCK, SEALED_BLOCK)}) == 4


def test_no_two_spools_share_a_key() -> None:
    """The same content looks different in another spool."""
    with spool_of(CANARY * 10) as first, spool_of(CANARY * 10) as second:
        assert on_disk(first) != on_disk(second)


def _flip(descriptor: int) -> None:
    byte = os.pread(descriptor, 1, SEALED_BLOCK + 100)
    os.pwrite(descriptor, bytes([byte[0] ^ 1]), SEALED_BLOCK + 100)


def _swap(descriptor: int) -> None:
    first, second = os.pread(descriptor, SEALED_BLOCK, 0), os.pread(descriptor, SEALED_BLOCK, SEALED_BLOCK)
    os.pwrite(descriptor, second + first, 0)


def _repeat(descriptor: int) -> None:
    os.pwrite(descriptor, os.pread(descriptor, SEALED_BLOCK, 0), SEALED_BLOCK)


def _cut(descriptor: int) -> None:
    os.ftruncate(descriptor, SEALED_BLOCK)


@pytest.mark.parametrize("tamper", [_flip, _swap, _repeat, _cut])
def test_a_spool_that_was_touched_does_not_open(tamper: Callable[[int], None]) -> None:
    """A flipped bit, swapped blocks, a repeated block, a truncated end; later reads fail too."""
    with spool_of(bytes(2 * BLOCK_BYTES) + CANARY) as spool:
        tamper(spool.fileno())
        with pytest.raises(SpoolFailure) as failure:
            spool.read()
        assert failure.value.__context__ is None
        with pytest.raises(SpoolFailure):
            spool.require_sound()
        spool.seek(0)
        with pytest.raises(SpoolFailure):
            spool.read(1)


def test_a_sound_spool_says_so() -> None:
    """Nothing is raised after reads that went well."""
    with spool_of(CANARY) as spool:
        assert spool.read() == CANARY
        spool.require_sound()


def test_a_spool_takes_its_cap_and_not_a_byte_more() -> None:
    """Refused before anything of the excess is written."""
    with SealedSpool(max_bytes=100, folder=None) as spool:
        spool.append(bytes(100))
        with pytest.raises(UploadTooLarge) as refusal:
            spool.append(b"x")
        assert (refusal.value.cap, refusal.value.allowed) == (Cap.SPOOL_BYTES, 100)
        assert len(spool) == 100


def test_a_folder_that_takes_no_file_is_a_failure_of_the_service(tmp_path: Path) -> None:
    """Not of the upload."""
    with pytest.raises(SpoolFailure) as failure:
        SealedSpool(max_bytes=100, folder=tmp_path / "missing")
    assert failure.value.__context__ is None


@pytest.mark.parametrize("first", [0, 7], ids=["a block as it comes", "a block put together"])
def test_a_full_disk_is_a_failure_of_the_service(first: int) -> None:
    """/dev/full refuses every write, as a full disk does; the spool is closed while the failure is on its way."""

    def fill(spool: SealedSpool) -> None:
        with spool:
            spool.append(bytes(first))
            full = os.open("/dev/full", os.O_WRONLY)
            os.dup2(full, spool.fileno())
            os.close(full)
            spool.append(bytes(BLOCK_BYTES))

    filled = SealedSpool(max_bytes=2**20, folder=None)
    with pytest.raises(SpoolFailure):
        fill(filled)
    assert filled.closed


def test_a_spool_is_closed_and_its_key_forgotten_on_any_exit() -> None:
    """Also when the reason is an exception."""
    with pytest.raises(KeyError), spool_of(CANARY) as spool:
        raise KeyError
    assert spool.closed
    assert not hasattr(spool, "_cipher")
    spool.close()


def test_writing_ends_where_reading_begins() -> None:
    """A nonce is never used for a second content, because a block is never written again."""
    with SealedSpool(max_bytes=100, folder=None) as spool:
        with pytest.raises(io.UnsupportedOperation):
            spool.read()
        spool.seal()
        with pytest.raises(io.UnsupportedOperation):
            spool.append(b"x")
