"""What can go wrong around the mathematics, as types that carry their fields. `app.problems` maps each to a reply.

AppError
├── NotAuthenticated      no key, or none that is known
├── NotAllowed            a known key whose role does not do this
├── ForgedRequest         a change by cookie that none of our own pages asked for
├── NotFound              nothing by that name that this key may see
├── NameTaken             a dataset of that name exists: names are never reused
├── DatasetClosed         no more grants, orders or uploads
├── ReleaseEnded          the release is burnt, published or void
├── OwnRequest            a request that the caller made: another key has to approve it
├── RequestDecided        a request that was approved or refused before
├── PublishDelayed        noise is drawn, and its synopsis is not stored yet
├── IdempotencyConflict   the same Idempotency-Key with another order
├── BudgetTooLarge        more than one dataset may be given
├── QuotaReached          as many datasets, open orders or keys as settings allow
├── RefusedRequest        a header or body that cannot be taken as it is
├── NotAcceptable         an answer in a form that is not offered
├── UnsupportedMedia      an upload of a kind that is not read
├── TooSlow               a body that comes too slowly
├── TooLarge              a body that is too large
├── HeadTooLarge          a request line and header fields that are too large
├── TooMuchWork           an answer that would take longer than an answer may
├── AnswerStopped         an answer that took longer than an answer may
├── AnswerLost            the process that computed an answer died, twice
├── TooManyRequests       this caller has as much at work as one caller may
├── NotReady              the database or the witness is not as it should be
│   ├── LedgerBroken      an entry of the ledger is not good
│   ├── ReadOnly          the service was started to answer, and for nothing else
│   ├── NotCosigned       the outside witnesses have not signed a charge yet
│   └── NotSealed         they have not signed any checkpoint yet
├── ReceiptPending        no checkpoint holds a publication yet
├── Busy                  as much as this worker, or one key, may have at once
├── CorruptSynopsis       a stored synopsis that does not match the ledger
└── CannotStart           the service must not run on what it finds
    └── LedgerRewound     the ledger is not the one that the witness saw
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.budget import Epsilon

if TYPE_CHECKING:  # the ledger knows signatures, and a bundle is asked without their library
    from core.ledger.chain import Verification


class AppError(Exception):
    """Anything that the application refuses."""


class NotAuthenticated(AppError):
    """No key, or none that is known."""

    def __init__(self) -> None:
        super().__init__("Send a valid key as 'Authorization: Bearer <key>'.")


class NotAllowed(AppError):
    """A known key whose role does not do this."""


class ForgedRequest(AppError):
    """A change by cookie that none of our own pages asked for."""

    def __init__(self) -> None:
        super().__init__("A change by session cookie needs the token of the page it comes from. Reload the page.")


class NotFound(AppError):
    """Nothing by that name that this key may see; whether it exists is not said."""


class NoRelease(NotFound):
    """There is no release of this id that this caller may see."""

    def __init__(self) -> None:
        super().__init__("There is no release of this id.")


class NameTaken(AppError):
    """A dataset of that name exists."""

    def __init__(self) -> None:
        super().__init__("A dataset of this name exists. Names are never reused, because that would reset a budget.")


class DatasetClosed(AppError):
    """No more grants, orders or uploads."""

    def __init__(self) -> None:
        super().__init__("The dataset is closed for good: it takes no more grants, orders or uploads.")


class ReleaseEnded(AppError):
    """The release is burnt, published or void, or it waits for the counts of another step."""

    def __init__(self, *, state: str, digest: str | None) -> None:
        sentence = f"The release is {state}; only an ordered release can be uploaded to or voided."
        if state == "ordered":
            sentence = "The release waits for the counts of another step: GET …/counts says which."
        if state == "counting":
            sentence = (
                "Noise was drawn for a step of the release. It can no longer be voided, and takes only the counts of "
                "its next step: GET …/counts says which."
            )
        if state == "burnt":
            sentence += (
                " Noise was drawn for it, so its epsilon is spent. If an upload of it is at work right now, it is "
                "published in a moment; otherwise that upload was cut off, and a new order is needed."
            )
        super().__init__(sentence)
        self.state = state
        self.digest = digest


class OwnRequest(AppError):
    """A request that the caller made."""

    def __init__(self) -> None:
        super().__init__(
            "This key made the request, so another key has to approve it. You may refuse it: that withdraws it."
        )


class RequestDecided(AppError):
    """A request that was approved or refused before."""

    def __init__(self, *, state: str, decided_by: str) -> None:
        super().__init__(
            f"The request was {state} before, by {decided_by}. A decision is final: ask anew for something else."
        )
        self.state = state


class PublishDelayed(AppError):
    """Noise is drawn, and its synopsis is not stored yet."""

    retry_after = 5

    def __init__(self) -> None:
        super().__init__(
            "The rows were read and the noise is drawn, but the synopsis cannot be stored right now. The service goes "
            "on trying: look at the release again, and do not upload a second time."
        )


class IdempotencyConflict(AppError):
    """The same Idempotency-Key with another order."""

    def __init__(self) -> None:
        super().__init__(
            "This Idempotency-Key was used for another order of this dataset. Use a new key for a new order."
        )


class BudgetTooLarge(AppError):
    """More than one dataset may be given."""

    def __init__(self, *, limit: Epsilon) -> None:
        super().__init__(f"RUGNIK_MAX_BUDGET allows a dataset at most epsilon {limit}, all grants together.")
        self.limit = limit


class QuotaReached(AppError):
    """As many datasets, open orders or keys as settings allow."""

    def __init__(self, full: str, *, setting: str, limit: int, advice: str) -> None:
        super().__init__(f"{full}, the most that {setting} allows. {advice}")
        self.setting = setting
        self.limit = limit


class RefusedRequest(AppError):
    """A header or body that cannot be taken as it is."""


class NotAcceptable(AppError):
    """An answer in a form that is not offered."""

    def __init__(self, offered: list[str]) -> None:
        super().__init__(f"This answer is offered as: {', '.join(offered)}.")


class UnsupportedMedia(AppError):
    """An upload of a kind that is not read."""


class TooSlow(AppError):
    """A body that comes too slowly: a matter of the network, and never of what the body contains."""


class TooLarge(AppError):
    """A body that is too large."""


class HeadTooLarge(AppError):
    """A request line and header fields that are too large."""


class TooMuchWork(AppError):
    """An answer that would take longer than an answer may."""

    def __init__(self, *, seconds: float, limit: float, advice: str) -> None:
        super().__init__(
            f"This answer would take about {seconds:,.0f} s; RUGNIK_MAX_ANSWER_SECONDS allows {limit:,.0f} s. {advice}"
        )
        self.seconds = seconds
        self.limit = limit


class AnswerStopped(AppError):
    """An answer that took longer than an answer may."""

    def __init__(self, *, limit: float, advice: str) -> None:
        super().__init__(
            f"This answer took longer than the {limit:,.0f} s that RUGNIK_ANSWER_TIMEOUT_SECONDS allows, and was "
            f"stopped. {advice} The same question may succeed while the service has less to do."
        )
        self.limit = limit


class AnswerLost(AppError):
    """The process that computed an answer died, and that of a second try as well."""

    retry_after = 30

    def __init__(self) -> None:
        super().__init__(
            "The process that computed this answer ended before it was done, twice: most likely the machine is short "
            f"of memory. Ask for less at once, or try again in {self.retry_after} s."
        )


class TooManyRequests(AppError):
    """This caller has as much at work as one caller may."""

    def __init__(self, reason: str, retry_after: int) -> None:
        super().__init__(f"{reason} Try again in {retry_after} s.")
        self.retry_after = retry_after


class NotReady(AppError):
    """The database or the witness is not as it should be."""


class LedgerBroken(NotReady):
    """An entry of the ledger is not good: somebody changed it behind the service's back."""

    def __init__(self, outcome: Verification) -> None:
        super().__init__(
            f"The ledger is not good from entry {outcome.first_bad} on: {outcome.reason} Nothing is charged or "
            "published from it. Put the newest good copy of the database in place."
        )
        self.outcome = outcome


class NotCosigned(NotReady):
    """The outside witnesses have not signed a tree with this charge, so no row is read."""

    retry_after = 10

    def __init__(self) -> None:
        super().__init__(
            "Too few of the outside witnesses have signed the ledger with this charge, so no row is read yet. The "
            f"order stays as it is: upload again in {self.retry_after} s."
        )


class NotSealed(NotReady):
    """A quorum is configured and has not signed this log yet, so no checkpoint is shown."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(
            "No checkpoint is shown yet: too few of the log's outside witnesses have signed one, and a checkpoint that "
            f"is shown must never get smaller. They are being asked. Try again in {retry_after} s."
        )
        self.retry_after = retry_after


class ReadOnly(NotReady):
    """The service was started to answer, and for nothing else."""

    def __init__(self) -> None:
        super().__init__("This service is read-only: it answers questions, and changes nothing in its ledger.")


class ReceiptPending(AppError):
    """No checkpoint that may be shown, and that has all signatures it needs, holds a publication yet."""

    def __init__(self, reason: str, *, retry_after: int) -> None:
        super().__init__(f"The receipt is not there yet: {reason} Try again in {retry_after} s.")
        self.retry_after = retry_after


class Busy(AppError):
    """As much as this worker, or one key, may have at once. `reason` is a sentence."""

    def __init__(self, reason: str, *, retry_after: int) -> None:
        super().__init__(f"{reason} Try again in {retry_after} s.")
        self.retry_after = retry_after


class CorruptSynopsis(AppError):
    """A stored synopsis that does not match the ledger."""


class CannotStart(AppError):
    """The service must not run on what it finds."""


class LedgerRewound(CannotStart):
    """The ledger is not the one that the witness saw."""
