"""Counts files on a Ray cluster and publishes them: python examples/ray_counting.py DATASET FILES

Needs Ray beside `rugnik[server]`, here and on every worker of the cluster, and RUGNIK_URL and RUGNIK_KEY of a curator.
For datasets whose privacy unit is a record: rows of one person would have to be brought together first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import ray

from app.engines.counting import RecordEngine
from app.engines.files import find_files
from app.engines.parts import Job, parts_of
from app.engines.sending import send_all
from app.ingest.limits import Limits
from core.domain.domain import Domain
from core.records import OutOfRange
from core.unit import RECORD
from rugnik import Client


@ray.remote(max_retries=3)
def run(task: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Run a task on a worker; again elsewhere if that one is lost."""
    return task(*arguments, **options)


class RayExecutor(Executor):
    """Tasks on a Ray cluster."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a task."""
        return run.remote(fn, *args, **kwargs).future()


def main(dataset: str, files: str) -> None:
    """Order a release, count its rows on the cluster, and publish it."""
    ray.init(log_to_driver=False)  # a cluster of this machine, or the one that RAY_ADDRESS names
    with Client(os.environ["RUGNIK_URL"], os.environ["RUGNIK_KEY"]) as client:
        if client.dataset(dataset).unit.kind != "record":
            sys.exit("This example counts records, not persons.")
        order = client.order(dataset, epsilon=0.5, clusters=5)
        domain = Domain.from_json(client.awaited(order.id).attributes)
        job = Job(domain, RECORD, OutOfRange(order.plan.order["out_of_range"]), Limits())
        parts = [part for file in find_files([files]) for part in parts_of(file)]
        at_once = 4 * int(ray.cluster_resources()["CPU"])
        published = send_all(client, order.id, RecordEngine(RayExecutor(), parts, job, at_once), is_continued=False)
        print(f"counted by Ray {ray.__version__}: {published.state}")


if __name__ == "__main__":
    main(*sys.argv[1:])
