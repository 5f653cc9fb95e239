"""The second person: approve a request, which makes the entry it asks for, or refuse it; and set the rule itself."""

from __future__ import annotations

from app.access.principal import Principal
from app.access.quotas import require_room_for_order
from app.errors import NotAllowed, OwnRequest, RequestDecided
from app.ledger.appending import OpenBook, open_book
from app.releases import datasets, requests
from app.releases.datasets import Dataset
from app.releases.requests import Request
from app.service import Service
from core.budget import Epsilon
from core.ledger.accounts import RequestState
from core.ledger.kinds import Kind
from core.ledger.two_persons import is_in_use, raises


def approve(service: Service, caller: Principal, request_id: str) -> Request:
    """Make the entry that a request asks for, exactly as it was asked for, with this caller as its actor.

    Everything that an order, a grant or a void has to meet is checked now: the budget may have gone meanwhile.
    """
    with open_book(service) as book:
        request = _undecided(book, caller, request_id)
        if request.is_own(caller):
            raise OwnRequest
        if not is_in_use(book.replay.books, request.entry.actor):
            raise NotAllowed("The key that made the request was revoked since. Refuse it, and ask anew.")
        _require_possible(service, book, request)
        book.append(
            request.kind,
            dataset=request.dataset,
            release=request.release,
            epsilon=request.epsilon,
            actor=caller.actor,
            detail={**request.terms, "request": request.entry.hash, "requested_by": request.entry.actor},
        )
    return requests.get(service, caller, request_id)


def refuse(service: Service, caller: Principal, request_id: str, *, reason: str) -> Request:
    """End a request for good. The key that made it may do so, too."""
    with open_book(service) as book:
        request = _undecided(book, caller, request_id)
        detail = {"request": request.entry.hash, "reason": reason}
        book.append(Kind.REFUSE, dataset=request.dataset, actor=caller.actor, detail=detail)
    return requests.get(service, caller, request_id)


def set_rule(service: Service, caller: Principal, name: str, above: Epsilon | None) -> Dataset | Request:
    """Let everything above this epsilon need two persons; None removes the rule.

    To raise or to remove a threshold needs two persons itself. To set what is set changes nothing.
    """
    with open_book(service) as book:
        account = datasets.find_account(book, caller, name)
        book.require_open(name)
        wanted = None if above is None else above.nano
        detail = {"above": None if above is None else str(above)}
        if raises(account.above, wanted):
            return requests.ask(book, caller, Kind.RULE, dataset=name, terms=detail)
        if account.above != wanted:
            book.append(Kind.RULE, dataset=name, actor=caller.actor, detail=detail)
    return datasets.get(service, caller, name)


def _undecided(book: OpenBook, caller: Principal, request_id: str) -> Request:
    """A request that waits and that this caller may decide."""
    request = requests.load(book, caller, request_id)
    request.require_decider(caller)
    requests.require_in_use(book, caller)
    if request.state is not RequestState.WAITING:
        decided_by = "" if request.decision is None else request.decision.actor
        raise RequestDecided(state=request.state.value, decided_by=decided_by)
    return request


def _require_possible(service: Service, book: OpenBook, request: Request) -> None:
    """Raise what the request would meet if it were asked for now by one person."""
    if request.kind is Kind.VOID:
        book.require_ordered(str(request.release))
        return
    book.require_open(request.dataset)
    if request.kind is Kind.CHARGE:
        require_room_for_order(book, request.dataset)
        book.budget(request.dataset).charge(request.epsilon)
    elif request.kind is Kind.GRANT:
        datasets.require_grantable(service, book, request.dataset, request.epsilon)
