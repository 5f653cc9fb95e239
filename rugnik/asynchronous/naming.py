# Made from rugnik/naming.py by `python -m tools.asynchronous`. Do not edit.
"""Naming: a release by its id, by the name of its dataset, or by what an earlier call returned."""

from __future__ import annotations

from rugnik.arguments import text
from rugnik.asynchronous.connected import Connected
from rugnik.connected import quoted
from rugnik.errors import NotFound, RugnikError
from rugnik.listing import Releases
from rugnik.naming import _AT_ONCE, _EXPECTED, _NAMES_AT_ONCE, Released, _unknown, is_id, nothing_published
from rugnik.wire import Dataset, Release, ReleaseList, ReleaseSummary


class Naming(Connected):
    """Datasets and releases by name.

    Where a method takes `release`, that is the id of a release, a Release or ReleaseSummary, or the name of a dataset,
    which stands for its newest published release. The name is looked up at each call, by one more GET, so that it never
    means an old release; `release` of the answer says which one was asked. To stay with one, hold on to it:
    `release = client.release("bike-trips")`.
    """

    async def dataset(self, name: str) -> Dataset:
        """One dataset: schema, budget, and at most 100 releases, the newest; `releases()` gives all of them.

        NotFound, with near names, where there is none.
        """
        named = text("name", "the name of a dataset", name)
        try:
            return await self._dataset(named)
        except NotFound as error:
            raise _unknown(
                f"There is no dataset {named!r} that this key may see.", named, await self._names(), error
            ) from None

    async def releases(self, dataset: str) -> Releases:
        """Every release of a dataset, oldest first; to an analyst, published ones only. `.latest` is the newest one."""
        named = text("dataset", "the name of a dataset", dataset)
        listed: list[ReleaseSummary] = []
        after: int | None = 0
        while after is not None:
            path, params = f"/v1/datasets/{quoted(named)}/releases", {"after": after, "limit": _AT_ONCE}
            page = ReleaseList.of(await self._json("GET", path, params=params))
            listed += page.releases
            after = page.next
        return Releases(named, listed, latest=(await self.dataset(named)).newest)

    async def newest(self, dataset: str) -> ReleaseSummary:
        """The release of a dataset that was published last. NotFound, with near names, where there is none."""
        named = text("dataset", "the name of a dataset", dataset)
        try:
            newest = (await self._dataset(named)).newest
        except NotFound as error:
            sentence = f"{named!r} is neither the id of a release nor the name of a dataset that this key may see."
            raise _unknown(sentence, named, await self._names(), error) from None
        if newest is None:
            raise nothing_published(named)
        return newest

    async def release(self, release: Released) -> Release:
        """Look at a release; an analyst sees it once it is published."""
        return Release.of(await self._json("GET", await self._below(release)))

    async def _dataset(self, named: str) -> Dataset:
        return Dataset.of(await self._json("GET", f"/v1/datasets/{quoted(named)}"))

    async def _below(self, release: Released, rest: str = "") -> str:
        """The path of a release, or of something below it."""
        path = f"/v1/releases/{quoted(await self._released(release))}"
        return f"{path}/{rest}" if rest else path

    async def _released(self, release: Released) -> str:
        """The id of a release. NotFound, with names like the one given, where there is none."""
        if isinstance(release, Release | ReleaseSummary):
            return release.id
        named = text("release", _EXPECTED, release)
        return named if is_id(named) else (await self.newest(named)).id

    async def _names(self) -> list[str]:
        """Names of datasets, for a message; none where they cannot be read."""
        try:
            reply = await self._json("GET", "/v1/datasets", params={"limit": _NAMES_AT_ONCE}, repeatable=False)
            return [str(dataset["name"]) for dataset in reply["datasets"]]
        except (RugnikError, KeyError, TypeError):
            return []
