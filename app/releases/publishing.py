"""Store what was drawn with its ledger entry: tried again with the same bytes for as long as the process lives.

Noise is drawn once for a charge (`core.release`, step 7), so what is lost before it is stored leaves its release burnt.
A database that is away for a moment must not cost a charge, hence the patience here. While something drawn waits to be
stored, this process draws nothing else: what waits is bounded by the uploads at work at once.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import structlog
from sqlalchemy import Executable, delete, insert
from sqlalchemy.exc import SQLAlchemyError

from app.errors import NotReady, PublishDelayed
from app.ledger.appending import ended, open_book
from app.releases.cards import card_of
from app.service import Service
from app.storage.tables import cards, layers, synopses
from core.arrays import Wholes
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind, step_of
from core.synopsis import Synopsis, digest_of

log = structlog.get_logger(__name__)

# Of zlib. Level 6 takes longer than counting the rows; this takes a seventh of its time, and 5 to 45 % more bytes.
_LEVEL = 1
REPLY_SECONDS = 10.0  # how long the curator's reply waits for the database before it says that it will take longer
_LONGEST_PAUSE = 30.0

_waiting: set[str] = set()  # releases of this process for which something is drawn and not stored

_MAY_PASS = (SQLAlchemyError, NotReady, OSError)


@dataclass(frozen=True, slots=True, repr=False)
class Drawn:
    """Noisy numbers that are paid for and not yet stored: the `draw` entry before them, and what storing them takes.

    `kind` and `detail` are those of the entry that follows: `publish` for a synopsis, `step` for anything before it.
    With a synopsis goes its card, which is made when it is stored: `result` is what the card is about.
    """

    draw: LedgerEntry
    kind: Kind
    detail: Mapping[str, Any]
    statements: tuple[Executable, ...] = ()
    result: Synopsis | None = None

    @property
    def release(self) -> str:
        """The id of the release."""
        return str(self.draw.release)

    @classmethod
    def synopsis(cls, draw: LedgerEntry, synopsis: Synopsis) -> Drawn:
        """The last step: the synopsis, which has all layers in it."""
        canonical = synopsis.to_bytes()
        body = zlib.compress(canonical, _LEVEL)
        statements = (
            insert(synopses).values(release=synopsis.release, body=body),
            delete(layers).where(layers.c.release == synopsis.release),
        )
        return cls(draw, Kind.PUBLISH, {"digest": digest_of(canonical)}, statements, synopsis)

    @classmethod
    def size(cls, draw: LedgerEntry, size: int) -> Drawn:
        """A bought size: the ledger holds it."""
        return cls(draw, Kind.STEP, {"step": draw.detail["step"], "size": size})

    @classmethod
    def layer(cls, draw: LedgerEntry, counts: Wholes) -> Drawn:
        """The noisy counts of a layer."""
        body, step = layer_bytes(counts), draw.detail["step"]
        stored = insert(layers).values(release=draw.release, step=step, body=zlib.compress(body, _LEVEL))
        return cls(draw, Kind.STEP, {"step": step, "digest": sha256(body).hexdigest()}, (stored,))


def layer_bytes(counts: Wholes) -> bytes:
    """The bytes of a layer's noisy counts: 64-bit integers, little-endian. The ledger has their SHA-256."""
    return counts.astype("<i8").tobytes()


def store(service: Service, drawn: Drawn) -> None:
    """Store what was drawn; PublishDelayed where a reply cannot wait for it: then a thread goes on trying."""
    deadline = time.monotonic() + REPLY_SECONDS
    pause = 0.1
    while not _stored(service, drawn):
        if time.monotonic() + pause > deadline:
            log.error("publish_delayed", release=drawn.release)
            _waiting.add(drawn.release)
            threading.Thread(target=_keep_trying, args=(service, drawn), name="publish", daemon=True).start()
            raise PublishDelayed
        time.sleep(pause)
        pause *= 2


def _keep_trying(service: Service, drawn: Drawn) -> None:
    pause = 1.0
    while not _stored(service, drawn):
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    _waiting.discard(drawn.release)
    log.warning("publish_caught_up", release=drawn.release)


def require_none_waiting() -> None:
    """Refuse to draw while an earlier draw of this process cannot be stored: the next one could not be either."""
    if _waiting:
        raise NotReady(
            "What an earlier upload has drawn cannot be stored yet, so no noise is drawn for this one. "
            "Its order stays as it is: upload again later."
        )


def _stored(service: Service, drawn: Drawn) -> bool:
    """Whether the numbers and their entry are committed; False where another try may succeed."""
    try:
        with open_book(service) as book:
            record = book.record(drawn.release)
            is_last_draw = record.step == step_of(drawn.draw.detail)  # a release has one draw of each step
            if is_last_draw and record.last is drawn.kind:
                return True  # an earlier try was committed, and the word of it was lost
            if not is_last_draw or record.last is not Kind.DRAW:
                raise ended(record)
            for statement in drawn.statements:
                book.tx.execute(statement)
            detail = dict(drawn.detail)
            if drawn.result is not None:
                card = card_of(book, record, drawn.result, digest=detail["digest"], published=service.today())
                book.tx.execute(insert(cards).values(release=drawn.release, body=card.decode("ascii")))
                detail["card"] = sha256(card).hexdigest()
            book.append(
                drawn.kind,
                dataset=drawn.draw.dataset,
                release=drawn.release,
                actor=drawn.draw.actor,
                detail=detail,
            )
    except _MAY_PASS as error:
        log.warning("publish_failed", release=drawn.release, error=type(error).__name__)
        return False
    return True
