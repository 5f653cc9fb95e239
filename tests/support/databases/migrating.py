"""A process that migrates databases, each at the same moment as another process does."""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing import get_context
from typing import Any

from app.storage.database import Database


def run(urls: Sequence[str], barrier: Any) -> None:
    """Migrate each database once the other runner has come as far."""
    for url in urls:
        barrier.wait(timeout=120)
        database = Database(url)
        database.migrate()
        database.dispose()


def two_at_once(urls: Sequence[str]) -> list[int | None]:
    """The exit codes of two processes that migrate the same databases at the same time."""
    context = get_context("spawn")
    barrier = context.Barrier(2)
    runners = [context.Process(target=run, args=(list(urls), barrier)) for _ in range(2)]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    return [runner.exitcode for runner in runners]
