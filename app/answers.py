"""Stage 2: questions to a published synopsis. Answers are a function of (digest, question, version), and kept as such.

An answer is asked for by a key: the synopsis digest, the question in canonical JSON, and the version of the answering
code. The key names the answer for ever, so it is also its ETag, and a client that has it needs nothing computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import orjson
from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from app import releases
from app.auth import Principal
from app.bounded import Bounded
from app.ledger import State
from app.service import Service
from app.tables import answers
from core.canonical import canonical_json
from core.queries.range_count import RangeTable, range_table
from core.synopsis import Synopsis

# Raise it with any change that can change a byte of an answer.
ANSWERS_VERSION = 7

_RELEASES = 100_000  # remembered by name; a few hundred bytes each


class Prepared:
    """A synopsis in memory, with the table that every range count needs, made when first asked for."""

    def __init__(self, synopsis: Synopsis) -> None:
        self.synopsis = synopsis
        self.digest = synopsis.digest

    @cached_property
    def table(self) -> RangeTable:
        """What range counts are read from."""
        return range_table(self.synopsis)

    @property
    def weight(self) -> int:
        """Bytes that it may hold."""
        synopsis = self.synopsis
        if synopsis.cells is None:
            return 16 * synopsis.grid.cell_count
        return 8 * (3 + synopsis.grid.dimensions) * len(synopsis.cells) + 1024


@dataclass(frozen=True, slots=True)
class Published:
    """What never changes about a published release: enough to know who may ask and what an answer is called."""

    release: str
    dataset: str
    digest: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question by name and parameters, and how to answer it. Costly answers are kept in the database as well."""

    name: str
    parameters: Mapping[str, Any]
    answer: Callable[[Prepared], Mapping[str, Any]]
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
        self._published: Bounded[Published] = Bounded(_RELEASES, weigh=lambda _: 1)
        self._prepared: Bounded[Prepared] = Bounded(settings.synopsis_memory_bytes, weigh=lambda p: p.weight)
        self._bodies: Bounded[bytes] = Bounded(settings.answer_memory_bytes, weigh=len)

    def published_here(self, caller: Principal, release_id: str) -> Published | None:
        """A published release that this caller may ask, if it is in memory; quick enough for an event loop."""
        found = self._published.peek(release_id)
        return found if found is not None and caller.may_see(found.dataset) else None

    def published(self, caller: Principal, release_id: str) -> Published:
        """A published release that this caller may ask; to anybody else there is none."""
        found = self._published.get(release_id, lambda: self._look_up(caller, release_id))
        if not caller.may_see(found.dataset):
            raise releases.no_release()
        return found

    def _look_up(self, caller: Principal, release_id: str) -> Published:
        with self._service.database.read_only() as tx:
            found = releases.load(tx, caller, release_id)
        if found.standing.state is not State.PUBLISHED or found.standing.digest is None:
            raise releases.no_release()
        return Published(release=release_id, dataset=found.dataset, digest=found.standing.digest)

    def prepared(self, published: Published) -> Prepared:
        """The synopsis of a release, checked against the ledger when it is loaded."""
        return self._prepared.get(published.digest, lambda: self._load(published.release))

    def _load(self, release_id: str) -> Prepared:
        with self._service.database.read_only() as tx:
            return Prepared(releases.load_synopsis(tx, releases.load_any(tx, release_id)))

    def body_here(self, key: str) -> bytes | None:
        """An answer that is in memory."""
        return self._bodies.peek(key)

    def body(self, key: str, published: Published, question: Question) -> bytes:
        """The answer to a question: from memory, from the database, or worked out now."""
        return self._bodies.get(key, lambda: self._recall(key, published, question))

    def _recall(self, key: str, published: Published, question: Question) -> bytes:
        if not question.costly:
            return self.work_out(published, question)
        with self._service.database.read_only() as tx:
            stored = _stored(tx, key)
        if stored is not None:
            return stored
        body = self.work_out(published, question)
        with self._service.database.transaction() as tx:
            return _store(tx, key, body, keep=self._service.settings.max_stored_answers)

    def work_out(self, published: Published, question: Question) -> bytes:
        """The answer, worked out now."""
        prepared = self.prepared(published)
        found = {**question.envelope(prepared), **question.answer(prepared)}
        return orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY)


def _stored(tx: Connection, key: str) -> bytes | None:
    return tx.execute(select(answers.c.body).where(answers.c.key == key)).scalar_one_or_none()


def _store(tx: Connection, key: str, body: bytes, *, keep: int) -> bytes:
    """Keep an answer unless another worker did so first: the first stored answer wins everywhere."""
    dialect = sqlite if tx.dialect.name == "sqlite" else postgresql
    tx.execute(dialect.insert(answers).values(key=key, body=body).on_conflict_do_nothing(index_elements=["key"]))
    newest = tx.execute(select(func.max(answers.c.number))).scalar_one()
    tx.execute(delete(answers).where(answers.c.number <= newest - keep))
    return _stored(tx, key) or body
