"""Every error as an RFC 9457 problem: one table from error class to status, one shape for all replies.

This module knows no framework: `app.http.problems` makes replies of these bodies, and `app.offline` has the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app import errors, faults
from app.ingest import errors as ingest
from core import errors as core
from rugnik.wire.base import Body

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:rugnik:problem:"
# (status, name, title), looked up along the class's ancestors.
TABLE: dict[type[Exception], tuple[int, str, str]] = {
    errors.NotAuthenticated: (401, "not-authenticated", "A valid key is needed"),
    errors.NotAllowed: (403, "not-allowed", "This key may not do that"),
    errors.OwnRequest: (403, "own-request", "Another key has to approve this"),
    errors.ForgedRequest: (403, "forged-request", "The request did not come from a page of this service"),
    errors.NotFound: (404, "not-found", "Not found"),
    errors.NotAcceptable: (406, "not-acceptable", "The answer is not offered in this form"),
    errors.TooSlow: (408, "too-slow", "The body came too slowly"),
    errors.NameTaken: (409, "name-taken", "The name is taken"),
    errors.DatasetClosed: (409, "dataset-closed", "The dataset is closed"),
    errors.ReleaseEnded: (409, "release-ended", "The release is no longer open"),
    errors.RequestDecided: (409, "request-decided", "The request was decided before"),
    errors.QuotaReached: (409, "quota-reached", "No room for one more"),
    core.InsufficientBudget: (409, "insufficient-budget", "Not enough epsilon is left"),
    ingest.UploadTooLarge: (413, "too-large", "The upload is too large"),
    errors.TooLarge: (413, "too-large", "The body is too large"),
    errors.UnsupportedMedia: (415, "unsupported-media-type", "Uploads of this kind are not read"),
    errors.RefusedRequest: (400, "bad-request", "The request cannot be taken"),
    errors.IdempotencyConflict: (422, "idempotency-conflict", "The Idempotency-Key belongs to another order"),
    errors.BudgetTooLarge: (422, "budget-too-large", "More epsilon than one dataset may be given"),
    core.InvalidEpsilon: (422, "invalid-epsilon", "Not an epsilon"),
    core.InvalidQuery: (422, "invalid-query", "This question cannot be answered"),
    core.InvalidDomain: (422, "invalid-domain", "The attributes cannot be gridded"),
    core.TooManyCells: (422, "too-many-cells", "The grid would have too many cells"),
    core.InvalidOrder: (422, "invalid-order", "No grid can serve this order"),
    core.InvalidCounts: (422, "invalid-counts", "These are not the counts that are awaited"),
    ingest.ColumnFault: (422, "unfit-columns", "The columns do not fit the attributes"),
    errors.HeadTooLarge: (431, "head-too-large", "The head of the request is too large"),
    ingest.SpoolFailure: (503, "spool-failure", "The upload could not be held"),
    ingest.IngestError: (422, "unreadable-upload", "The file cannot be read"),
    errors.PublishDelayed: (503, "publish-delayed", "The synopsis is not stored yet"),
    errors.CorruptSynopsis: (503, "corrupt-synopsis", "The stored synopsis does not match the ledger"),
    errors.TooMuchWork: (422, "too-much-work", "This answer would take too long"),
    errors.AnswerStopped: (422, "answer-stopped", "This answer took too long"),
    errors.AnswerLost: (503, "answer-lost", "The answer was lost"),
    errors.TooManyRequests: (429, "too-many-requests", "Too many requests of this key at once"),
    errors.NotCosigned: (503, "not-cosigned", "The outside witnesses have not signed the charge yet"),
    errors.NotSealed: (503, "not-sealed", "The outside witnesses have not signed the log yet"),
    errors.ReadOnly: (503, "read-only", "The service is read-only"),
    errors.ReceiptPending: (409, "receipt-pending", "No checkpoint holds the publication yet"),
    errors.NotReady: (503, "not-ready", "The service is not ready"),
    errors.Busy: (503, "busy", "Too much at once"),
}

# The variable that raises a cap; the other caps are fixed.
_SETTINGS = {
    ingest.Cap.BYTES: "RUGNIK_MAX_UPLOAD_BYTES",
    ingest.Cap.INFLATED_BYTES: "RUGNIK_MAX_INFLATED_BYTES",
    ingest.Cap.ROWS: "RUGNIK_MAX_UPLOAD_ROWS",
    ingest.Cap.WIDE_ROWS: "RUGNIK_MAX_WIDE_ROWS",
    ingest.Cap.COLUMNS: "RUGNIK_MAX_UPLOAD_COLUMNS",
    ingest.Cap.SPOOL_BYTES: "RUGNIK_MAX_SPOOL_BYTES",
}


def problem(status: int, name: str, title: str, detail: str, **fields: Any) -> dict[str, Any]:
    """The body of a problem; `fields` are the extension members."""
    return {"type": TYPE + name, "title": title, "status": status, "detail": detail, **fields}


def problem_of(error: Exception) -> dict[str, Any]:
    """The body for an error of TABLE, or of a class below one."""
    status, name, title = next(TABLE[ancestor] for ancestor in type(error).__mro__ if ancestor in TABLE)
    return problem(status, name, title, str(error), **_extensions(error))


def invalid_request(listed: Sequence[Mapping[str, Any]], body: type[Body] | None = None) -> dict[str, Any]:
    """The body for a request that does not fit its declaration: where and what kind, never what was sent.

    `listed` are errors as pydantic lists them: `loc`, `type`, and maybe `ctx` and `input`. `body` is the type that the
    request's body should have: the names of its fields help with a misspelt one.
    """
    entries = faults.places(listed, body)
    return problem(422, "invalid-request", "The request is not valid", faults.detail(entries), errors=entries)


def _extensions(error: Any) -> dict[str, Any]:
    """The fields of an error that a program may want, as extension members."""
    fields: dict[str, Any] = {}
    match error:
        case core.InsufficientBudget():
            fields = {"requested": str(error.requested), "remaining": str(error.remaining)}
        case core.TooManyCells():
            fields = {"wanted": error.wanted, "allowed": error.allowed, "setting": "RUGNIK_MAX_CELLS"}
        case errors.ReleaseEnded():
            fields = {"state": error.state, "synopsis": {"digest": error.digest} if error.digest else None}
        case errors.RequestDecided():
            fields = {"state": error.state}
        case errors.BudgetTooLarge():
            fields = {"limit": str(error.limit), "setting": "RUGNIK_MAX_BUDGET"}
        case errors.QuotaReached():
            fields = {"limit": error.limit, "setting": error.setting}
        case errors.TooMuchWork():
            fields = {"seconds": error.seconds, "allowed": error.limit, "setting": "RUGNIK_MAX_ANSWER_SECONDS"}
        case errors.AnswerStopped():
            fields = {"allowed": error.limit, "setting": "RUGNIK_ANSWER_TIMEOUT_SECONDS"}
        case ingest.IngestError():
            fields = _upload_extensions(error)
    return fields


def _upload_extensions(error: Any) -> dict[str, Any]:
    match error:
        case ingest.UploadTooLarge():
            return {"allowed": error.allowed, "setting": _SETTINGS.get(error.cap)}
        case ingest.ColumnFault():
            return {"columns": list(error.names)}
    return {}
