# Made from rugnik/curating.py by `python -m tools.asynchronous`. Do not edit.
"""The curator's part of the client: register, plan, order, upload."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any, Unpack
from uuid import uuid4

from rugnik.asynchronous.naming import Naming
from rugnik.bodies import Body, Progress, body_of, compressed, metered
from rugnik.connected import quoted
from rugnik.curating import (
    _SETTLING_SECONDS,
    UPLOAD_TIMEOUT,
    Attributes,
    Epsilon,
    Terms,
    _attributes,
    _terms,
    decimal,
    ended,
    may_have_taken,
)
from rugnik.errors import (
    NotReached,
    Problem,
    ReleaseEnded,
    RugnikError,
    UnexpectedReply,
    UnfitArgument,
)
from rugnik.naming import order_id
from rugnik.transport import decoded, may_pass, never_sent
from rugnik.wire import (
    Dataset,
    DatasetBody,
    GrantBody,
    OrderBody,
    Plan,
    PlanBody,
    Published,
    Release,
    TargetBody,
    UnitBody,
)
from rugnik.wire.about import about_body


class Curating(Naming):
    """Stage 1: from a registered population to a published release."""

    async def register_dataset(
        self,
        name: str,
        attributes: Attributes,
        *,
        budget: Epsilon,
        description: str = "",
        unit: Mapping[str, Any] | None = None,
        two_persons_above: Epsilon | None = None,
        about: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Register a population: its public attributes, the most epsilon it may ever lose, and whom it protects.

        `{"age": (0, 100)}` declares a number with its bounds. Any other kind is declared by its fields:
        `{"hour": {"kind": "integer", "lower": 0, "upper": 23}, "sex": {"kind": "category", "values": ["f", "m"]}}`.
        Without `unit` one row is protected. `{"kind": "person", "column": "patient", "max_rows": 3}` protects persons.
        `two_persons_above` sets the two-person rule at once: see `set_rule`.
        `about` has texts for the card of its releases, by the names of `rugnik.wire.About`; all of them are public.
        """
        body = DatasetBody(
            name=name,
            description=description,
            attributes=_attributes(attributes),
            budget=decimal(budget),
            two_persons_above=None if two_persons_above is None else decimal(two_persons_above),
            about=about_body(about) if about else None,
            **({} if unit is None else {"unit": UnitBody(**unit)}),
        )
        return Dataset.of(await self._post("/v1/datasets", body))

    async def datasets(self) -> list[Dataset]:
        """Every dataset that this key may see, with its budget and newest releases."""
        return [Dataset.of(dataset) for dataset in await self._listed("/v1/datasets", "datasets")]

    async def grant(self, name: str, epsilon: Epsilon, *, reason: str) -> Dataset:
        """Raise a dataset's budget, on the record; takes an admin key. NeedsApproval above its two-person rule."""
        body = GrantBody(epsilon=decimal(epsilon), reason=reason)
        return Dataset.of(await self._post(f"/v1/datasets/{quoted(name)}/grants", body))

    async def close_dataset(self, name: str) -> Dataset:
        """Close a dataset for good: no more grants, orders or uploads."""
        return Dataset.of(await self._json("POST", f"/v1/datasets/{quoted(name)}/close"))

    async def plan(
        self,
        dataset: str,
        *,
        clusters: int,
        epsilon: Epsilon | None = None,
        count_error: float | None = None,
        purpose: str | None = None,
        **terms: Unpack[Terms],
    ) -> Plan:
        """See what an order would give, for no epsilon; `count_error` in its place asks how much it would take.

        UnfitArgument unless exactly one of the two is given. `purpose` is "clusters" (as if it is not given) or
        "counts": the plan recommends a rule for it.
        """
        if (epsilon is None) == (count_error is None):
            raise UnfitArgument("Give either epsilon or count_error: the other one follows.")
        body = PlanBody(
            epsilon=None if epsilon is None else decimal(epsilon),
            target=None if count_error is None else TargetBody(count_error=count_error),
            purpose=purpose,
            **_terms(clusters, terms),
        )
        return Plan.of(await self._post(f"/v1/datasets/{quoted(dataset)}/plans", body, repeatable=True))

    async def order(
        self,
        dataset: str,
        *,
        epsilon: Epsilon,
        clusters: int,
        label: str | None = None,
        idempotency_key: str | None = None,
        **terms: Unpack[Terms],
    ) -> Release:
        """Order a release: its epsilon is charged now. Repeated safely, because it goes with an Idempotency-Key.

        `label` is a public name for it, such as "2026-Q3": at most 80 characters, on record for ever.

        NeedsApproval above the dataset's two-person rule: nothing is charged yet. Once another key has approved
        `error.request.id`, the order is `error.request.release`, and rows can be uploaded to it.
        """
        body = OrderBody(epsilon=decimal(epsilon), label=label, **_terms(clusters, terms))
        headers = {"Idempotency-Key": idempotency_key or uuid4().hex}
        path = f"/v1/datasets/{quoted(dataset)}/releases"
        return Release.of(await self._post(path, body, repeatable=True, headers=headers))

    async def void(self, release: str | Release) -> Release:
        """Void an order for which no noise was drawn: its epsilon comes back.

        NeedsApproval above the dataset's two-person rule.
        """
        return Release.of(await self._json("DELETE", f"/v1/releases/{order_id(release)}"))

    async def upload(
        self,
        release: str | Release,
        source: Any,
        *,
        media_type: str | None = None,
        gzip: bool = False,
        progress: Progress | None = None,
    ) -> Published:
        """Upload the rows of an ordered release, streamed; they become a noisy histogram and are gone.

        `source` is a path, a binary file object, bytes, or a pandas, polars or pyarrow table, of which only the ordered
        columns are sent. `progress(bytes_sent, total)` counts bytes of the source, and starts over with a new try.

        A release that is not waiting for rows is refused before any is sent. A try that fails on the way is followed by
        a look at the release: if it is published, it is returned without `ingest`, because that reply is lost; if it is
        still ordered and the source can be read again, so it is. If noise was drawn and the synopsis is not stored, it
        is waited for; if it does not come, ReleaseEnded with `state` "burnt" says that the epsilon is spent.
        """
        release = order_id(release)
        standing = await self.release(release)
        if standing.state != "ordered":
            raise ended(standing)
        body = body_of(source, media_type=media_type, columns=standing.columns)
        if progress is not None:
            body = metered(body, progress)
        if gzip:
            body = compressed(body)
        may_be_taken = False
        for tried in count(1):
            try:
                return await self._put(release, body)
            except (NotReached, UnexpectedReply, Problem) as error:
                may_be_taken = may_be_taken or may_have_taken(error)
                published = await self._published_after(release, error) if may_be_taken else None
                if published is not None:
                    return published
                if not (body.replayable and may_pass(error)) or not await self._transport.pause(tried, error):
                    raise
        raise AssertionError

    async def _put(self, release: str, body: Body) -> Published:
        path = f"/v1/releases/{quoted(release)}/records"
        async with self._transport.stream(
            "PUT", path, pieces=body.read(), headers=body.headers(), timeout=UPLOAD_TIMEOUT
        ) as response:
            return Published.of(decoded(await response.aread()))

    async def _published_after(self, release: str, error: RugnikError) -> Published | None:
        """The release, if a failed try that may have been taken has published it; None if it is still ordered."""
        if never_sent(error):
            return None
        if isinstance(error, ReleaseEnded):  # an earlier try got through after all
            if error.state == "void":
                return None
        elif not may_pass(error):
            return None
        standing = await self._settled(release)
        if standing.state == "burnt":
            raise ended(standing) from error
        return Published.of(standing.raw) if standing.state == "published" else None

    async def _settled(self, release: str) -> Release:
        """The release; while noise is drawn and nothing is stored yet, a while later."""
        standing = await self.release(release)
        for _ in range(_SETTLING_SECONDS):
            if standing.state != "burnt":
                break
            await self._transport.sleep(1.0)
            standing = await self.release(release)
        return standing
