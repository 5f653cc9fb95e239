"""Rows that are counted where they lie: the same counts as an upload gives, from any files, on any executor."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pytest

from app.engines import parts
from app.engines.counting import RecordEngine, count_parts
from app.engines.files import NoFiles, find_files
from app.engines.parts import Job, parts_of
from app.engines.people import key_of
from app.ingest.errors import MissingColumns
from app.ingest.formats import MediaType
from core.counting import Step, Tally, Target
from core.records import OutOfRange
from core.unit import RECORD, Unit
from tests.support.engines import DOMAIN, LIMITS, ROWS, counted, engine_for, table, target_for, uploaded, write


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.csv.gz", "a.ndjson", "a.arrow"])
def test_counts_are_those_of_an_upload(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell by cell, in parts of any size, with the same rows read, dropped and clipped."""
    path = write(table(), tmp_path / name)
    media_type = find_files([str(path)])[0].media_type
    cells, ingest = uploaded(path, media_type)
    assert ingest.rows_dropped > 0
    assert ingest.rows_clipped > 0
    for size in (977, 4096, 10**9):
        monkeypatch.setattr(parts, "PART_BYTES", size)
        found, rows = counted(path)
        assert (found == cells).all()
        assert (rows.rows_read, rows.rows_dropped, rows.rows_clipped) == (
            ingest.rows_read,
            ingest.rows_dropped,
            ingest.rows_clipped,
        )


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n", b"\n\n"])
def test_a_text_cut_anywhere_has_every_line_once(
    tmp_path: Path, ending: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines of all lengths, cut at every byte: no line is lost, split or counted twice."""
    lines = [b"%d,%s" % (age, b"fm"[age % 2 : age % 2 + 1] + b" " * (age % 7)) for age in range(40)]
    path = tmp_path / "a.csv"
    path.write_bytes(b"age,sex\n" + b"\n".join(lines) + ending)
    expected, _ = counted(path)
    assert expected.sum() == 40
    for size in range(9, 120, 3):
        monkeypatch.setattr(parts, "PART_BYTES", size)
        found, rows = counted(path)
        assert (found == expected).all(), size
        assert rows.rows_read - rows.rows_dropped == 40


def test_folders_globs_and_partitions(tmp_path: Path) -> None:
    """All files below a folder but markers and hidden ones; a partition is a column where the domain wants it."""
    rows = table()
    for sex in ("f", "m", "%78"):
        write(rows.drop_columns("sex").slice(0, 100), tmp_path / f"trips/sex={sex}/part-0.parquet")
    for name in ("_SUCCESS", ".hidden.parquet", "_temporary/0.parquet"):
        (tmp_path / "trips" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "trips" / name).write_bytes(b"no rows")
    whole, ingest = counted(tmp_path / "trips")
    assert (ingest.rows_read, ingest.rows_dropped > 100) == (300, True)  # x is no category
    by_glob, _ = counted(tmp_path / "trips/sex=*/*.parquet")
    by_tree, _ = counted(f"file://{tmp_path}/trips/**/part-?.parquet")
    assert (whole == by_glob).all()
    assert (whole == by_tree).all()
    assert whole.reshape(-1, 2).sum(axis=0).tolist() == [whole.sum() / 2] * 2


def test_files_of_any_file_system(tmp_path: Path) -> None:
    """fsspec opens what pyarrow does not know."""
    path = write(table(), tmp_path / "a.parquet")
    memory = fsspec.filesystem("memory")
    memory.pipe("/store/a.parquet", path.read_bytes())
    memory.pipe("/store/b.parquet", path.read_bytes())
    once, _ = counted(path)
    twice, _ = counted("memory://store/*.parquet")
    assert (twice == 2 * once).all()


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("nothing/*.csv", "quotes"),
        ("a.xyz", "--media-type"),
        ("nowhere://x", "nowhere://"),
        ("absent.csv", "absent.csv"),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(tmp_path: Path, name: str, word: str) -> None:
    """Before anything is counted."""
    (tmp_path / "a.xyz").write_bytes(b"")
    with pytest.raises(NoFiles, match=word):
        find_files([name if "://" in name else str(tmp_path / name)])


def test_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    """As for an upload."""
    path = write(table().drop_columns("sex"), tmp_path / "a.parquet")
    with pytest.raises(MissingColumns, match="sex"):
        counted(path)


def test_persons_are_bounded_over_all_files(tmp_path: Path) -> None:
    """At most c rows of each, as many as an upload of all rows keeps; every step counts the same rows."""
    unit = Unit("patient", 2)
    rows = table()
    for part in range(3):
        write(rows.slice(part * 2000, 2000), tmp_path / f"rows/{part}.parquet")
    cells, ingest = uploaded(write(rows, tmp_path / "all.parquet"), MediaType.PARQUET, unit=unit)
    target = target_for(unit=unit)
    with engine_for(tmp_path / "rows", unit=unit) as engine:
        first, second = (target.dense(engine.count(target)) for _ in range(2))
        assert (first == second).all()
        assert engine.check().rows_over_limit == ingest.rows_over_limit > 0
        assert engine.count(Target(Step.SIZE, target.order)).total == first.sum() == cells.sum()
    more = pa.concat_tables([rows, rows.slice(0, 5).set_column(2, "patient", pa.array([10**9] * 5))])
    write(more.slice(ROWS), tmp_path / "rows/3.parquet")
    person = more.slice(ROWS).filter(pa.compute.field("age").is_valid())
    with engine_for(tmp_path / "rows", unit=unit) as engine:
        assert abs(engine.count(Target(Step.SIZE, target.order)).total - first.sum()) <= min(2, len(person))


def test_a_release_keeps_the_same_rows_in_every_run(tmp_path: Path) -> None:
    """Steps of one release may be counted by two runs of a command; another release keeps other rows."""
    write(table(), tmp_path / "a.parquet")
    first, again, other = (
        counted(tmp_path, unit=Unit("patient", 1), person_key=key_of(release))[0] for release in ("r1", "r1", "r2")
    )
    assert (first == again).all()
    assert (first != other).any()


def test_one_row_more_moves_one_count_by_one(tmp_path: Path) -> None:
    """Neighbours, through any cut of the files."""
    rows = table(rows=300)
    before, _ = counted(write(rows, tmp_path / "a.csv"))
    after, _ = counted(write(pa.concat_tables([rows, rows.slice(0, 1)]), tmp_path / "b.csv"))
    assert np.abs(after - before).sum() <= 1


def test_any_executor_will_do(tmp_path: Path) -> None:
    """Processes that share nothing return the counts of threads: parts, targets and tallies can be sent."""
    for part in range(4):
        write(table(seed=part), tmp_path / f"{part}.parquet")
    expected, ingest = counted(tmp_path)
    job = Job(DOMAIN, RECORD, OutOfRange.CLIP, LIMITS)
    pieces = [part for file in find_files([str(tmp_path)]) for part in parts_of(file)]
    done: list[tuple[int, int]] = []
    target = target_for()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        tally, rows = count_parts(pool, pieces, job, target, at_once=2, progress=lambda *numbers: done.append(numbers))
    assert tally is not None
    assert (target.dense(tally) == expected).all()
    assert rows == ingest
    assert done[-1] == (4, 4)


def test_the_first_error_ends_the_rest(tmp_path: Path) -> None:
    """Parts that wait are not begun."""
    for part in range(30):
        write(table(rows=10).drop_columns("sex"), tmp_path / f"{part:02}.parquet")
    begun: list[Any] = []

    class Noting(ThreadPoolExecutor):
        def submit(self, *arguments: Any) -> Any:  # type: ignore[override]
            begun.append(arguments)
            return super().submit(*arguments)

    with engine_for(tmp_path) as engine, Noting(1) as pool:
        assert isinstance(engine, RecordEngine)
        with pytest.raises(MissingColumns):
            count_parts(pool, engine.parts, engine.job, target_for(), at_once=3)
    assert len(begun) == 3


@pytest.mark.parametrize("spread", [1, 3, 10**9], ids=["crowded", "spread", "far apart"])
def test_tallies_of_crowded_and_of_spread_cells_add_up_the_same(spread: int) -> None:
    """Crowded cells are added up in an array of all cells; far ones would not fit into one."""
    rng = np.random.default_rng(1)
    parts = [rng.integers(0, 50, 40) * spread for _ in range(4)]
    tallies = [Tally(*np.unique(part, return_counts=True)) for part in [*parts, np.empty(0, dtype=np.int64)]]
    merged = Tally.merged(tallies)
    cells, numbers = np.unique(np.concatenate(parts), return_counts=True)
    assert (merged.cells.tolist(), merged.numbers.tolist()) == (cells.tolist(), numbers.tolist())


def test_tallies_add_up() -> None:
    """Cell by cell, with their sums; those with and without sums do not mix."""
    one = Tally(np.array([1, 4]), np.array([2, 3]), np.array([[5], [6]]))
    two = Tally(np.array([0, 4]), np.array([7, 1]), np.array([[-1], [2]]))
    merged = Tally.merged([one, two])
    assert merged.cells.tolist() == [0, 1, 4]
    assert merged.numbers.tolist() == [7, 2, 4]
    assert merged.sums is not None
    assert merged.sums.tolist() == [[-1], [5], [8]]
