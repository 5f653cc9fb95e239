"""What a worker process does: answers to questions about synopses that it is sent. It sees nothing else.

`app.operations.worker_process` calls `handle`. A task is a pickled question and the digest of its synopsis. The
synopses used last are kept.
"""

from __future__ import annotations

import pickle

from app.operations.worker_process import Fetch, Refusal
from app.questions.encoding import encode
from app.questions.lru_cache import LruCache
from app.questions.prepared import Prepared
from app.questions.question import Question
from core.checkpoint import Checkpoint
from core.errors import InvalidQuery
from core.synopsis import Synopsis

_MEMORY_BYTES = 64 * 2**20  # for synopses; one that is larger is kept alone, until the next

_prepared: LruCache[Prepared] = LruCache(_MEMORY_BYTES, weigh=lambda _, prepared: prepared.weight)


def task_of(question: Question, digest: str) -> bytes:
    """The task to answer a question about the synopsis with this digest."""
    return pickle.dumps((question, digest))


def handle(task: bytes, fetch: Fetch, checkpoint: Checkpoint) -> bytes:
    """The encoded answer. `fetch` returns the bytes of the synopsis. Refusal where the question cannot be answered."""
    question: Question
    question, digest = pickle.loads(task)  # noqa: S301 - the parent process has written it
    prepared = _prepared.get(digest, lambda: Prepared(Synopsis.from_bytes(fetch())))
    try:
        return encode(question.answer(prepared, checkpoint))
    except InvalidQuery as error:
        raise Refusal(str(error)) from error
