"""The analyst's part of the client: questions to a published release. None of them costs epsilon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
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
    Grouped,
    Marginal,
    Moments,
    Quantiles,
    Rows,
    Scan,
    Synopsis,
)

_Answer = TypeVar("_Answer", bound=Answer)
End = float | str | date | None  # of a range; a datetime is a date as well
Part = tuple[End, End] | str | list[str]  # a range, a category, several categories
Box = Mapping[str, Part] | Iterable[str]


class Asking(Connected):
    """Stage 2: what is asked of a synopsis, by the id of its release. `level` is 0.95 where it is not given.

    `where` is the part of the rows that a question is about: `{"age": (30, 50), "sex": ["f", "x"]}`, or the texts of
    the HTTP reference: `["age:30..50", "sex:f,x"]`. The range of a number or a datetime is half-open: (30, 50) holds 30
    and not 50, unless 50 is the upper bound of a number. The range of an integer or a date holds both ends.
    """

    def ask(self, release: str, answer: type[_Answer], **parameters: Any) -> _Answer:
        """Any question that is a GET, by the type of its answer: `ask(release, Moments, level=0.9)`.

        Parameters are those of the HTTP reference; those that are None are left out. `where` is a box as for `count`.
        """
        return answer.of(self._answer(release, answer, parameters))

    def ask_by_group(
        self, release: str, answer: type[Answer], group_by: str, *, simultaneous: bool = False, **parameters: Any
    ) -> Grouped:
        """The same for each value of a category: `ask_by_group(release, Moments, "sex")`.

        `.answers(Moments)` of the reply has the answers by value. With `simultaneous`, intervals hold for all groups
        together.
        """
        grouped = {"group_by": group_by, "simultaneous": simultaneous or None}
        return Grouped.of(self._answer(release, answer, {**parameters, **grouped}))

    def _answer(self, release: str, answer: type[Answer], parameters: Mapping[str, Any]) -> Any:
        where = ranges(parameters.get("where") or ())
        path = f"/v1/releases/{quoted(release)}/{answer.path}"
        return self._json("GET", path, params={**parameters, "where": where})

    def ask_with_body(self, release: str, answer: type[_Answer], body: Body) -> _Answer:
        """Any question that is a POST. It changes nothing, so it is repeated safely."""
        return answer.of(self._post(f"/v1/releases/{quoted(release)}/{answer.path}", body, repeatable=True))

    def count(self, release: str, where: Box = (), *, level: float | None = None, snap: bool = False) -> Count:
        """Count the rows in a box: `{"age": (30, 50), "income": (None, 2000)}`, or `["age:30..50"]`.

        Its ranges may cut cells. With `snap` both ends of each range move to the nearest cell edge, so that the box
        cuts no cell; `snapped` has the ends of the moved range.
        """
        return self.ask(release, Count, where=where, level=level, snap=snap or None)

    def counts(
        self,
        release: str,
        boxes: Iterable[Box],
        *,
        level: float | None = None,
        simultaneous: bool = False,
        where: Box = (),
        snap: bool = False,
    ) -> Counts:
        """Count the rows in up to 10,000 boxes at once, each a box as for `count`; all of them lie in `where`.

        With `snap` the boxes move to cell edges, and `snapped` has their ends.
        """
        common = _given(level=level, where=ranges(where) or None, snap=snap or None)
        body = CountsBody(boxes=[ranges(box) for box in boxes], simultaneous=simultaneous, **common)
        return self.ask_with_body(release, Counts, body)

    def marginal(
        self,
        release: str,
        attributes: Sequence[str],
        *,
        level: float | None = None,
        counts: str | None = None,
        cells: int | None = None,
        where: Box = (),
    ) -> Marginal:
        """The histogram of some attributes; `counts` is "raw" or "nonnegative", `cells` the most on an axis."""
        names = ",".join(attributes)
        return self.ask(release, Marginal, attributes=names, level=level, counts=counts, cells=cells, where=where)

    def quantiles(
        self,
        release: str,
        attribute: str,
        q: Sequence[float] = (0.25, 0.5, 0.75),
        *,
        level: float | None = None,
        where: Box = (),
    ) -> Quantiles:
        """Quantiles of one attribute."""
        return self.ask(release, Quantiles, attribute=attribute, q=list(q), level=level, where=where)

    def moments(self, release: str, *, level: float | None = None, where: Box = ()) -> Moments:
        """Size, means, variances, covariances and correlations."""
        return self.ask(release, Moments, level=level, where=where)

    def clusters(
        self,
        release: str,
        k: int,
        *,
        level: float | None = None,
        seed: int | None = None,
        method: str | None = None,
        where: Box = (),
    ) -> Clusters:
        """k cluster centres with intervals; `method`: one of those in the README, else the service chooses."""
        return self.ask(release, Clusters, k=k, level=level, seed=seed, method=method, where=where)

    def scan_clusters(self, release: str, low: int, high: int, *, seed: int | None = None, where: Box = ()) -> Scan:
        """Inertia and stability for each k from low to high."""
        return self.ask(release, Scan, k=f"{low}..{high}", seed=seed, where=where)

    def assign(
        self,
        release: str,
        points: Iterable[Sequence[float | str | date]],
        *,
        k: int,
        seed: int | None = None,
        method: str | None = None,
        where: Box = (),
    ) -> Assignment:
        """The nearest of k centres for each of your own points: a value for each attribute that is no category."""
        values = [[_value(x) for x in point] for point in points]
        body = AssignBody(points=values, k=k, **_given(seed=seed, method=method, where=ranges(where) or None))
        return self.ask_with_body(release, Assignment, body)

    def rows(self, release: str, count: int = 1000, *, seed: int | None = None, where: Box = ()) -> Rows:
        """Synthetic rows: the same seed gives the same ones."""
        return self.ask(release, Rows, count=count, seed=seed, where=where)

    def download_rows(
        self,
        release: str,
        to: Target,
        *,
        count: int = 1000,
        seed: int | None = None,
        format: str = "csv",  # noqa: A002 - the name it has in the API
        where: Box = (),
    ) -> int:
        """Synthetic rows as a file: csv, parquet or json. The number of bytes written."""
        params = {"count": count, "seed": seed, "format": format, "where": ranges(where)}
        return download(self._transport, f"/v1/releases/{quoted(release)}/rows", to, params)

    def synopsis(
        self, release: str, *, level: float | None = None, where: Box = (), cells: int | None = None
    ) -> Synopsis:
        """The whole noisy histogram, or a part of it; of an adaptive release, with at most so many `cells`."""
        return self.ask(release, Synopsis, level=level, where=where, cells=cells)

    def download_synopsis(
        self,
        release: str,
        to: Target,
        *,
        format: str = "parquet",  # noqa: A002 - as above
        where: Box = (),
    ) -> int:
        """The noisy histogram as a file: csv, parquet, arrow or json. The number of bytes written."""
        params = {"format": format, "where": ranges(where)}
        return download(self._transport, f"/v1/releases/{quoted(release)}/synopsis", to, params)


def ranges(where: Box) -> list[str]:
    """A box as the service spells it: attribute:lower..upper with an open end left out, or attribute:a,b."""
    if not isinstance(where, Mapping):
        return [where] if isinstance(where, str) else list(where)
    return [f"{name}:{_part(part)}" for name, part in where.items()]


def _part(part: Part) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return ",".join(part)
    lower, upper = part
    return f"{_end(lower)}..{_end(upper)}"


def _end(bound: End) -> str:
    """An end of a range. A whole number has no decimal point: an integer takes none."""
    if bound is None:
        return ""
    value = _value(bound)
    return value if isinstance(value, str) else repr(value).removesuffix(".0")


def _value(value: float | str | date) -> float | str:
    """A value as JSON has it: numbers, and the texts of dates and datetimes."""
    return value if isinstance(value, str) else value.isoformat() if isinstance(value, date) else float(value)


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
