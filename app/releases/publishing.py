"""Store a drawn synopsis with its `publish` entry: tried again with the same bytes for as long as the process lives.

Noise is drawn once for a charge (`core.release`, step 6), so a synopsis that is lost before it is stored leaves its
release burnt. A database that is away for a moment must not cost a charge, hence the patience here. While a synopsis
waits to be stored, this process draws no other: what waits is bounded by the uploads at work at once.
"""

from __future__ import annotations

import threading
import time
import zlib
from dataclasses import dataclass

import structlog
from sqlalchemy import insert
from sqlalchemy.exc import SQLAlchemyError

from app.errors import NotReady, PublishDelayed, ReleaseEnded
from app.ledger.appending import open_book
from app.service import Service
from app.storage.tables import synopses
from core.ledger.entry import LedgerEntry
from core.ledger.kinds import Kind, State
from core.synopsis import Synopsis

log = structlog.get_logger(__name__)

REPLY_SECONDS = 10.0  # how long the curator's reply waits for the database before it says that it will take longer
_LONGEST_PAUSE = 30.0

_waiting: set[str] = set()  # releases of this process whose synopsis is drawn and not stored

_MAY_PASS = (SQLAlchemyError, NotReady, OSError)


@dataclass(frozen=True, slots=True, repr=False)
class Drawn:
    """A synopsis that is paid for and not yet stored, and the `draw` entry that it belongs to."""

    draw: LedgerEntry
    release: str
    digest: str
    body: bytes

    @classmethod
    def of(cls, draw: LedgerEntry, synopsis: Synopsis) -> Drawn:
        """The bytes to store."""
        body = zlib.compress(synopsis.to_bytes(), level=6)
        return cls(draw=draw, release=synopsis.release, digest=synopsis.digest, body=body)


def publish(service: Service, drawn: Drawn) -> None:
    """Store the synopsis; PublishDelayed where a reply cannot wait for it: then a thread goes on trying."""
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
            "The synopsis of an earlier upload cannot be stored yet, so no noise is drawn for this one. "
            "Its order stays open: upload again later."
        )


def _stored(service: Service, drawn: Drawn) -> bool:
    """Whether the synopsis and its entry are committed; False where another try may succeed."""
    try:
        with open_book(service) as book:
            standing = book.standing(drawn.release)
            if standing.state is State.PUBLISHED and standing.digest == drawn.digest:
                return True  # an earlier try was committed, and the word of it was lost
            if standing.state is not State.BURNT:  # a release has one draw, so this is the one it was drawn under
                raise ReleaseEnded(state=standing.state, digest=standing.digest)
            book.tx.execute(insert(synopses).values(release=drawn.release, body=drawn.body))
            book.append(
                Kind.PUBLISH,
                dataset=drawn.draw.dataset,
                release=drawn.release,
                actor=drawn.draw.actor,
                detail={"digest": drawn.digest},
            )
    except _MAY_PASS as error:
        log.warning("publish_failed", release=drawn.release, error=type(error).__name__)
        return False
    return True
