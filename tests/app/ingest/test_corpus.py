"""Hostile inputs on disk, each refused at once: no memory is taken for what an input only claims to hold."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from app.ingest.errors import IngestError
from app.ingest.formats import MediaType
from app.ingest.limits import KIB, MIB
from app.ingest.thrift import decode
from tests.app.ingest.bodies import count
from tests.app.ingest.make_corpus import CORPUS, parquet_inputs, thrift_inputs

THRIFT = sorted(CORPUS.glob("*.thrift"))
PARQUET = sorted(CORPUS.glob("*.parquet"))


def peak(work: Callable[[], object]) -> int:
    """The most bytes that Python held at once during some work, beyond those it held before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_corpus_is_complete_and_small() -> None:
    """Whatever the generator makes is there; every file is small enough to be read by eye."""
    names = {f"{name}.thrift" for name, _ in thrift_inputs()} | {f"{name}.parquet" for name, _ in parquet_inputs()}
    assert names <= {path.name for path in CORPUS.iterdir()}
    assert [path.name for path in CORPUS.iterdir() if path.stat().st_size > 8 * KIB] == []


@pytest.mark.parametrize("path", THRIFT, ids=lambda path: path.stem)
def test_a_hostile_struct_is_refused_without_memory(path: Path) -> None:
    """By one of the two errors that the reader raises on purpose, never by running out of stack."""
    data = path.read_bytes()

    def read() -> None:
        with pytest.raises((ValueError, IndexError)):
            decode(data)

    assert peak(read) < 256 * KIB


@pytest.mark.parametrize("path", PARQUET, ids=lambda path: path.stem)
def test_a_hostile_file_is_refused_without_memory(path: Path) -> None:
    """As an upload of a curator, with the service's own limits."""
    data = path.read_bytes()

    def read() -> None:
        with pytest.raises(IngestError):
            count(data, MediaType.PARQUET)

    assert peak(read) < 4 * MIB
