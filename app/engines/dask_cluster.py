"""A Dask cluster as an executor, if it may see private rows: over TLS, and with nothing spilled to workers' disks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import urlsplit

from core.unit import Unit

_Result = TypeVar("_Result")
_RETRIES = 3  # of a task whose worker is lost; its counts are exact, so a second run gives the same
_NO_SPILLING = (
    "A worker of the cluster may write rows and counts to its disk. Start workers with "
    "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET=False and DASK_DISTRIBUTED__WORKER__MEMORY__SPILL=False."
)


class UnfitCluster(Exception):
    """A cluster that must not see private rows, in a sentence that says why."""


@contextmanager
def connected(scheduler: str, unit: Unit) -> Iterator[tuple[Executor, int]]:
    """The executor of a cluster, and how many tasks to submit at once. Raises UnfitCluster."""
    if unit.is_person:
        raise UnfitCluster(
            "Rows of one person may lie in several files, and must be bounded together: count persons with "
            "--engine local."
        )
    require_private_way(scheduler)
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ImportError:
        raise UnfitCluster("--engine dask needs Dask: pip install 'rugnik[dask]'.") from None
    connect: Any = distributed.Client  # it has no types
    try:
        client = connect(scheduler, timeout="10s", set_as_default=False)
    except (OSError, TimeoutError):
        raise UnfitCluster(f"No scheduler answers at {scheduler}.") from None
    with client:
        if any(client.run(spills).values()):
            raise UnfitCluster(_NO_SPILLING)
        threads = sum(client.nthreads().values())
        with client.get_executor(pure=False, retries=_RETRIES) as executor:
            yield Guarded(executor), max(2, 4 * threads)


def require_private_way(scheduler: str) -> None:
    """Refuse to send rows and counts in the clear between machines."""
    address = urlsplit(scheduler if "://" in scheduler else f"tcp://{scheduler}")
    if address.scheme == "tls":
        return
    try:
        is_loopback = ip_address(address.hostname or "").is_loopback
    except ValueError:
        is_loopback = address.hostname == "localhost"
    if not is_loopback:
        raise UnfitCluster("A scheduler on another machine is reached over TLS: tls://host:port.")


def spills(dask_worker: Any) -> bool:
    """Whether a worker may write what it holds to its disk. Runs on the worker."""
    memory = dask_worker.memory_manager
    return bool(memory.memory_target_fraction or memory.memory_spill_fraction)


class Guarded(Executor):
    """An executor on whose workers each task first sees that nothing is spilled: workers may join at any time."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, fn: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Future[_Result]:
        """Submit a task."""
        return self._executor.submit(_guarded, fn, *args, **kwargs)


def _guarded(task: Callable[..., _Result], *args: Any, **kwargs: Any) -> _Result:
    """Runs on a worker, before it opens a file."""
    from distributed import get_worker  # noqa: PLC0415 - an extra

    if spills(get_worker()):
        raise UnfitCluster(_NO_SPILLING)
    return task(*args, **kwargs)
