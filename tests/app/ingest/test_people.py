"""PersonBuffer keeps at most max_rows rows of each person, chosen from that person's rows alone."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from app.ingest import contributions, keyed_hash, people, sorted_runs
from app.ingest.errors import Cap, UploadTooLarge
from app.ingest.keyed_hash import KeyedHash, tags
from app.ingest.limits import MIB, Limits
from app.ingest.people import PersonBuffer
from core.records import Records

Record = tuple[int, int]
Row = tuple[bytes, Record]
Words = NDArray[np.uint64]

DTYPES: tuple[np.dtype[Any], ...] = (np.dtype(np.uint32), np.dtype(np.uint64))
SECRET = b"sixteen bytes..."
IN_MEMORY = 2**20
SPOOLED = 0

good_mix = keyed_hash.mix


def constant(words: Words) -> Words:
    """The worst hash: every id, record and tag collides with every other one."""
    return np.zeros_like(words)


def two_bits(words: Words) -> Words:
    """A hash with four values: many collisions, and many different keys too."""
    return good_mix(words) >> np.uint64(62) << np.uint64(62)


def equal_keys(words: Words) -> Words:
    """A hash that gives all rows the same sort key, but different tags."""
    return good_mix(words) & np.uint64(0x0000_0000_FFFF_FFFF)


def four_keys(words: Words) -> Words:
    """A hash with two prefixes and two keys each, and different tags."""
    return good_mix(words) & np.uint64(0x8000_0000_FFFF_FFFF)


EVERY_MIX = [good_mix, constant, two_bits, equal_keys, four_keys]
MIXES = st.sampled_from(EVERY_MIX)


@contextmanager
def small_sizes(mix: Callable[[Words], Words] = good_mix) -> Iterator[None]:
    """Parts, pages and pieces that a few rows fill."""
    with ExitStack() as patches:
        patches.enter_context(patch.object(people, "ROWS_AT_ONCE", 5))
        patches.enter_context(patch.object(sorted_runs, "PAGE_BYTES", 150))
        patches.enter_context(patch.object(contributions, "ROWS_AT_ONCE", 4))
        patches.enter_context(patch.object(keyed_hash, "mix", mix))
        yield


def records_of(rows: list[Row]) -> Records:
    return Records(tuple(np.array([row[1][x] for row in rows], dtype=dtype) for x, dtype in enumerate(DTYPES)))


@contextmanager
def buffer_with(
    batches: Iterable[list[Row]], *, max_rows: int, limits: Limits, secret: bytes | None = SECRET
) -> Iterator[PersonBuffer]:
    """A buffer after the last `add`."""
    with PersonBuffer(dtypes=DTYPES, max_rows=max_rows, limits=limits, secret=secret) as buffer:
        for batch in batches:
            buffer.add(pa.array([row[0] for row in batch], type=pa.binary()), records_of(batch))
        yield buffer


def kept_of(rows: list[Row], *, max_rows: int, buffer_bytes: int = IN_MEMORY, batch: int = 3) -> Counter[Record]:
    """The exact histogram of the kept rows: how often each record was kept."""
    batches = [rows[start : start + batch] for start in range(0, len(rows), batch)]
    histogram: Counter[Record] = Counter()
    with buffer_with(batches, max_rows=max_rows, limits=Limits(buffer_bytes=buffer_bytes)) as buffer:
        for records in buffer.kept():
            histogram.update(zip(*(column.tolist() for column in records.columns), strict=True))
    return histogram


def model_of(rows: list[Row], *, max_rows: int) -> Counter[Record]:
    """The definition, person by person and row by row: the smallest (tag, record) of each person."""
    keyed = KeyedHash(SECRET)
    histogram: Counter[Record] = Counter()
    for person in {row[0] for row in rows}:
        tagged = []
        for record, count in Counter(row[1] for row in rows if row[0] == person).items():
            pair = keyed.of_pairs(
                keyed.of_ids(pa.array([person], pa.large_binary())), records_of([(person, record)]).columns
            )
            tagged += [(int(tags(pair, np.array([number]))[0]), record) for number in range(count)]
        histogram.update(record for _, record in sorted(tagged)[:max_rows])
    return histogram


HOSTILE_IDS = [
    b"\0",
    b"\0\0",
    b"a",
    b"a\0",
    b"a\0\0\0\0\0\0\0\0",
    b"\xff" * 256,
    b"\xff" * 255,
    b"12345678",
    b"123456789",
    b"\n",
    b'"',
]
IDS = st.sampled_from(HOSTILE_IDS) | st.binary(min_size=1, max_size=256)
RECORDS = st.tuples(st.integers(0, 3) | st.just(2**32 - 1), st.integers(0, 2) | st.just(2**64 - 1))
PERSONS_OF_FILE = st.lists(IDS, min_size=1, max_size=4) | st.just(HOSTILE_IDS)
ROWS = PERSONS_OF_FILE.flatmap(lambda ids: st.lists(st.tuples(st.sampled_from(ids), RECORDS), max_size=60))
SIZES = st.integers(1, 20)
BUFFERS = st.sampled_from([IN_MEMORY, SPOOLED, 1200])


@given(ROWS, IDS, st.lists(RECORDS, min_size=1, max_size=40), st.integers(1, 4), SIZES, BUFFERS, MIXES, st.randoms())
def test_one_person_moves_the_exact_histogram_by_at_most_max_rows(
    others: list[Row],
    person: bytes,
    records: list[Record],
    max_rows: int,
    batch: int,
    buffer_bytes: int,
    mix: Callable[[Words], Words],
    random: Random,
) -> None:
    """Rows of the other persons stay as they are; exactly min(n, max_rows) rows of the person are added."""
    others = [row for row in others if row[0] != person]
    rows = others + [(person, record) for record in records]
    random.shuffle(rows)
    with small_sizes(mix):
        before = kept_of(others, max_rows=max_rows)
        after = kept_of(rows, max_rows=max_rows, buffer_bytes=buffer_bytes, batch=batch)
    assert before <= after
    assert (after - before).total() == min(len(records), max_rows)
    assert after - before <= Counter(records)


@given(ROWS, st.integers(1, 4), SIZES, BUFFERS, MIXES, st.data())
def test_the_choice_follows_the_definition_whatever_the_order_the_batches_and_the_hash(
    rows: list[Row], max_rows: int, batch: int, buffer_bytes: int, mix: Callable[[Words], Words], data: st.DataObject
) -> None:
    """In memory or spooled, with a good hash or one in which everything collides."""
    shuffled = data.draw(st.permutations(rows))
    with small_sizes(mix):
        assert kept_of(shuffled, max_rows=max_rows, buffer_bytes=buffer_bytes, batch=batch) == model_of(
            rows, max_rows=max_rows
        )


@pytest.mark.parametrize("mix", EVERY_MIX)
@pytest.mark.parametrize("buffer_bytes", [SPOOLED, 1200])
def test_equal_rows_in_different_pages_of_different_runs_are_counted_together(
    mix: Callable[[Words], Words], buffer_bytes: int
) -> None:
    """Three hundred rows of three persons, in about 30 to 60 runs of several pages."""
    random = Random(4711)
    ids = [b"\0", b"\0\0", b"b"]
    rows: list[Row] = [(random.choice(ids), (random.randrange(4), random.randrange(4))) for _ in range(303)]
    with small_sizes(mix):
        for max_rows in (1, 10, 50):
            kept = kept_of(rows, max_rows=max_rows, buffer_bytes=buffer_bytes, batch=5)
            assert kept == model_of(rows, max_rows=max_rows)


@given(ROWS, SIZES, BUFFERS)
def test_the_curator_learns_how_many_rows_each_bound_would_keep(rows: list[Row], batch: int, buffer_bytes: int) -> None:
    """The sum of min(rows of the person, bound) over all persons."""
    batches = [rows[start : start + batch] for start in range(0, len(rows), batch)]
    by_person = Counter(row[0] for row in rows)
    limits = Limits(buffer_bytes=buffer_bytes)
    with small_sizes(), buffer_with(batches, max_rows=10, limits=limits) as buffer:
        assert sum(len(records) for records in buffer.kept()) == buffer.rows_kept_by(10)
        for bound in (1, 2, 5, 10):
            assert buffer.rows_kept_by(bound) == sum(min(count, bound) for count in by_person.values())


@pytest.mark.parametrize("bound", [0, 4])
def test_a_bound_beyond_the_rows_kept_is_refused(bound: int) -> None:
    """The buffer kept no more than max_rows rows of a person, so it cannot say."""
    with buffer_with([], max_rows=3, limits=Limits()) as buffer:
        assert list(buffer.kept()) == []
        with pytest.raises(ValueError, match="1 to 3 rows"):
            buffer.rows_kept_by(bound)


def test_kept_rows_have_the_types_that_were_added_and_are_read_only() -> None:
    """Codes beyond 2^63 stay whole numbers."""
    with buffer_with([[(b"a", (7, 2**64 - 1))], []], max_rows=3, limits=Limits()) as buffer:
        (records,) = buffer.kept()
    assert [column.dtype for column in records.columns] == list(DTYPES)
    assert [column.tolist() for column in records.columns] == [[7], [2**64 - 1]]
    assert not any(column.flags.writeable for column in records.columns)


def times_kept(rows: list[Record], *, max_rows: int, persons: int, keys: int) -> NDArray[np.int64]:
    """How often each of the records 0, 1, 2 … was kept of persons who all have the same rows, under fixed keys."""
    ids = pa.array([f"person {number}".encode() for number in range(persons)], pa.binary())
    everyone = pa.array(np.repeat(np.arange(persons), len(rows)))
    columns = tuple(
        np.tile(np.array(column, dtype), persons) for column, dtype in zip(zip(*rows, strict=True), DTYPES, strict=True)
    )
    times = np.zeros(max(row[0] for row in rows) + 1, dtype=np.int64)
    for key in range(keys):
        secret = key.to_bytes(16, "little")
        with PersonBuffer(dtypes=DTYPES, max_rows=max_rows, limits=Limits(), secret=secret) as buffer:
            buffer.add(ids.take(everyone), Records(columns))
            for records in buffer.kept():
                times += np.bincount(records.columns[0], minlength=len(times))
    return times


PERSONS, KEYS, KEPT = 1000, 20, 5


def unevenness(times: NDArray[np.int64]) -> float:
    """The p-value of the chi-square test for KEPT of n rows drawn without replacement, every row as likely."""
    n, trials = len(times), PERSONS * KEYS
    share = KEPT / n
    square = np.sum((times - trials * share) ** 2) / (trials * share * (1 - share)) * (n - 1) / n
    return float(stats.chi2.sf(square, n - 1))


def test_every_row_of_a_person_is_as_likely_to_be_kept() -> None:
    """Keys are fixed, so this test has no chance in it."""
    times = times_kept([(number, 0) for number in range(20)], max_rows=KEPT, persons=PERSONS, keys=KEYS)
    assert times.sum() == PERSONS * KEYS * KEPT
    assert unevenness(times) > 0.001


def test_the_test_of_evenness_rejects_a_slight_preference() -> None:
    """Tags of half of the records that are 5 % smaller are noticed."""

    def preferring(hashes: Words, occurrences: NDArray[np.int64]) -> Words:
        even = tags(hashes, occurrences)
        return even - np.where(hashes & np.uint64(1), even // np.uint64(20), np.uint64(0))

    def marked(self: KeyedHash, ids: Words, columns: tuple[NDArray[np.uint32], ...]) -> Words:
        return (of_pairs(self, ids, columns) & ~np.uint64(1)) | (columns[0] < 10).astype(np.uint64)

    of_pairs = KeyedHash.of_pairs
    with patch.object(contributions, "tags", preferring), patch.object(KeyedHash, "of_pairs", marked):
        times = times_kept([(number, 0) for number in range(20)], max_rows=KEPT, persons=PERSONS, keys=KEYS)
    assert unevenness(times) < 1e-6


def test_equal_rows_are_kept_in_proportion_to_their_number() -> None:
    """Ten equal rows among twenty are half of what is kept, on average."""
    rows = [(0, 0)] * 10 + [(number, 0) for number in range(1, 11)]
    times = times_kept(rows, max_rows=KEPT, persons=PERSONS, keys=KEYS)
    law = stats.hypergeom(20, 10, KEPT)
    trials = PERSONS * KEYS
    assert abs(times[0] - trials * law.mean()) < 4 * np.sqrt(trials) * law.std()


def test_each_buffer_has_a_fresh_secret() -> None:
    """Two buffers keep different ten of a thousand rows."""
    rows: list[Row] = [(b"a", (number, 0)) for number in range(1000)]
    choices = []
    for _ in range(2):
        with buffer_with([rows], max_rows=10, limits=Limits(), secret=None) as buffer:
            choices.append({code for records in buffer.kept() for code in records.columns[0].tolist()})
    assert choices[0] != choices[1]


@pytest.mark.parametrize("distinct", [10**6, 1000, 1])
def test_a_person_may_have_a_million_rows(distinct: int) -> None:
    """All different, or many equal: a buffer for a few thousand rows keeps the same rows as one for all of them."""
    choices = []
    for buffer_bytes in (MIB, 1000 * MIB):
        limits = Limits(buffer_bytes=buffer_bytes)
        with PersonBuffer(dtypes=DTYPES, max_rows=7, limits=limits, secret=SECRET) as buffer:
            for start in range(0, 10**6, 50_000):
                codes = np.arange(start, start + 50_000, dtype=np.uint32) % np.uint32(distinct)
                buffer.add(pa.array([b"the same"] * 50_000), Records((codes, codes.astype(np.uint64))))
            choices.append(Counter(code for records in buffer.kept() for code in records.columns[0].tolist()))
            assert (buffer._runs is not None) == (buffer_bytes == MIB)
    assert choices[0] == choices[1]
    assert choices[0].total() == 7


def test_what_fits_the_buffer_never_touches_the_disk() -> None:
    """The spool is opened by the first rows that do not fit."""
    rows: list[Row] = [(b"a", (number, 0)) for number in range(4)]
    with small_sizes(), patch.object(sorted_runs, "SealedSpool", wraps=sorted_runs.SealedSpool) as opened:
        with buffer_with([rows] * 3, max_rows=1, limits=Limits(buffer_bytes=IN_MEMORY)) as buffer:
            assert sum(map(len, buffer.kept())) == 1
        assert opened.call_count == 0
        with buffer_with([rows] * 3, max_rows=1, limits=Limits(buffer_bytes=100)) as buffer:
            assert opened.call_count == 1
            assert sum(map(len, buffer.kept())) == 1
        assert opened.call_count == 1


def test_the_cap_of_the_spool_bounds_all_runs_together(tmp_path: Path) -> None:
    """The exact number of bytes is enough; with a byte less the upload is refused, and the spool closed."""
    batches = [[(str(number).encode(), (number, 0))] * 5 for number in range(20)]

    def written(spool_bytes: int) -> int:
        limits = Limits(buffer_bytes=0, spool_bytes=spool_bytes, spool_folder=tmp_path)
        with buffer_with(batches, max_rows=2, limits=limits) as buffer:
            assert sum(map(len, buffer.kept())) == 40
            assert buffer._runs is not None
            assert len(buffer._runs._runs) == 20
            return len(buffer._runs._spool)

    with small_sizes():
        needed = written(2**30)
        assert written(needed) == needed
        with (
            patch.object(sorted_runs, "SealedSpool", wraps=sorted_runs.SealedSpool) as opened,
            pytest.raises(UploadTooLarge) as refusal,
        ):
            written(needed - 1)
    assert opened.call_count == 1
    assert (refusal.value.cap, refusal.value.allowed) == (Cap.SPOOL_BYTES, needed - 1)


def test_the_spool_is_closed_when_the_buffer_is() -> None:
    """Also when the reason is an exception."""
    batches: list[list[Row]] = [[(b"a", (1, 1))] * 5]
    with (
        small_sizes(),
        pytest.raises(KeyError),
        buffer_with(batches, max_rows=1, limits=Limits(buffer_bytes=0)) as held,
    ):
        raise KeyError
    assert held._runs is not None
    assert held._runs._spool.closed


def test_the_memory_of_a_batch_is_given_back() -> None:
    """Ids of an Arrow batch lie in the memory of the whole batch, which may be far larger than they are."""
    body = np.frombuffer(bytearray(b"abc"), dtype=np.uint8)
    watched = weakref.ref(body)
    offsets = pa.py_buffer(np.array([0, 1, 3], dtype=np.int32))
    ids = pa.Array.from_buffers(pa.binary(), 2, [None, offsets, pa.py_buffer(body)])
    with buffer_with([], max_rows=1, limits=Limits()) as buffer:
        buffer.add(ids, records_of([(b"a", (1, 1)), (b"bc", (2, 2))]))
        del ids, body
        assert watched() is None
        assert sum(map(len, buffer.kept())) == 2
