"""What can go wrong around the mathematics, as types that carry their fields. `app.problems` turns each into a reply.

AppError
├── NotAuthenticated      no key, or none that is known
├── NotAllowed            a known key whose role does not do this
├── ForgedRequest         a change by cookie that none of our own pages asked for
├── NotFound              nothing by that name that this key may see
├── NameTaken             a dataset of that name exists: names are never reused
├── DatasetClosed         no more grants, orders or uploads
├── ReleaseEnded          the release is published or void
├── IdempotencyConflict   the same Idempotency-Key with another order
├── BudgetTooLarge        more than one dataset may be given
├── RefusedRequest        a header or body that cannot be taken as it is
├── NotAcceptable         an answer in a form that is not offered
├── UnsupportedMedia      an upload of a kind that is not read
├── NotReady              the database or the witness is not as it should be
├── Busy                  as many uploads as this worker takes
├── CorruptSynopsis       a stored synopsis that does not match the ledger
└── CannotStart           the service must not run on what it finds
    └── LedgerRewound     the ledger is not the one that the witness saw
"""

from __future__ import annotations

from core.budget import Epsilon


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


class NameTaken(AppError):
    """A dataset of that name exists."""

    def __init__(self) -> None:
        super().__init__("A dataset of this name exists. Names are never reused, because that would reset a budget.")


class DatasetClosed(AppError):
    """No more grants, orders or uploads."""

    def __init__(self) -> None:
        super().__init__("The dataset is closed for good: it takes no more grants, orders or uploads.")


class ReleaseEnded(AppError):
    """The release is published or void."""

    def __init__(self, *, state: str, digest: str | None) -> None:
        super().__init__(f"The release is {state}; only an ordered release can be uploaded to or voided.")
        self.state = state
        self.digest = digest


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


class RefusedRequest(AppError):
    """A header or body that cannot be taken as it is."""


class NotAcceptable(AppError):
    """An answer in a form that is not offered."""

    def __init__(self, offered: list[str]) -> None:
        super().__init__(f"This answer is offered as: {', '.join(offered)}.")


class UnsupportedMedia(AppError):
    """An upload of a kind that is not read."""


class NotReady(AppError):
    """The database or the witness is not as it should be."""


class Busy(AppError):
    """As many uploads as this worker takes."""

    def __init__(self, *, retry_after: int) -> None:
        super().__init__(f"As many uploads are at work as this service takes at once. Try again in {retry_after} s.")
        self.retry_after = retry_after


class CorruptSynopsis(AppError):
    """A stored synopsis that does not match the ledger."""


class CannotStart(AppError):
    """The service must not run on what it finds."""


class LedgerRewound(CannotStart):
    """The ledger is not the one that the witness saw."""
