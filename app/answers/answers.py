"""Answers: cached in memory, stored in the database if costly, else computed.

An answer is a function of the synopsis digest, the question in canonical JSON and the version of the answering code.
Their hash is the answer's key, the same for ever, so that it is also the ETag.

Before anything is computed, the question's effort is estimated from public numbers (`Speed`). A quick answer is
computed at once, in this process. Others wait for a slot of their own kind (`app.operations.lanes`) and are computed in
a worker process (`app.answers.long_answers`). One beyond RUGNIK_MAX_ANSWER_SECONDS is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from app.access.principal import Principal
from app.answers import stored_answers
from app.answers.long_answers import LongAnswers
from app.errors import TooMuchWork
from app.ledger.book import read_book
from app.questions.encoding import encode
from app.questions.lru_cache import LruCache
from app.questions.prepared import Prepared
from app.questions.question import Published, Question
from app.releases import reading
from app.service import Service
from core.checkpoint import Checkpoint
from core.ledger.kinds import State

_OVERHEAD = 256  # bytes of a cached body beside its own
_RELEASES = 100_000  # cached by name; a few hundred bytes each
# Answers of at most this estimated effort do not wait behind longer ones. A quick one is computed beside the event loop
# and shares the interpreter lock with it: many of them at once must not hold up anybody else's cheap question.
QUICK_SECONDS, MIDDLE_SECONDS = 0.002, 0.25
# One part in so many of RUGNIK_ANSWER_MEMORY_BYTES is for request lines (app.http.middleware.hot_answers).
LINES_SHARE = 8


class Speed(Enum):
    """How long an answer takes by its estimate, which decides the lane that it waits in."""

    QUICK = "quick"
    MIDDLE = "middle"
    LONG = "long"


class Answers:
    """This process's caches of published releases, synopses and answers, in front of the database."""

    def __init__(self, service: Service) -> None:
        settings = service.settings
        self._service = service
        self.long = LongAnswers(settings.answer_timeout_seconds)
        self._published: LruCache[Published] = LruCache(_RELEASES, weigh=lambda _key, _release: 1)
        self._prepared: LruCache[Prepared] = LruCache(settings.synopsis_memory_bytes, weigh=lambda _, p: p.weight)
        bodies = settings.answer_memory_bytes - settings.answer_memory_bytes // LINES_SHARE
        self._bodies: LruCache[bytes] = LruCache(bodies, weigh=lambda key, body: len(key) + len(body) + _OVERHEAD)

    def published_here(self, caller: Principal, release_id: str) -> Published | None:
        """A published release that this caller may ask, if it is in memory; quick enough for an event loop."""
        published = self._published.peek(release_id)
        return published if published is not None and caller.may_see(published.dataset) else None

    def published(self, caller: Principal, release_id: str) -> Published:
        """A published release that this caller may ask; NotFound for anybody else."""
        published = self._published.get(release_id, lambda: self._look_up(caller, release_id))
        if not caller.may_see(published.dataset):
            raise reading.no_release()
        return published

    def _look_up(self, caller: Principal, release_id: str) -> Published:
        with read_book(self._service) as book:
            release = reading.load(book, caller, release_id)
        if release.standing.state is not State.PUBLISHED or release.standing.digest is None:
            raise reading.no_release()
        return Published(release=release_id, dataset=release.dataset, digest=release.standing.digest)

    def prepared(self, published: Published) -> Prepared:
        """The synopsis of a release, checked against the ledger when it is loaded."""
        return self._prepared.get(published.digest, lambda: self._load(published.release))

    def _load(self, release_id: str) -> Prepared:
        with read_book(self._service) as book:
            release = reading.load_any(book, release_id)
            return Prepared(reading.load_synopsis(book, release))

    def kept(self, key: str, make: Callable[[], bytes]) -> bytes:
        """Bytes that follow from a release for ever, from memory or made now."""
        return self._bodies.get(key, make)

    def body_here(self, key: str) -> bytes | None:
        """An answer that is in memory."""
        return self._bodies.peek(key)

    def quick_body(self, key: str, published: Published, question: Question, checkpoint: Checkpoint) -> bytes | Speed:
        """The answer if it is stored, or quick to compute; else how long it takes. TooMuchWork if it takes too long."""
        body = self.body_here(key) or self._stored(key, question)
        if body is not None:
            self._bodies.put(key, body)
            return body
        speed = self.speed(published, question)
        if speed is not Speed.QUICK:
            return speed
        return self._body(key, question, lambda: self.work_out(published, question, checkpoint))

    def body_apart(self, key: str, published: Published, question: Question, checkpoint: Checkpoint) -> bytes:
        """The answer to a question that is not quick: from memory or the database, or from a worker process."""
        return self._body(key, question, lambda: self.work_out_apart(published, question, checkpoint))

    def speed(self, published: Published, question: Question) -> Speed:
        """How long a question takes, by its estimated effort; TooMuchWork beyond the limit."""
        effort = question.effort(self.prepared(published))
        limit = self._service.settings.max_answer_seconds
        if effort.seconds > limit:
            raise TooMuchWork(seconds=effort.seconds, limit=limit, advice=effort.advice)
        if effort.seconds <= QUICK_SECONDS:
            return Speed.QUICK
        return Speed.MIDDLE if effort.seconds <= MIDDLE_SECONDS else Speed.LONG

    def _body(self, key: str, question: Question, work_out: Callable[[], bytes]) -> bytes:
        """The answer to a question: from memory, or computed now, and stored if it was costly."""
        return self._bodies.get(key, lambda: self._make(key, question, work_out))

    def _make(self, key: str, question: Question, work_out: Callable[[], bytes]) -> bytes:
        stored = self._stored(key, question)
        if stored is not None:
            return stored
        body = work_out()
        if not question.costly:
            return body
        with self._service.database.transaction() as tx:
            return stored_answers.store(
                tx, key, body, self._service.secret, keep=self._service.settings.max_stored_answers
            )

    def _stored(self, key: str, question: Question) -> bytes | None:
        if not question.costly:
            return None
        with self._service.database.read_only() as tx:
            return stored_answers.load(tx, key, self._service.secret)

    def work_out(self, published: Published, question: Question, checkpoint: Checkpoint) -> bytes:
        """The answer, computed now and not cached."""
        return encode(question.answer(self.prepared(published), checkpoint))

    def work_out_apart(self, published: Published, question: Question, checkpoint: Checkpoint) -> bytes:
        """The same bytes, computed in a worker process."""
        return self.long.work_out(self.prepared(published), question, checkpoint)

    def close(self) -> None:
        """End the worker processes."""
        self.long.pool.close()
