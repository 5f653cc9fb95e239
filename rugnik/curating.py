"""The curator's part of the client: register, plan, order, upload."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal
from itertools import count
from typing import Any, TypedDict, Unpack
from uuid import uuid4

import httpx

from rugnik.arguments import names, unfit, whole
from rugnik.bodies import Body, Progress, body_of, compressed, metered
from rugnik.connected import quoted
from rugnik.errors import (
    PREFIX,
    Busy,
    NotCosigned,
    NotReached,
    Problem,
    ReadOnly,
    ReleaseEnded,
    RugnikError,
    TooManyRequests,
    UnexpectedReply,
    UnfitArgument,
)
from rugnik.naming import Naming, order_id
from rugnik.transport import decoded, may_pass, never_sent
from rugnik.wire import (
    AttributeBody,
    Dataset,
    DatasetBody,
    DeclaredBody,
    EstimateBody,
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

Epsilon = str | int | float | Decimal
Bound = float | str | date | datetime
Attributes = Mapping[str, tuple[Bound, Bound] | Mapping[str, Any]] | Iterable[Mapping[str, Any]]
_BEFORE_ROWS = (Busy, NotCosigned, ReadOnly, TooManyRequests)  # what the service says before it reads a row
_SETTLING_SECONDS = 30  # the service stores a drawn synopsis at once, unless its database is away
UPLOAD_TIMEOUT = httpx.Timeout(60.0, connect=10.0, read=3600.0)  # the reply comes when every row is counted


class Terms(TypedDict, total=False):
    """What an order and a plan may say further; what is not said is left to the service.

    attributes     some of the dataset's attributes; all without it
    declared       the number of rows, if that is public anyway: a statement of yours, never read off a file
    estimate       the share of epsilon that buys a noisy number of rows instead, such as "0.05"
    guess          about how many rows there are, for the plan's predictions alone; an order leaves it out
    rule           "rugnik", "eugkm" or "adaptive"
    out_of_range   "clip" or "drop"
    offsets        whether half of the epsilon of the cells buys where rows lie within them, for clusters; from four
                   attributes on, and without it from seven on
    """

    attributes: Iterable[str] | None
    declared: int | None
    estimate: Epsilon | None
    guess: int | None
    rule: str | None
    out_of_range: str | None
    offsets: bool | None


class Curating(Naming):
    """Stage 1: from a registered population to a published release."""

    def register_dataset(
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
        return Dataset.of(self._post("/v1/datasets", body))

    def datasets(self) -> list[Dataset]:
        """Every dataset that this key may see, with its budget and newest releases."""
        return [Dataset.of(dataset) for dataset in self._listed("/v1/datasets", "datasets")]

    def grant(self, name: str, epsilon: Epsilon, *, reason: str) -> Dataset:
        """Raise a dataset's budget, on the record; takes an admin key. NeedsApproval above its two-person rule."""
        body = GrantBody(epsilon=decimal(epsilon), reason=reason)
        return Dataset.of(self._post(f"/v1/datasets/{quoted(name)}/grants", body))

    def close_dataset(self, name: str) -> Dataset:
        """Close a dataset for good: no more grants, orders or uploads."""
        return Dataset.of(self._json("POST", f"/v1/datasets/{quoted(name)}/close"))

    def plan(
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
        return Plan.of(self._post(f"/v1/datasets/{quoted(dataset)}/plans", body, repeatable=True))

    def order(
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
        return Release.of(self._post(path, body, repeatable=True, headers=headers))

    def void(self, release: str | Release) -> Release:
        """Void an order for which no noise was drawn: its epsilon comes back.

        NeedsApproval above the dataset's two-person rule.
        """
        return Release.of(self._json("DELETE", f"/v1/releases/{order_id(release)}"))

    def upload(
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
        standing = self.release(release)
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
                return self._put(release, body)
            except (NotReached, UnexpectedReply, Problem) as error:
                may_be_taken = may_be_taken or may_have_taken(error)
                published = self._published_after(release, error) if may_be_taken else None
                if published is not None:
                    return published
                if not (body.replayable and may_pass(error)) or not self._transport.pause(tried, error):
                    raise
        raise AssertionError

    def _put(self, release: str, body: Body) -> Published:
        path = f"/v1/releases/{quoted(release)}/records"
        with self._transport.stream(
            "PUT", path, pieces=body.read(), headers=body.headers(), timeout=UPLOAD_TIMEOUT
        ) as response:
            return Published.of(decoded(response.read()))

    def _published_after(self, release: str, error: RugnikError) -> Published | None:
        """The release, if a failed try that may have been taken has published it; None if it is still ordered."""
        if never_sent(error):
            return None
        if isinstance(error, ReleaseEnded):  # an earlier try got through after all
            if error.state == "void":
                return None
        elif not may_pass(error):
            return None
        standing = self._settled(release)
        if standing.state == "burnt":
            raise ended(standing) from error
        return Published.of(standing.raw) if standing.state == "published" else None

    def _settled(self, release: str) -> Release:
        """The release; while noise is drawn and nothing is stored yet, a while later."""
        standing = self.release(release)
        for _ in range(_SETTLING_SECONDS):
            if standing.state != "burnt":
                break
            self._transport.sleep(1.0)
            standing = self.release(release)
        return standing


def may_have_taken(error: RugnikError) -> bool:
    """Whether a try that failed with this may have been taken all the same; else what is there now is another's."""
    return may_pass(error) and not never_sent(error) and not isinstance(error, _BEFORE_ROWS)


def ended(standing: Release) -> ReleaseEnded:
    """What the service would say to an upload, said without sending it."""
    detail = f"The release is {standing.state}; only an ordered release can be uploaded to or voided."
    if standing.state == "burnt":
        detail += " Noise was drawn for it and no synopsis is stored: its epsilon is spent, and a new order is needed."
    return ReleaseEnded(
        type=PREFIX + ReleaseEnded.type,
        status=409,
        title="The release is no longer open",
        detail=detail,
        fields={"state": standing.state, "synopsis": standing.raw.get("synopsis")},
    )


def decimal(epsilon: Epsilon) -> str:
    """Epsilon as the decimal string it travels as; never rounded, so the service refuses a tenth place."""
    if isinstance(epsilon, str):
        return epsilon
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | Decimal):
        raise unfit("An epsilon", 'a decimal number, best as a text such as "0.5"', epsilon)
    return format(Decimal(str(epsilon)), "f")


def _attributes(attributes: Attributes) -> list[AttributeBody]:
    if isinstance(attributes, Mapping):
        return [_attribute({"name": name, **_fields(declared)}) for name, declared in attributes.items()]
    return [_attribute(declared) for declared in attributes]


def _fields(declared: tuple[Bound, Bound] | Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a declaration; a pair is the bounds of a number."""
    if isinstance(declared, Mapping):
        return declared
    if isinstance(declared, str) or not isinstance(declared, Iterable) or len(bounds := tuple(declared)) != 2:
        raise unfit("An attribute", "a pair of bounds such as (0, 100), or the fields of its declaration", declared)
    return {"lower": bounds[0], "upper": bounds[1]}


def _attribute(declared: Mapping[str, Any]) -> AttributeBody:
    """A registration is for ever, so a misspelt field is refused here rather than left out."""
    names = [member.name for member in fields(AttributeBody)]
    if "name" not in declared or not set(declared) <= set(names):
        given = ", ".join(declared) or "none"
        raise UnfitArgument(f"An attribute has a name and some of {', '.join(names[1:])}; this one has {given}.")
    return AttributeBody(**{name: _written(value) for name, value in declared.items()})


def _written(value: Any) -> Any:
    """Dates as text, and lists of values as such; anything else as it is."""
    if isinstance(value, date | datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value


def _terms(clusters: int, terms: Terms) -> dict[str, Any]:
    """The fields that an order and a plan have in common, without those that are left to the service."""
    given: dict[str, Any] = {name: value for name, value in terms.items() if value is not None}
    if "attributes" in given:
        given["attributes"] = names("attributes", given["attributes"])
    size = {name: given.pop(name) for name in ("declared", "estimate", "guess") if name in given}
    if "declared" in size and len(size) > 1:
        raise UnfitArgument("A size is either declared or estimated, not both.")
    if "declared" in size:
        given["size"] = DeclaredBody(**size)
    elif size:
        given["size"] = EstimateBody(**size | ({"estimate": decimal(size["estimate"])} if "estimate" in size else {}))
    return given | {"clusters": whole("clusters", clusters)}
