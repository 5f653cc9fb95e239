"""The worker processes of answers, one pool for all applications of a test process: each takes a second to start.

A pool answers about any synopsis that it is sent, so it serves many applications as it serves many releases of one.
Tests of a pool's own life (`tests/app/answers/test_long_answers.py`) have servers with pools of their own.
"""

from __future__ import annotations

from functools import cache

from fastapi import FastAPI

from app.answers.answers import Answers
from app.operations.worker_pool import WorkerPool
from app.settings.settings import Settings

_SECONDS: float = Settings.model_fields["answer_timeout_seconds"].default


class _Lent(WorkerPool):
    """A pool that outlives the applications that close it."""

    def close(self) -> None:
        """Nothing."""


@cache
def _shared() -> _Lent:
    return _Lent("app.answers.answer_process", seconds=_SECONDS)


def lend_workers(app: FastAPI) -> None:
    """Give an application the shared pool in place of its own, which has started no process yet."""
    answers: Answers = app.state.answers
    if app.state.service.settings.answer_timeout_seconds == _SECONDS:
        answers.long.pool = _shared()


def end_workers() -> None:
    """End the shared processes."""
    WorkerPool.close(_shared())
