"""BundleTransport: a bundle in place of a service, below the client. It opens no connection.

The client speaks HTTP through httpx, and httpx through a transport. This one answers the requests about the release of
a bundle itself, with the statuses and bodies of a service.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import httpx

from app.errors import NotFound
from app.offline.answering import OfflineAnswers, Pieces
from app.offline.values import Faults
from app.problems import MEDIA_TYPE, TABLE, invalid_request, problem, problem_of
from core.synopsis import Synopsis

_REFUSALS = tuple(TABLE)
_NO_PYARROW = problem(
    406,
    "not-acceptable",
    "The answer is not offered in this form",
    "CSV, Parquet and Arrow files of a bundle need pyarrow: pip install pyarrow. JSON does not.",
)


class BundleTransport(httpx.BaseTransport):
    """Answers GET and POST below /v1/releases/{id}/ for one synopsis."""

    def __init__(self, synopsis: Synopsis) -> None:
        self._answers = OfflineAnswers(synopsis)
        self._below = f"/v1/releases/{synopsis.release}/"

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The reply of a service that has published this synopsis and nothing else."""
        try:
            media_type, pieces = self._replied(request)
        except Faults as faults:
            return _refused(invalid_request(faults.listed, faults.body))
        except _REFUSALS as error:
            return _refused(problem_of(error))
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("pyarrow"):
                raise
            return _refused(_NO_PYARROW)
        return httpx.Response(200, headers={"Content-Type": media_type}, content=pieces)

    def _replied(self, request: httpx.Request) -> tuple[str, Pieces]:
        path = unquote(request.url.path)
        if not path.startswith(self._below):
            raise NotFound("A bundle has one release, and this is another.")
        question = path.removeprefix(self._below)
        sent: dict[str, list[str]] = {}
        for name, value in request.url.params.multi_items():
            sent.setdefault(name, []).append(value)
        if request.method == "POST":
            return self._answers.post(question, sent, request.read())
        return self._answers.get(question, sent)


def _refused(body: dict[str, Any]) -> httpx.Response:
    """A problem as the service writes it."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return httpx.Response(body["status"], headers={"Content-Type": MEDIA_TYPE}, content=text.encode())
