"""KeyedHash: 64-bit hashes of ids and of (id, record) pairs under a secret key, computed for whole arrays with numpy.

The building block is the finaliser of SplitMix64 (Steele, Lea and Flood 2014), a bijection of 64-bit words that passes
the usual statistical tests. It is not a cryptographic function, and privacy does not need one: the proof in `people`
holds for every fixed key and for every hash function, even for a constant one. The hash has two other tasks. It
spreads the choice of rows evenly, and it gives the order in which rows are sorted. Nothing relies on two ids or two
records having different hashes: wherever equality matters, whole ids and whole records are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SECRET_BYTES = 16

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_WORD_BYTES = 8


def mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The SplitMix64 finaliser of each word, in a new array."""
    mixed = words ^ (words >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


class KeyedHash:
    """Hashes under one secret of SECRET_BYTES bytes: one half for ids, the other half for pairs."""

    def __init__(self, secret: bytes) -> None:
        self._id_key, self._pair_key = np.frombuffer(secret, dtype="<u8", count=2).astype(np.uint64)

    def of_ids(self, ids: pa.LargeBinaryArray) -> NDArray[np.uint64]:
        """One hash for each id: h := mix(h ^ word) over its 8-byte words, from a start that depends on its length.

        The last word is filled with zero bytes. The length keeps ids apart that differ only in zero bytes at the end.
        """
        offsets, words = _words_of(ids)
        lengths = np.diff(offsets)
        hashes = mix(lengths.astype(np.uint64) ^ self._id_key)
        active = np.arange(len(ids))
        for start in range(0, int(lengths.max(initial=0)), _WORD_BYTES):
            active = active[lengths[active] > start]
            missing = np.maximum(0, start + _WORD_BYTES - lengths[active]).astype(np.uint64) << np.uint64(3)
            word = (words[offsets[active] + start] << missing) >> missing
            hashes[active] = mix(hashes[active] ^ word)
        return hashes

    def of_pairs(self, id_hashes: NDArray[np.uint64], columns: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
        """One hash for each (id, record); `columns` has one array for each attribute."""
        hashes = mix(id_hashes ^ self._pair_key)
        for column in columns:
            hashes = mix(hashes ^ column)
        return hashes


def tags(pair_hashes: NDArray[np.uint64], occurrences: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The tag of each (id, record, tie index): output number `occurrences` of a SplitMix64 generator.

    The state of the generator starts at the hash of the pair. Occurrences of a record count from 0.
    """
    return mix(pair_hashes + occurrences.astype(np.uint64) * _GOLDEN)


def _words_of(ids: pa.LargeBinaryArray) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """(offsets, words): id i begins at byte offsets[i]; words[b] has the 8 bytes from byte b, zero beyond the end."""
    buffers = ids.buffers()
    offsets = np.frombuffer(buffers[1], dtype=np.int64)[ids.offset : ids.offset + len(ids) + 1] if len(ids) else _NONE
    first, last = int(offsets[0]), int(offsets[-1])
    content = np.zeros(last - first + _WORD_BYTES, dtype=np.uint8)
    if last > first:
        content[: last - first] = np.frombuffer(buffers[2], dtype=np.uint8)[first:last]
    words = np.ndarray(shape=(last - first + 1,), dtype="<u8", buffer=content, strides=(1,))
    return offsets - first, words


_NONE = np.zeros(1, dtype=np.int64)
