"""Requests: what waits for a second person, and how it was decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from rugnik.wire.base import Body, Reply
from rugnik.wire.limits import Doc, Limits, Line, one_of

RequestState = Annotated[str, one_of("waiting", "approved", "refused"), Doc("Where a request stands.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest(Reply):
    """An order, a grant, a void or a rule that takes two keys, with everything that it asks for."""

    id: str
    dataset: str
    kind: Annotated[str, one_of("charge", "grant", "void", "rule"), Doc("The kind of ledger entry it asks for.")]
    release: Annotated[str | None, Doc("The release to void, or the id that an order has once it is approved.")]
    epsilon: Annotated[str, Doc("What is charged, granted or given back; 0 of a rule.")]
    content: Annotated[Mapping[str, Any], Doc("The terms: what the entry will hold, word for word.")]
    state: RequestState
    requested_by: Annotated[str, Doc("The name of the key that asked, and its id in brackets.")]
    requested_on: Annotated[str, Doc("The day, in UTC.")]
    hash: Annotated[str, Doc("The hash of its ledger entry. The entry that approves it has this hash.")]
    decided_by: Annotated[str | None, Doc("The key that approved or refused it.")] = None
    decided_on: Annotated[str | None, Doc("The day, in UTC.")] = None
    reason: Annotated[str | None, Doc("Why it was refused, where somebody said so.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequestList(Reply):
    """Requests, oldest first; `next` is the number to give as `after` for more."""

    requests: tuple[ApprovalRequest, ...]
    next: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalBody(Body):
    """Why a request is refused; the ledger records it."""

    reason: Annotated[Line, Limits(max_length=500)] = ""
