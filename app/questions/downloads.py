"""Answers to take away: the whole synopsis and synthetic rows, each in several forms."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from app.questions import rows, synopsis
from app.questions.formats import Format
from app.questions.prepared import Prepared
from app.questions.question import Question
from rugnik import wire


@dataclass(frozen=True, slots=True)
class Download:
    """The function that takes its parameters, one of them `format`; the type of its JSON; its forms; and its bytes.

    `whole`: its JSON is an answer like any other. Otherwise it is in pieces, too.
    """

    ask: Callable[..., Question]
    answer: type[wire.Answer]
    forms: tuple[Format, ...]
    in_pieces: Callable[[Question, Prepared, Format], Generator[bytes, None, None]]
    whole: bool = False


def asked_for(download: Download, form: Format, given: Mapping[str, Any]) -> Question:
    """The question with these parameters, in this form."""
    return download.ask(**{**given, "format": form.value})


SYNOPSIS = Download(synopsis.get_synopsis, wire.Synopsis, synopsis.FORMS, synopsis.in_pieces, whole=True)
ROWS = Download(rows.get_rows, wire.Rows, rows.FORMS, rows.in_pieces)
DOWNLOADS = (SYNOPSIS, ROWS)
