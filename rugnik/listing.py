"""Releases: the releases of a dataset as a sequence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, overload

from rugnik.wire.base import frame
from rugnik.wire.datasets import ReleaseSummary


class Releases(Sequence[ReleaseSummary]):
    """The releases of a dataset, oldest first. It does not change: ask for it again to see newer ones."""

    def __init__(self, dataset: str, listed: Iterable[ReleaseSummary], *, latest: ReleaseSummary | None) -> None:
        self.dataset = dataset
        self.latest = latest  # the one that was published last, which need not be ordered last; None if there is none
        self._listed = tuple(listed)

    @overload
    def __getitem__(self, place: int) -> ReleaseSummary: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[ReleaseSummary, ...]: ...
    def __getitem__(self, place: int | slice) -> ReleaseSummary | tuple[ReleaseSummary, ...]:
        return self._listed[place]

    def __len__(self) -> int:
        return len(self._listed)

    def to_pandas(self) -> Any:
        """One row per release."""
        return frame(
            {
                "id": [release.id for release in self],
                "label": [release.label for release in self],
                "state": [release.state for release in self],
                "epsilon": [release.epsilon for release in self],
                "digest": [None if release.synopsis is None else release.synopsis.digest for release in self],
            }
        )

    def __repr__(self) -> str:
        latest = "none published" if self.latest is None else f"latest {self.latest.id}"
        return f"Releases(of {self.dataset!r}: {len(self):,}, {latest})"

    def _repr_html_(self) -> str:
        from rugnik.shown.html import page  # noqa: PLC0415 - needed for a notebook alone
        from rugnik.shown.records import releases_view  # noqa: PLC0415 - as above

        return page(releases_view(f"Releases of {self.dataset}", self))
