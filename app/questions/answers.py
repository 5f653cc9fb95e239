"""Stage 2: questions to a published synopsis. Answers are a function of (digest, question, version), and kept as such.

An answer is asked for by a key: the synopsis digest, the question in canonical JSON, and the version of the answering
code. The key names the answer for ever, so it is also its ETag, and a client that has it needs nothing computed.

Before anything is worked out, the question's effort is estimated from public numbers. A quick answer is worked out at
once; a long one waits for a slot of its own kind (`app.operations.lanes`); one beyond RUGNIK_MAX_ANSWER_SECONDS is
refused.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, func, select, type_coerce, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import NullType

from app.access.principal import Principal
from app.errors import TooMuchWork
from app.ledger.book import read_book
from app.questions.lru_cache import LruCache
from app.releases import reading
from app.service import Service
from app.storage.tables import answers
from core.canonical import canonical_json
from core.checkpoint import Checkpoint
from core.ledger.kinds import State
from core.queries.effort import Effort, effort_of_cells
from core.queries.range_count import RangeTable, range_table
from core.queries.synthetic import cumulative_weights
from core.synopsis import Synopsis

# Raise it with any change that can change a byte of an answer.
ANSWERS_VERSION = 8

_OVERHEAD = 256  # bytes of a cached body beside its own
_RELEASES = 100_000  # remembered by name; a few hundred bytes each
QUICK_SECONDS = 0.25  # answers of at most this estimated effort are not kept waiting behind longer ones
LINES_SHARE = (
    8  # one part in so many of RUGNIK_ANSWER_MEMORY_BYTES is for request lines (app.http.middleware.hot_answers)
)


class Prepared:
    """A synopsis in memory, with the table that every range count needs, made when first asked for."""

    def __init__(self, synopsis: Synopsis) -> None:
        self.synopsis = synopsis
        self.digest = synopsis.digest

    @cached_property
    def table(self) -> RangeTable:
        """What range counts are read from."""
        return range_table(self.synopsis)

    @cached_property
    def cumulative(self) -> NDArray[np.float64]:
        """What synthetic rows are drawn from; once for all streams."""
        return cumulative_weights(self.synopsis)

    @property
    def weight(self) -> int:
        """Bytes that it may hold: counts, range table and cumulative weights."""
        return self.synopsis.cells.memory_bytes


@dataclass(frozen=True, slots=True)
class Published:
    """What never changes about a published release: enough to know who may ask and what an answer is called."""

    release: str
    dataset: str
    digest: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question by name and parameters, how to answer it, and the effort that takes.

    A long computation calls the checkpoint between its steps. Costly answers are kept in the database as well.
    """

    name: str
    parameters: Mapping[str, Any]
    answer: Callable[[Prepared, Checkpoint], Mapping[str, Any]]
    effort: Callable[[Synopsis], Effort] = effort_of_cells
    costly: bool = False

    def envelope(self, prepared: Prepared) -> dict[str, Any]:
        """What every answer carries."""
        return {
            "release": prepared.synopsis.release,
            "synopsis_digest": prepared.digest,
            "epsilon_spent": "0",
            "question": self.name,
            "parameters": self.parameters,
        }

    def key(self, published: Published) -> str:
        """The name of the answer, in every process and for ever."""
        asked = {"digest": published.digest, "release": published.release, "version": ANSWERS_VERSION}
        return sha256(canonical_json(asked | {"name": self.name, "parameters": self.parameters})).hexdigest()


class Answers:
    """This process's memory of synopses and answers, in front of the database's."""

    def __init__(self, service: Service) -> None:
        settings = service.settings
        self._service = service
        self._published: LruCache[Published] = LruCache(_RELEASES, weigh=lambda _key, _release: 1)
        self._prepared: LruCache[Prepared] = LruCache(settings.synopsis_memory_bytes, weigh=lambda _, p: p.weight)
        bodies = settings.answer_memory_bytes - settings.answer_memory_bytes // LINES_SHARE
        self._bodies: LruCache[bytes] = LruCache(bodies, weigh=lambda key, body: len(key) + len(body) + _OVERHEAD)

    def published_here(self, caller: Principal, release_id: str) -> Published | None:
        """A published release that this caller may ask, if it is in memory; quick enough for an event loop."""
        found = self._published.peek(release_id)
        return found if found is not None and caller.may_see(found.dataset) else None

    def published(self, caller: Principal, release_id: str) -> Published:
        """A published release that this caller may ask; to anybody else there is none."""
        found = self._published.get(release_id, lambda: self._look_up(caller, release_id))
        if not caller.may_see(found.dataset):
            raise reading.no_release()
        return found

    def _look_up(self, caller: Principal, release_id: str) -> Published:
        with read_book(self._service) as book:
            found = reading.load(book, caller, release_id)
        if found.standing.state is not State.PUBLISHED or found.standing.digest is None:
            raise reading.no_release()
        return Published(release=release_id, dataset=found.dataset, digest=found.standing.digest)

    def prepared(self, published: Published) -> Prepared:
        """The synopsis of a release, checked against the ledger when it is loaded."""
        return self._prepared.get(published.digest, lambda: self._load(published.release))

    def _load(self, release_id: str) -> Prepared:
        with read_book(self._service) as book:
            release = reading.load_any(book, release_id)
            return Prepared(reading.load_synopsis(book, release))

    def body_here(self, key: str) -> bytes | None:
        """An answer that is in memory."""
        return self._bodies.peek(key)

    def quick_body(self, key: str, published: Published, question: Question, checkpoint: Checkpoint) -> bytes | None:
        """The answer if it is stored, or quick to work out; None if it takes long, TooMuchWork if it takes too long."""
        body = self.body_here(key) or self._stored(key, question)
        if body is not None:
            self._bodies.put(key, body)
            return body
        if not self.is_quick(published, question):
            return None
        return self.body(key, published, question, checkpoint)

    def is_quick(self, published: Published, question: Question) -> bool:
        """Whether a question need not wait behind long ones, by its estimated effort; TooMuchWork beyond the limit."""
        effort = question.effort(self.prepared(published).synopsis)
        limit = self._service.settings.max_answer_seconds
        if effort.seconds > limit:
            raise TooMuchWork(seconds=effort.seconds, limit=limit, advice=effort.advice)
        return effort.seconds <= QUICK_SECONDS

    def body(self, key: str, published: Published, question: Question, checkpoint: Checkpoint) -> bytes:
        """The answer to a question: from memory, or worked out now, and stored if it was costly."""
        return self._bodies.get(key, lambda: self._make(key, published, question, checkpoint))

    def _make(self, key: str, published: Published, question: Question, checkpoint: Checkpoint) -> bytes:
        stored = self._stored(key, question)
        if stored is not None:
            return stored
        body = self.work_out(published, question, checkpoint)
        if not question.costly:
            return body
        with self._service.database.transaction() as tx:
            return _store(tx, key, body, self._service.secret, keep=self._service.settings.max_stored_answers)

    def _stored(self, key: str, question: Question) -> bytes | None:
        if not question.costly:
            return None
        with self._service.database.read_only() as tx:
            return _stored(tx, key, self._service.secret)

    def work_out(self, published: Published, question: Question, checkpoint: Checkpoint) -> bytes:
        """The answer, worked out now."""
        prepared = self.prepared(published)
        found = {**question.envelope(prepared), **question.answer(prepared, checkpoint)}
        return orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY)


def _stored(tx: Connection, key: str, secret: bytes) -> bytes | None:
    """The stored answer; one that this service did not store under this key counts as not there."""
    # As the driver gives it: whoever edits a row may leave something that is no bytes.
    query = select(type_coerce(answers.c.body, NullType()), answers.c.mac).where(answers.c.key == key)
    row = tx.execute(query).first()
    if row is None or not isinstance(row[0], bytes):
        return None
    return row[0] if hmac.compare_digest(str(row[1]).encode(), _mac(key, row[0], secret).encode()) else None


def _store(tx: Connection, key: str, body: bytes, secret: bytes, *, keep: int) -> bytes:
    """Keep an answer unless another worker did so first: the first stored answer wins everywhere."""
    dialect = sqlite if tx.dialect.name == "sqlite" else postgresql
    values = {"key": key, "body": body, "mac": _mac(key, body, secret)}
    tx.execute(dialect.insert(answers).values(values).on_conflict_do_nothing(index_elements=["key"]))
    newest = tx.execute(select(func.max(answers.c.number))).scalar_one()
    tx.execute(delete(answers).where(answers.c.number <= newest - keep))
    first = _stored(tx, key, secret)
    if first is None:
        tx.execute(update(answers).where(answers.c.key == key).values(values))
    return first or body


def _mac(key: str, body: bytes, secret: bytes) -> str:
    return hmac.new(secret, b"answer %s " % key.encode() + body, sha256).hexdigest()
