"""Naming: a release by its id, by the name of its dataset, or by what an earlier call returned."""

from __future__ import annotations

import re

from rugnik.arguments import text, unfit
from rugnik.connected import Connected, quoted
from rugnik.errors import NotFound, RugnikError
from rugnik.listing import Releases
from rugnik.near import did_you_mean, nearest
from rugnik.wire import Dataset, Release, ReleaseList, ReleaseSummary

Released = str | Release | ReleaseSummary  # the id of a release, the name of a dataset, or a release as it was returned

_ID = re.compile(r"r[0-9a-f]{16}")
_CUT_ID = re.compile(r"r[0-9a-f]{4,}")
_AT_ONCE = 1000  # releases in one reply
_NAMES_AT_ONCE = 100  # datasets in one reply, to look for a name like the one that was given
_EXPECTED = "the id of a release, or the name of a dataset for its newest published release"


class Naming(Connected):
    """Datasets and releases by name.

    Where a method takes `release`, that is the id of a release, a Release or ReleaseSummary, or the name of a dataset,
    which stands for its newest published release. The name is looked up at each call, by one more GET, so that it never
    means an old release; `release` of the answer says which one was asked. To stay with one, hold on to it:
    `release = client.release("bike-trips")`.
    """

    def dataset(self, name: str) -> Dataset:
        """One dataset: schema, budget, and at most 100 releases, the newest; `releases()` gives all of them.

        NotFound, with near names, where there is none.
        """
        named = text("name", "the name of a dataset", name)
        try:
            return self._dataset(named)
        except NotFound as error:
            raise _unknown(
                f"There is no dataset {named!r} that this key may see.", named, self._names(), error
            ) from None

    def releases(self, dataset: str) -> Releases:
        """Every release of a dataset, oldest first; to an analyst, published ones only. `.latest` is the newest one."""
        named = text("dataset", "the name of a dataset", dataset)
        listed: list[ReleaseSummary] = []
        after: int | None = 0
        while after is not None:
            path, params = f"/v1/datasets/{quoted(named)}/releases", {"after": after, "limit": _AT_ONCE}
            page = ReleaseList.of(self._json("GET", path, params=params))
            listed += page.releases
            after = page.next
        return Releases(named, listed, latest=self.dataset(named).newest)

    def newest(self, dataset: str) -> ReleaseSummary:
        """The release of a dataset that was published last. NotFound, with near names, where there is none."""
        named = text("dataset", "the name of a dataset", dataset)
        try:
            newest = self._dataset(named).newest
        except NotFound as error:
            sentence = f"{named!r} is neither the id of a release nor the name of a dataset that this key may see."
            raise _unknown(sentence, named, self._names(), error) from None
        if newest is None:
            raise nothing_published(named)
        return newest

    def release(self, release: Released) -> Release:
        """Look at a release; an analyst sees it once it is published."""
        return Release.of(self._json("GET", self._below(release)))

    def _dataset(self, named: str) -> Dataset:
        return Dataset.of(self._json("GET", f"/v1/datasets/{quoted(named)}"))

    def _below(self, release: Released, rest: str = "") -> str:
        """The path of a release, or of something below it."""
        path = f"/v1/releases/{quoted(self._released(release))}"
        return f"{path}/{rest}" if rest else path

    def _released(self, release: Released) -> str:
        """The id of a release. NotFound, with names like the one given, where there is none."""
        if isinstance(release, Release | ReleaseSummary):
            return release.id
        named = text("release", _EXPECTED, release)
        return named if is_id(named) else self.newest(named).id

    def _names(self) -> list[str]:
        """Names of datasets, for a message; none where they cannot be read."""
        try:
            reply = self._json("GET", "/v1/datasets", params={"limit": _NAMES_AT_ONCE}, repeatable=False)
            return [str(dataset["name"]) for dataset in reply["datasets"]]
        except (RugnikError, KeyError, TypeError):
            return []


def is_id(release: str) -> bool:
    """Whether this is the id of a release, and not the name of a dataset."""
    return _ID.fullmatch(release) is not None


def order_id(release: str | Release | ReleaseSummary) -> str:
    """The id of an order that waits for its rows. A dataset's name would not say which one is meant."""
    named = release.id if isinstance(release, Release | ReleaseSummary) else release
    if not isinstance(named, str) or not is_id(named):
        raise unfit("release", "the id of an order, such as order(…).id", release)
    return named


def nothing_published(dataset: str) -> NotFound:
    """The error for a dataset without a published release."""
    return not_found(f"{dataset} has no published release yet.", [])


def _unknown(sentence: str, named: str, names: list[str], error: NotFound) -> NotFound:
    near = nearest(named, names)
    hint = did_you_mean(near)
    if names and near is None:
        hint = f" There are: {', '.join(names[:5])}{' and more' if len(names) > 5 else ''}."
    if _CUT_ID.fullmatch(named):
        hint += " The id of a release is r and 16 hex digits."
    return not_found(f"{sentence}{hint}", [] if near is None else [near], error.title)


def not_found(sentence: str, near: list[str], title: str = "Not found") -> NotFound:
    """NotFound as the service would answer it, with names like the one that was given."""
    return NotFound(type=NotFound.type, status=404, title=title, detail=sentence, fields={"near": near})
