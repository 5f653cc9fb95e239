"""What can go wrong between a client and a rugnik service, one class per problem type.

RugnikError
├── NotReached              no answer: nothing listens there, the network broke, or it took too long
├── UnexpectedReply         an answer that is not rugnik's: another service, or a gateway in between
├── UnfitArgument           an argument that means nothing to a method: what is expected, and what was given
├── UnfitSource             what was given to upload cannot be sent
├── NeedsApproval           the request is on record and waits for a second person: request
├── UnfitBundle             a file that is no bundle, or a damaged one
├── MissingLibrary          this needs a library that is not installed: pandas, matplotlib, pyarrow, …
└── Problem                 the service refused, in words: status, title, detail, fields
    ├── BadRequest          400  a header or body that cannot be taken as it is
    ├── NotAuthenticated    401  no key, or none that is known
    ├── NotAllowed          403  a known key whose role does not do this
    ├── OwnRequest          403  a request of this key's own: another key has to approve it
    ├── ForgedRequest       403  a form of the dashboard that came from elsewhere
    ├── NotFound            404  nothing by that name that this key may see
    ├── MethodNotAllowed    405  an address that is asked in another way
    ├── NotAcceptable       406  an answer in a form that is not offered
    ├── TooSlow             408  a body that came too slowly; it may be sent again
    ├── NameTaken           409  names of datasets are never reused
    ├── DatasetClosed       409  no more grants, orders or uploads
    ├── ReleaseEnded        409  the release waits for nothing, or for something else: state, synopsis
    ├── RequestDecided      409  a request that was approved or refused before: state
    ├── ReceiptPending      409  no checkpoint of the log holds a publication yet
    ├── InsufficientBudget  409  requested, remaining
    ├── QuotaReached        409  as many as the service takes: limit, setting
    ├── TooLarge            413  allowed, setting
    ├── UnsupportedMedia    415  an upload of a kind that is not read
    ├── MisdirectedRequest  421  the service does not answer to the name in this address
    ├── Invalid             422  the request makes no sense to the service
    │   ├── InvalidRequest        fields that are missing, unknown or of the wrong kind: errors
    │   ├── InvalidEpsilon        not a decimal string with at most nine places
    │   ├── InvalidQuery          a question that cannot be answered
    │   ├── InvalidDomain         attributes that cannot be gridded
    │   ├── InvalidOrder          no grid can serve the order
    │   ├── TooManyCells          wanted, allowed, setting
    │   ├── BudgetTooLarge        limit, setting
    │   ├── IdempotencyConflict   the key belongs to another order
    │   ├── UnfitColumns          columns
    │   ├── InvalidCounts         counts that are not those of the step that is awaited
    │   ├── UnreadableUpload      not a file of the stated kind, or a damaged one
    │   ├── TooMuchWork           seconds, allowed, setting
    │   └── AnswerStopped         an answer that took longer than one may: allowed, setting
    ├── TooManyRequests     429  this key has as much at work as one key may; retry_after
    ├── HeadTooLarge        431  a request line and header fields that are too large
    ├── Unavailable         503  later, perhaps
    │   ├── NotReady              the service cannot work as it is
    │   ├── Busy                  as much as it takes at once
    │   ├── AnswerLost            the process that computed an answer died, twice
    │   ├── SpoolFailure          the upload could not be held
    │   ├── OutOfMemory           the service has not enough memory for this now
    │   ├── NotCosigned           the outside witnesses have not signed the charge yet
    │   ├── NotSealed             they have not signed any checkpoint of the log yet
    │   ├── ReadOnly              the service answers, and changes nothing
    │   ├── PublishDelayed        noise is drawn, and its synopsis is not stored yet
    │   └── DatabaseUnavailable   gone, locked or too busy
    ├── CorruptSynopsis     503  the stored synopsis is not the one that was published
    └── InternalError       500  the service failed; its log has the details
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, ClassVar

import httpx

if TYPE_CHECKING:
    from rugnik.wire import ApprovalRequest

PREFIX = "urn:rugnik:problem:"


class RugnikError(Exception):
    """Anything that a client raises; its text is a sentence for a person."""


class NotReached(RugnikError):
    """No answer: nothing listens there, the network broke, or it took too long."""


class UnexpectedReply(RugnikError):
    """An answer that is not rugnik's: another service, or a gateway in between. `status` is its HTTP status."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class UnfitArgument(RugnikError, ValueError, TypeError):
    """An argument that means nothing to a method: the text says what is expected, and what was given."""


class UnfitSource(RugnikError):
    """What was given to upload cannot be sent."""


class NeedsApproval(RugnikError):
    """Nothing is spent yet: what was asked for is above the dataset's two-person rule, and waits for another key.

    `request` is the ApprovalRequest. Its `release` is the id that an order has once it is approved.
    """

    def __init__(self, request: ApprovalRequest) -> None:
        super().__init__(
            f"This takes a second person: the request is {request.id}, and nothing is spent until another key approves "
            f"it (rugnik approve {request.id})."
        )
        self.request = request


class UnfitBundle(RugnikError):
    """A file that is no bundle of a release, or a damaged one."""


class MissingLibrary(RugnikError, ImportError):
    """This needs a library that is not installed."""


class Problem(RugnikError):
    """The service refused: `status`, `title`, `detail`, and in `fields` whatever else a program may want.

    `retry_after` is the number of seconds that the service asked to wait for, where it did.
    A subclass stands for the problem type that is its name in small letters with dashes (NameTaken: name-taken), or for
    the `type` given beside its base. An empty `type` is for a class that only groups others.
    """

    type: ClassVar[str] = ""

    def __init_subclass__(cls, *, type: str | None = None) -> None:  # noqa: A002 - RFC 9457's word
        super().__init_subclass__()
        cls.type = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower() if type is None else type

    def __init__(self, *, type: str, status: int, title: str, detail: str, fields: Mapping[str, Any]) -> None:  # noqa: A002 - RFC 9457's word
        super().__init__(detail)
        self.name = type.removeprefix(PREFIX)
        self.status = status
        self.title = title
        self.detail = detail
        self.fields = dict(fields)
        self.retry_after: float | None = None


class BadRequest(Problem):
    """A header or body that cannot be taken as it is."""


class NotAuthenticated(Problem):
    """No key, or none that is known. The text says where the key came from; `detail` is the service's own."""

    def explain(self, came_from: str | None) -> None:
        """Put into words where the refused key came from; None where there was no key."""
        if came_from is None:
            text = "No key was given, and this takes one: Client(url, key), or Client.from_environment()."
        else:
            text = (
                f"This key was refused: it came from {came_from}, and the service does not know it, or it was revoked."
            )
        self.args = (text,)


class NotAllowed(Problem):
    """A known key whose role does not do this."""


class OwnRequest(Problem):
    """A request of this key's own: another key has to approve it."""


class ForgedRequest(Problem):
    """A form of the dashboard that came from elsewhere; a client with a key does not meet it."""


class NotFound(Problem):
    """Nothing by that name that this key may see."""


class MethodNotAllowed(Problem):
    """An address that is asked in another way."""


class NotAcceptable(Problem):
    """An answer in a form that is not offered."""


class TooSlow(Problem):
    """The body came too slowly: a matter of the network. Nothing was drawn, and it may be sent again."""


class NameTaken(Problem):
    """A dataset of that name exists."""


class DatasetClosed(Problem):
    """No more grants, orders or uploads."""


class ReleaseEnded(Problem):
    """The release is burnt, published or void."""

    @property
    def state(self) -> str | None:
        """Where the release stands: burnt, published or void."""
        return self.fields.get("state")

    @property
    def digest(self) -> str | None:
        """The digest of its synopsis, if it has one."""
        return (self.fields.get("synopsis") or {}).get("digest")


class RequestDecided(Problem):
    """A request that was approved or refused before."""

    @property
    def state(self) -> str | None:
        """What was decided: approved or refused."""
        return self.fields.get("state")


class InsufficientBudget(Problem):
    """Not enough epsilon is left."""

    @property
    def requested(self) -> str | None:
        """The epsilon that was asked for."""
        return self.fields.get("requested")

    @property
    def remaining(self) -> str | None:
        """The epsilon that is left."""
        return self.fields.get("remaining")


class ReceiptPending(Problem):
    """No checkpoint of the log holds the publication yet: `retry_after` says when to ask again."""


class QuotaReached(Problem):
    """As many datasets, open orders or keys as the service takes: `limit` and `setting` are in `fields`."""


class TooLarge(Problem):
    """A cap is exceeded: `allowed`, and the `setting` that raises it, are in `fields`."""


class UnsupportedMedia(Problem, type="unsupported-media-type"):
    """An upload of a kind that is not read."""


class MisdirectedRequest(Problem):
    """The service does not answer to the name in this address."""


class Invalid(Problem, type=""):
    """The request makes no sense to the service."""


class InvalidRequest(Invalid):
    """Fields that are missing, unknown or of the wrong kind."""

    @property
    def errors(self) -> list[dict[str, Any]]:
        """Where and what kind, one entry for each."""
        return list(self.fields.get("errors") or [])


class InvalidEpsilon(Invalid):
    """Not a decimal string with at most nine places."""


class InvalidQuery(Invalid):
    """A question that cannot be answered."""


class InvalidDomain(Invalid):
    """Attributes that cannot be gridded."""


class InvalidOrder(Invalid):
    """No grid can serve the order."""


class TooManyCells(Invalid):
    """The grid would have too many cells: `wanted`, `allowed` and `setting` are in `fields`."""


class BudgetTooLarge(Invalid):
    """More epsilon than one dataset may be given: `limit` and `setting` are in `fields`."""


class IdempotencyConflict(Invalid):
    """The Idempotency-Key belongs to another order."""


class UnfitColumns(Invalid):
    """The columns of the file do not fit the attributes."""

    @property
    def columns(self) -> list[str]:
        """The attributes in question."""
        return list(self.fields.get("columns") or [])


class UnreadableUpload(Invalid):
    """Not a file of the stated kind, or a damaged one."""


class InvalidCounts(Invalid):
    """Counts that cannot be those of the step that the release waits for."""


class TooMuchWork(Invalid):
    """The answer would take too long: `seconds`, `allowed` and `setting` are in `fields`."""


class AnswerStopped(Invalid):
    """The answer took longer than an answer may: `allowed` and `setting` are in `fields`."""


class TooManyRequests(Problem):
    """This key has as much at work as one key may; a GET is repeated after `retry_after` seconds."""


class HeadTooLarge(Problem):
    """The request line and the header fields are too large."""


class Unavailable(Problem, type=""):
    """Later, perhaps."""


class CorruptSynopsis(Problem):
    """The stored synopsis is not the one that was published; the detail names the release."""


class NotReady(Unavailable):
    """The service cannot work as it is."""


class Busy(Unavailable):
    """As much as the service, or one key, may have at once."""


class AnswerLost(Unavailable):
    """The process that computed the answer died, twice; a GET is repeated after `retry_after` seconds."""


class SpoolFailure(Unavailable):
    """The upload could not be held."""


class OutOfMemory(Unavailable):
    """The service has not enough memory for this now."""


class NotCosigned(Unavailable):
    """The outside witnesses have not signed a tree with this charge, so no row is read yet."""


class NotSealed(Unavailable):
    """The outside witnesses have not signed any checkpoint of the log yet, so none is shown."""


class ReadOnly(Unavailable):
    """The service answers questions, and changes nothing in its ledger."""


class PublishDelayed(Unavailable):
    """Noise is drawn, and its synopsis is not stored yet: the service goes on trying."""


class DatabaseUnavailable(Unavailable):
    """The database is gone, locked or too busy."""


class InternalError(Problem):
    """The service failed; its log has the details."""


def _descendants(base: type[Problem]) -> list[type[Problem]]:
    return [error for child in base.__subclasses__() for error in (child, *_descendants(child))]


PROBLEMS: dict[str, type[Problem]] = {kind.type: kind for kind in _descendants(Problem) if kind.type}


def problem_of(response: httpx.Response) -> RugnikError:
    """The error in a reply whose body was read; a type that a newer service invents is a plain Problem."""
    try:
        body = json.loads(response.content)
        type_, title, detail = str(body["type"]), str(body["title"]), str(body["detail"])
    except (ValueError, KeyError, TypeError):
        return UnexpectedReply(
            f"{response.request.url.copy_with(query=None)} answered {response.status_code} in words that are not "
            "rugnik's. Is this the right address?",
            status=response.status_code,
        )
    kind = PROBLEMS.get(type_.removeprefix(PREFIX), Problem)
    fields = {name: value for name, value in body.items() if name not in {"type", "title", "status", "detail"}}
    problem = kind(type=type_, status=response.status_code, title=title, detail=detail, fields=fields)
    problem.retry_after = seconds_asked(response.headers.get("retry-after"))
    return problem


def seconds_asked(header: str | None) -> float | None:
    """Retry-After in seconds, given as a number or as a date; None where it is missing or makes no sense."""
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
