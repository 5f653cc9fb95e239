"""A Dask cluster that may see private rows: over TLS, and with nothing spilled to workers' disks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from app.engines.parts import Progress
from rugnik.counting import is_loopback

_Result = TypeVar("_Result")
_RETRIES = 3  # of a task whose worker is lost; its counts are exact, so a second run gives the same
_WAIT_SECONDS = 30  # for the first worker
_LOOK_SECONDS = 1  # between two looks at how far the tasks are
_NO_SPILLING = (
    "A worker of the cluster may write rows and counts to its disk. Start workers with "
    "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET=False and DASK_DISTRIBUTED__WORKER__MEMORY__SPILL=False."
)

_NO_CERTIFICATES = (
    "The certificates of the cluster cannot be read. Name their files: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, "
    "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT and DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY."
)


class UnfitCluster(Exception):
    """A cluster that must not see private rows, or cannot count them, in a sentence that says why."""


@contextmanager
def connected(scheduler: str) -> Iterator[Cluster]:
    """A cluster whose workers were looked at. Raises UnfitCluster."""
    require_private_way(scheduler)
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ImportError:
        raise UnfitCluster("--engine dask needs Dask: pip install 'rugnik[dask]'.") from None
    if urlsplit(scheduler).scheme == "tls":
        _require_certificates()
    connect: Any = distributed.Client  # it has no types
    try:
        client = connect(scheduler, timeout="10s", set_as_default=False)
    except (OSError, TimeoutError):
        raise UnfitCluster(f"No scheduler answers at {scheduler}.") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=_WAIT_SECONDS)
        except TimeoutError:
            raise UnfitCluster(f"The scheduler at {scheduler} has no workers.") from None
        threads: dict[str, int] = client.nthreads()
        for worker in threads:
            require_private_way(worker)
        if any(client.run(spills, workers=list(threads)).values()):
            raise UnfitCluster(_NO_SPILLING)
        with client.get_executor(pure=False, retries=_RETRIES) as executor:
            yield Cluster(client, tuple(threads), sum(threads.values()), Guarded(executor))


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster, the addresses of its workers, how many threads they have, and an executor whose results come here.

    Tasks of `submit` leave their results on workers. They run on the workers that were looked at and on no others,
    because the arguments of a task are on a worker before the task can look at it.
    """

    client: Any
    workers: tuple[str, ...]
    threads: int
    executor: Executor

    @property
    def at_once(self) -> int:
        """How many tasks to give to the executor at once."""
        return max(2, 4 * self.threads)

    def submit(self, task: Callable[..., Any], /, *arguments: Any) -> Any:
        """A future, which may be an argument, or an item of a list of arguments, of another task."""
        return self.client.submit(
            _guarded, task, *arguments, workers=self.workers, pure=False, retries=_RETRIES, allow_other_workers=False
        )

    def results(self, futures: Sequence[Any], progress: Progress | None = None) -> list[Any]:
        """What tasks returned, in order. Raises the first error, and UnfitCluster if all workers are lost."""
        import distributed  # noqa: PLC0415 - an extra

        wait: Any = distributed.wait  # it has no types

        done = 0
        while done < len(futures):
            try:
                with self.client.as_current():
                    wait(futures, timeout=_LOOK_SECONDS)
            except TimeoutError:
                self._require_workers()
            for future in futures:
                if future.status in {"error", "cancelled"}:
                    future.result()
            done = sum(future.done() for future in futures)
            if progress is not None:
                progress(done, len(futures))
        gathered: list[Any] = self.client.gather(list(futures))
        return gathered

    def _require_workers(self) -> None:
        if not set(self.workers) & set(self.client.nthreads()):
            raise UnfitCluster("All workers that held rows are lost: repeat the command with --order.")


def require_private_way(place: str) -> None:
    """Refuse a scheduler or worker that rows and counts would reach in the clear from another machine."""
    address = urlsplit(place if "://" in place else f"tcp://{place}")
    if address.scheme == "tls":
        return
    if not is_loopback(address.hostname or ""):
        raise UnfitCluster("Schedulers and workers on other machines are reached over TLS: tls://host:port.")


def _require_certificates() -> None:
    """Refuse to go on without the files that Dask's own settings name."""
    from distributed.security import Security  # noqa: PLC0415 - an extra

    security: Any = Security
    try:
        context = security().get_connection_args("client").get("ssl_context")
    except OSError:
        context = None
    if context is None:
        raise UnfitCluster(_NO_CERTIFICATES)


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
