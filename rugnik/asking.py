"""The analyst's part of the client: questions to a published release. None of them costs epsilon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from rugnik.connected import Connected, quoted
from rugnik.downloads import Target, download
from rugnik.wire import (
    Answer,
    AssignBody,
    Assignment,
    Body,
    Clusters,
    Count,
    Counts,
    CountsBody,
    Marginal,
    Moments,
    Quantiles,
    Rows,
    Scan,
    Synopsis,
)

_Answer = TypeVar("_Answer", bound=Answer)
Range = tuple[float | None, float | None]
Box = Mapping[str, Range] | Iterable[str]


class Asking(Connected):
    """Stage 2: what is asked of a synopsis, by the id of its release. `level` is 0.95 where it is not given."""

    def ask(self, release: str, answer: type[_Answer], **parameters: Any) -> _Answer:
        """Any question that is a GET, by the type of its answer: `ask(release, Moments, level=0.9)`.

        Parameters are those of the HTTP reference; those that are None are left out. `where` is a box as for `count`.
        """
        if "where" in parameters:
            parameters["where"] = ranges(parameters["where"])
        path = f"/v1/releases/{quoted(release)}/{answer.path}"
        return answer.of(self._json("GET", path, params=parameters))

    def ask_with_body(self, release: str, answer: type[_Answer], body: Body) -> _Answer:
        """Any question that is a POST. It changes nothing, so it is repeated safely."""
        return answer.of(self._post(f"/v1/releases/{quoted(release)}/{answer.path}", body, repeatable=True))

    def count(self, release: str, where: Box = (), *, level: float | None = None, snap: bool = False) -> Count:
        """Count the rows in a box: `{"age": (30, 50), "income": (None, 2000)}`, or `["age:30..50"]`.

        A range is half-open: (30, 50) holds 30 and not 50, unless 50 is the upper bound of age. With `snap` both ends
        of each range move to the nearest cell edge, so that the box cuts no cell; `snapped` has those edges.
        """
        return self.ask(release, Count, where=where, level=level, snap=snap or None)

    def counts(
        self, release: str, boxes: Iterable[Box], *, level: float | None = None, simultaneous: bool = False
    ) -> Counts:
        """Count the rows in up to 10,000 boxes at once; ranges are half-open, as for `count`."""
        body = CountsBody(boxes=[ranges(box) for box in boxes], simultaneous=simultaneous, **_given(level=level))
        return self.ask_with_body(release, Counts, body)

    def marginal(
        self,
        release: str,
        attributes: Sequence[str],
        *,
        level: float | None = None,
        counts: str | None = None,
        cells: int | None = None,
    ) -> Marginal:
        """The histogram of some attributes; `counts` is "raw" or "nonnegative", `cells` the most on an axis."""
        names = ",".join(attributes)
        return self.ask(release, Marginal, attributes=names, level=level, counts=counts, cells=cells)

    def quantiles(
        self, release: str, attribute: str, q: Sequence[float] = (0.25, 0.5, 0.75), *, level: float | None = None
    ) -> Quantiles:
        """Quantiles of one attribute."""
        return self.ask(release, Quantiles, attribute=attribute, q=list(q), level=level)

    def moments(self, release: str, *, level: float | None = None) -> Moments:
        """Size, means, variances, covariances and correlations."""
        return self.ask(release, Moments, level=level)

    def clusters(
        self,
        release: str,
        k: int,
        *,
        level: float | None = None,
        seed: int | None = None,
        method: str | None = None,
    ) -> Clusters:
        """k cluster centres with intervals; `method`: one of those in the README, else the service chooses."""
        return self.ask(release, Clusters, k=k, level=level, seed=seed, method=method)

    def scan_clusters(self, release: str, low: int, high: int, *, seed: int | None = None) -> Scan:
        """Inertia and stability for each k from low to high."""
        return self.ask(release, Scan, k=f"{low}..{high}", seed=seed)

    def assign(
        self,
        release: str,
        points: Iterable[Sequence[float]],
        *,
        k: int,
        seed: int | None = None,
        method: str | None = None,
    ) -> Assignment:
        """The nearest of k centres for each of your own points, one number per attribute."""
        numbers = [[float(x) for x in point] for point in points]
        body = AssignBody(points=numbers, k=k, **_given(seed=seed, method=method))
        return self.ask_with_body(release, Assignment, body)

    def rows(self, release: str, count: int = 1000, *, seed: int | None = None) -> Rows:
        """Synthetic rows: the same seed gives the same ones."""
        return self.ask(release, Rows, count=count, seed=seed)

    def download_rows(
        self,
        release: str,
        to: Target,
        *,
        count: int = 1000,
        seed: int | None = None,
        format: str = "csv",  # noqa: A002 - the name it has in the API
    ) -> int:
        """Synthetic rows as a file: csv, parquet or json. The number of bytes written."""
        params = {"count": count, "seed": seed, "format": format}
        return download(self._transport, f"/v1/releases/{quoted(release)}/rows", to, params)

    def synopsis(self, release: str, *, level: float | None = None) -> Synopsis:
        """The whole noisy histogram."""
        return self.ask(release, Synopsis, level=level)

    def download_synopsis(self, release: str, to: Target, *, format: str = "parquet") -> int:  # noqa: A002 - as above
        """The whole noisy histogram as a file: csv, parquet, arrow or json. The number of bytes written."""
        return download(self._transport, f"/v1/releases/{quoted(release)}/synopsis", to, {"format": format})


def ranges(where: Box) -> list[str]:
    """A box as the service spells it: attribute:lower..upper for [lower, upper), an open end left out."""
    if not isinstance(where, Mapping):
        return [where] if isinstance(where, str) else list(where)
    return [f"{name}:{_end(lower)}..{_end(upper)}" for name, (lower, upper) in where.items()]


def _end(bound: float | None) -> str:
    return "" if bound is None else repr(float(bound))


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
