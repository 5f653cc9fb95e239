"""The second person's part of the client: the two-person rule of a dataset, and requests that wait for another key."""

from __future__ import annotations

from collections.abc import Iterator

from rugnik.connected import Connected, quoted
from rugnik.curating import Epsilon, decimal
from rugnik.wire import ApprovalRequest, ApprovalRequestList, Dataset, RefusalBody, RuleBody

_REQUESTS_AT_ONCE = 100  # in one reply


class Deciding(Connected):
    """What takes two keys: ask with one, approve with another."""

    def set_rule(self, dataset: str, above: Epsilon | None) -> Dataset:
        """Let an order, a grant or a void of more epsilon than `above` take two keys; None removes the rule.

        To raise or to remove it takes two keys itself: NeedsApproval.
        """
        body = RuleBody(above=None if above is None else decimal(above))
        return Dataset.of(self._post(f"/v1/datasets/{quoted(dataset)}/rule", body))

    def requests(self, *, dataset: str | None = None, state: str | None = None) -> Iterator[ApprovalRequest]:
        """Requests, oldest first, page after page; `state` is "waiting", "approved" or "refused"."""
        after: int | None = 0
        while after is not None:
            params = {"dataset": dataset, "state": state, "after": after, "limit": _REQUESTS_AT_ONCE}
            page = ApprovalRequestList.of(self._json("GET", "/v1/requests", params=params))
            yield from page.requests
            after = page.next

    def request(self, request: str) -> ApprovalRequest:
        """One request: everything that it asks for, who made it, and how it was decided."""
        return ApprovalRequest.of(self._json("GET", f"/v1/requests/{quoted(request)}"))

    def approve(self, request: str) -> ApprovalRequest:
        """Approve what another key asked for. It happens now, exactly as it was asked for."""
        return ApprovalRequest.of(self._json("POST", f"/v1/requests/{quoted(request)}/approve"))

    def refuse(self, request: str, *, reason: str = "") -> ApprovalRequest:
        """Refuse a request for good, or withdraw one of your own."""
        return ApprovalRequest.of(self._post(f"/v1/requests/{quoted(request)}/refuse", RefusalBody(reason=reason)))
