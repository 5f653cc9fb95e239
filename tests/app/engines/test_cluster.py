"""Rows counted on a real Dask cluster of worker processes: the same counts, nothing in the clear, and lost workers."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import dask
import numpy as np
import pyarrow as pa
import pytest
from distributed import LocalCluster
from distributed.security import Security

from app.engines.counting import Engine
from app.engines.dask_cluster import UnfitCluster, require_private_way
from app.engines.people import key_of
from app.ingest.formats import MediaType
from core.counting import Drawn, Step, Target, next_target
from core.plan import DeclaredSize, EstimatedSize, Order, Rule
from core.unit import Unit
from tests.support.engines import ROWS, counted, die_once, engine_for, order_for, table, target_for, uploaded, write

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # Dask's own, when a cluster is closed

PERSON = Unit("patient", 2)
KEY = key_of("r1")
NOTHING_TO_DISK = {"distributed.worker.memory.target": False, "distributed.worker.memory.spill": False}


@contextmanager
def workers(number: int = 2, *, protocol: str = "tcp", **options: Any) -> Iterator[LocalCluster]:
    """A cluster of worker processes with one thread each."""
    with LocalCluster(
        n_workers=number,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        host="127.0.0.1",
        protocol=protocol,
        silence_logs=50,
        **options,
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared() -> Iterator[str]:
    """The address of a cluster that no test harms: two workers that write nothing to disk."""
    with ExitStack() as exits:
        with dask.config.set(NOTHING_TO_DISK):  # for its workers alone: it outlives a test
            opened = exits.enter_context(workers())
        yield opened.scheduler_address


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    """The same, of one test's own."""
    with dask.config.set(NOTHING_TO_DISK), workers() as opened:
        yield opened


def kill_one(cluster: LocalCluster) -> None:
    """SIGKILL to the process of one worker; its nanny starts another one."""
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)


# --- persons


PLAIN = order_for(unit=PERSON)
BOUGHT = order_for(unit=PERSON, size=EstimatedSize())
ADAPTIVE = order_for(unit=PERSON, size=DeclaredSize(10 * ROWS), rule=Rule.ADAPTIVE)
STEPS = {
    PLAIN: [Step.CELLS],
    BOUGHT: [Step.SIZE, Step.CELLS],
    ADAPTIVE: [Step.BASE, Step.COARSE, Step.LEAVES],
}
ORDERS = pytest.mark.parametrize("order", STEPS, ids=["plain", "bought", "adaptive"])


def all_steps(engine: Engine, order: Order) -> list[tuple[Target, np.ndarray[Any, Any]]]:
    """The targets and counts of all steps of a release whose noise is zero."""
    drawn, steps = Drawn(), []
    while not steps or not steps[-1][0].step.is_last:
        target = next_target(order, drawn, max_cells=10**6)
        tally = engine.count(target)
        target.require_fitting(tally)
        steps.append((target, target.dense(tally)))
        match target.step:
            case Step.SIZE:
                drawn = replace(drawn, size=tally.total)
            case Step.BASE:
                drawn = replace(drawn, base=steps[-1][1])
            case Step.COARSE:
                drawn = replace(drawn, coarse=steps[-1][1])
    return steps


def scattered(folder: Path, files: int = 3) -> Path:
    """Files in which persons have rows in several of them, many have more than two rows, and some have equal ones."""
    rows = table()
    rows = pa.concat_tables([rows, rows.slice(0, 500)])
    each = -(-len(rows) // files)
    for part in range(files):
        write(rows.slice(part * each, each), folder / f"{part}.parquet")
    return folder


@ORDERS
def test_persons_are_counted_as_in_one_process(tmp_path: Path, shared: str, order: Order) -> None:
    """Step by step, with the same rows over the limit."""
    folder = scattered(tmp_path)
    options: dict[str, Any] = {"unit": PERSON, "person_key": KEY}
    with engine_for(folder, **options) as here, engine_for(folder, scheduler=shared, **options) as there:
        expected, steps = all_steps(here, order), all_steps(there, order)
        assert [target.step for target, _ in steps] == STEPS[order]
        assert all((first == second).all() for (_, first), (_, second) in zip(expected, steps, strict=True))
        assert there.check() == here.check()
        assert there.check().rows_over_limit > 500


@ORDERS
def test_a_person_moves_the_counts_by_their_limit_at_most(tmp_path: Path, shared: str, order: Order) -> None:
    """With nine rows of one person, in every file: each step moves by at most c in L1, and by c in all."""
    folder = scattered(tmp_path)
    options: dict[str, Any] = {"unit": PERSON, "person_key": KEY, "scheduler": shared}
    with engine_for(folder, **options) as engine:
        steps = all_steps(engine, order)
    person = {"age": [10.0, 50.0, 90.0], "sex": ["f", "m", "f"], "patient": [10**9] * 3}
    for part in range(3):
        before = pa.parquet.read_table(folder / f"{part}.parquet")
        write(pa.concat_tables([before, pa.table(person)]), folder / f"{part}.parquet")
    with engine_for(folder, **options) as engine:
        moved = [int(np.abs(target.dense(engine.count(target)) - counts).sum()) for target, counts in steps]
        assert moved == [PERSON.max_rows] * len(steps)


def test_files_without_a_row_of_a_person(tmp_path: Path, shared: str) -> None:
    """Nothing is counted, and nothing fails."""
    write(table().slice(0, 0), tmp_path / "a.parquet")
    found, rows = counted(tmp_path, unit=PERSON, scheduler=shared)
    assert (found.sum(), rows.rows_read, rows.rows_over_limit) == (0, 0, 0)


def test_a_worker_that_is_lost_between_steps_loses_no_person(tmp_path: Path, cluster: LocalCluster) -> None:
    """What it kept is made again from the files, with the same rows of each person."""
    folder = scattered(tmp_path, files=6)
    options: dict[str, Any] = {"unit": PERSON, "person_key": KEY}
    target = target_for(unit=PERSON)
    with engine_for(folder, **options) as engine:
        expected = target.dense(engine.count(target))
    with engine_for(folder, scheduler=cluster.scheduler_address, **options) as engine:
        assert engine.check().rows_over_limit > 0
        kill_one(cluster)
        assert (target.dense(engine.count(target)) == expected).all()


def test_a_cluster_that_lost_all_workers_with_rows_is_given_up(tmp_path: Path, cluster: LocalCluster) -> None:
    """In place of waiting for ever. New workers were not looked at, so they get no rows."""
    folder = scattered(tmp_path)
    with engine_for(folder, unit=PERSON, scheduler=cluster.scheduler_address) as engine:
        engine.check()
        for nanny in cluster.workers.values():
            os.kill(nanny.pid, signal.SIGKILL)
        with pytest.raises(UnfitCluster, match="--order"):
            engine.count(target_for(unit=PERSON))


# --- lost workers, disks, and ways in the clear


def test_a_cluster_that_loses_a_worker_gives_the_same_counts(tmp_path: Path, cluster: LocalCluster) -> None:
    """One of two workers is killed within a task, in the middle: its parts are counted again elsewhere."""
    folder, flag = tmp_path / "rows", tmp_path / "killed"
    files = [write(table(seed=part), folder / f"{part:02}.parquet") for part in range(20)]
    expected = sum(uploaded(file, MediaType.PARQUET)[0] for file in files)
    pids = {nanny.pid for nanny in cluster.workers.values()}

    class Deadly(Executor):
        """Its tenth task kills the worker that it runs on, when it runs for the first time."""

        def __init__(self, executor: Executor) -> None:
            self._executor, self._tasks = executor, count(1)

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            if next(self._tasks) == 10:
                return self._executor.submit(die_once, flag, fn, *args, **kwargs)
            return self._executor.submit(fn, *args, **kwargs)

    target = target_for()
    with engine_for(folder, scheduler=cluster.scheduler_address) as engine:
        deadly = replace(engine, executor=Deadly(engine.executor))
        assert (target.dense(deadly.count(target)) == expected).all()
    assert int(flag.read_text()) in pids


@pytest.mark.parametrize("unit", [Unit(), PERSON], ids=["records", "persons"])
def test_a_cluster_that_may_write_to_disk_sees_no_row(tmp_path: Path, unit: Unit) -> None:
    """Dask's default is to spill."""
    write(table(), tmp_path / "a.parquet")
    with (
        workers(1) as spilling,
        pytest.raises(UnfitCluster, match="SPILL=False"),
        engine_for(tmp_path, unit=unit, scheduler=spilling.scheduler_address),
    ):
        pass


@pytest.mark.parametrize("scheduler", ["tcp://10.1.2.3:8786", "10.1.2.3:8786", "tcp://scheduler:8786", "ws://10.1.2.3"])
def test_another_machine_is_reached_over_tls_alone(scheduler: str) -> None:
    """Refused before anything is sent."""
    with pytest.raises(UnfitCluster, match="TLS"):
        require_private_way(scheduler)
    require_private_way("tls://10.1.2.3:8786")
    require_private_way("tcp://127.0.0.1:8786")
    require_private_way("localhost:8786")


def test_workers_on_other_machines_are_reached_over_tls_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler on this machine may have workers elsewhere, which rows would reach in the clear."""
    write(table(), tmp_path / "a.parquet")
    client = MagicMock()
    client.return_value.nthreads.return_value = {"tcp://127.0.0.1:1": 1, "tcp://10.1.2.3:1": 1}
    monkeypatch.setattr("distributed.Client", client)
    with (
        pytest.raises(UnfitCluster, match="TLS"),
        engine_for(tmp_path, unit=PERSON, scheduler="tcp://127.0.0.1:8786"),
    ):
        pass
    client.return_value.run.assert_not_called()


def test_certificates_are_those_of_dasks_variables(tmp_path: Path) -> None:
    """A tls:// cluster counts for a client that has them, and answers nobody else."""
    security = Security.temporary()
    variables = {}
    for name, content in {
        "CA_FILE": security.tls_ca_file,
        "CLIENT__CERT": security.tls_client_cert,
        "CLIENT__KEY": security.tls_client_key,
    }.items():
        file = tmp_path / "keys" / f"{name}.pem"
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
        variables[f"DASK_DISTRIBUTED__COMM__TLS__{name}"] = str(file)
    write(table(), tmp_path / "rows/a.parquet")
    expected, _ = counted(tmp_path / "rows")
    with dask.config.set(NOTHING_TO_DISK), workers(1, protocol="tls", security=security) as opened:
        address = opened.scheduler_address
        assert address.startswith("tls://")
        by_variables = dask.config.collect_env(variables)["distributed"]["comm"]["tls"]
        tls = dask.config.merge(dask.config.get("distributed.comm.tls"), by_variables)
        with dask.config.set({"distributed.comm.tls": tls}):
            found, _ = counted(tmp_path / "rows", scheduler=address)
        assert (found == expected).all()
        with pytest.raises(UnfitCluster, match="certificate"):
            counted(tmp_path / "rows", scheduler=address)
