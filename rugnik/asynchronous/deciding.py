# Made from rugnik/deciding.py by `python -m tools.asynchronous`. Do not edit.
"""The second person's part of the client: the two-person rule of a dataset, and requests that wait for another key."""

from __future__ import annotations

from collections.abc import AsyncIterator

from rugnik.asynchronous.connected import Connected
from rugnik.connected import quoted
from rugnik.curating import Epsilon, decimal
from rugnik.deciding import _REQUESTS_AT_ONCE
from rugnik.wire import ApprovalRequest, ApprovalRequestList, Dataset, RefusalBody, RuleBody


class Deciding(Connected):
    """What takes two keys: ask with one, approve with another."""

    async def set_rule(self, dataset: str, above: Epsilon | None) -> Dataset:
        """Let an order, a grant or a void of more epsilon than `above` take two keys; None removes the rule.

        To raise or to remove it takes two keys itself: NeedsApproval.
        """
        body = RuleBody(above=None if above is None else decimal(above))
        return Dataset.of(await self._post(f"/v1/datasets/{quoted(dataset)}/rule", body))

    async def requests(self, *, dataset: str | None = None, state: str | None = None) -> AsyncIterator[ApprovalRequest]:
        """Requests, oldest first, page after page; `state` is "waiting", "approved" or "refused"."""
        after: int | None = 0
        while after is not None:
            params = {"dataset": dataset, "state": state, "after": after, "limit": _REQUESTS_AT_ONCE}
            page = ApprovalRequestList.of(await self._json("GET", "/v1/requests", params=params))
            for each in page.requests:
                yield each
            after = page.next

    async def request(self, request: str) -> ApprovalRequest:
        """One request: everything that it asks for, who made it, and how it was decided."""
        return ApprovalRequest.of(await self._json("GET", f"/v1/requests/{quoted(request)}"))

    async def approve(self, request: str) -> ApprovalRequest:
        """Approve what another key asked for. It happens now, exactly as it was asked for."""
        return ApprovalRequest.of(await self._json("POST", f"/v1/requests/{quoted(request)}/approve"))

    async def refuse(self, request: str, *, reason: str = "") -> ApprovalRequest:
        """Refuse a request for good, or withdraw one of your own."""
        return ApprovalRequest.of(
            await self._post(f"/v1/requests/{quoted(request)}/refuse", RefusalBody(reason=reason))
        )
