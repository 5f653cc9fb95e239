"""OfflineAnswers: every question about one synopsis, answered in this process.

A question is checked in the order in which the service checks it, so that a wrong one is refused in the same words: its
parameters by themselves, then together, then names that are not known, then what the synopsis says to it. Limits that
protect a service from many callers (RUGNIK_MAX_ANSWER_SECONDS, RUGNIK_MAX_SYNTHETIC_ROWS) are not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from app.errors import NotFound
from app.offline.parameters import Query, from_body, from_query, names_of
from app.questions.downloads import DOWNLOADS, Download, asked_for
from app.questions.encoding import encode
from app.questions.formats import Format, named
from app.questions.groups import asked_with, shared_parameters
from app.questions.prepared import Prepared
from app.questions.question import Question, Registered, registered, require_known_parameters
from core.checkpoint import carry_on
from core.synopsis import Synopsis

Pieces = Iterator[bytes]


class OfflineAnswers:
    """Answers about a synopsis, as the bodies that the service sends."""

    def __init__(self, synopsis: Synopsis) -> None:
        self._prepared = Prepared(synopsis)
        self._questions = {each.answer.path: each for each in registered()}
        self._downloads = {each.answer.path: each for each in DOWNLOADS}

    def get(self, path: str, sent: Query) -> tuple[str, Pieces]:
        """The media type and the body of a question with parameters. Raises Faults, InvalidQuery, NotAcceptable."""
        if path in self._downloads:
            return self._download(self._downloads[path], sent)
        question = self._registered(path, takes_body=False)
        sources = _sources(question)
        asked = asked_with(question, from_query(sources, sent))
        _refuse_unknown(sources, sent)
        return Format.JSON.media_type, iter((self._answer(asked),))

    def post(self, path: str, sent: Query, body: bytes) -> tuple[str, Pieces]:
        """The same for a question with a body."""
        question = self._registered(path, takes_body=True)
        asked = asked_with(question, from_body(question.ask, body))
        _refuse_unknown([question.ask], sent)
        return Format.JSON.media_type, iter((self._answer(asked),))

    def _registered(self, path: str, *, takes_body: bool) -> Registered:
        question = self._questions.get(path)
        if question is None or question.takes_body is not takes_body:
            raise NotFound("A bundle has no such question.")
        return question

    def _answer(self, question: Question) -> bytes:
        question.effort(self._prepared)  # which refuses a part that there is not, as in the service
        return encode(question.answer(self._prepared, carry_on))

    def _download(self, download: Download, sent: Query) -> tuple[str, Pieces]:
        given = from_query([download.ask], sent)
        form = named(given["format"], download.forms)
        asked = asked_for(download, form, given)
        _refuse_unknown([download.ask], sent)
        if download.whole and form is Format.JSON:
            return form.media_type, iter((self._answer(asked),))
        pieces = download.in_pieces(asked, self._prepared, form)
        return form.media_type, chain((next(pieces),), pieces)


def _sources(question: Registered) -> list[Callable[..., Any]]:
    return [question.ask, *shared_parameters(question)]


def _refuse_unknown(sources: Sequence[Callable[..., Any]], sent: Query) -> None:
    """As the service does."""
    require_known_parameters(sent, names_of(sources))
