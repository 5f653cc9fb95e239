"""The analyst's part of the client: questions to a published release. None of them costs epsilon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, TypeVar

from rugnik import arguments
from rugnik.arguments import by_group, one_answer, text, unfit, whole
from rugnik.boxes import Box, ranges, value_of
from rugnik.boxes import boxes as spelled
from rugnik.downloads import Target, download
from rugnik.naming import Naming, Released
from rugnik.wire import (
    Answer,
    AssignBody,
    Assignment,
    Body,
    Clusters,
    Components,
    Conditional,
    Count,
    Counts,
    CountsBody,
    Grouped,
    Hotspots,
    Information,
    Marginal,
    Moments,
    Quantiles,
    Regression,
    Rows,
    Scan,
    Synopsis,
)

_Answer = TypeVar("_Answer", bound=Answer)


class Asking(Naming):
    """Stage 2: what is asked of a synopsis. `level` is 0.95 where it is not given.

    `where` is the part of the rows that a question is about: `{"age": (30, 50), "sex": ["f", "x"]}`, or the texts of
    the HTTP reference: `["age:30..50", "sex:f,x"]`. The range of a number or a datetime is half-open: (30, 50) holds 30
    and not 50, unless 50 is the upper bound of a number. The range of an integer or a date holds both ends.
    """

    def ask(self, release: Released, answer: type[_Answer], **parameters: Any) -> _Answer:
        """Any question that is a GET, by the type of its answer: `ask(release, Moments, level=0.9)`.

        Parameters are those of the HTTP reference; those that are None are left out. `where` is a box as for `count`.
        """
        if "group_by" in parameters:
            raise by_group(getattr(answer, "__name__", "Moments"))
        reply = self._answer(release, answer, parameters)
        return answer.of(reply)

    def ask_by_group(
        self, release: Released, answer: type[Answer], group_by: str, *, simultaneous: bool = False, **parameters: Any
    ) -> Grouped:
        """The same for each value of a category: `ask_by_group(release, Moments, "sex")`.

        `.answers(Moments)` of the reply has the answers by value. With `simultaneous`, each interval holds for all
        groups together; the several intervals of one answer do so only where they do without groups.
        """
        grouped = {"group_by": group_by, "simultaneous": simultaneous or None}
        return Grouped.of(self._answer(release, answer, {**parameters, **grouped}))

    def _answer(self, release: Released, answer: type[Answer], parameters: Mapping[str, Any]) -> Any:
        path = path_of(answer)
        where = ranges(parameters.get("where") or ())
        return self._json("GET", self._below(release, path), params={**parameters, "where": where})

    def ask_with_body(self, release: Released, answer: type[_Answer], body: Body) -> _Answer:
        """Any question that is a POST. It changes nothing, so it is repeated safely."""
        path = path_of(answer)
        return answer.of(self._post(self._below(release, path), body, repeatable=True))

    @one_answer
    def count(self, release: Released, where: Box = (), *, level: float | None = None, snap: bool = False) -> Count:
        """Count the rows in a box: `{"age": (30, 50), "income": (None, 2000)}`, or `["age:30..50"]`.

        Its ranges may cut cells. With `snap` both ends of each range move to the nearest cell edge, so that the box
        cuts no cell; `snapped` has the ends of the moved range.
        """
        return self.ask(release, Count, where=where, level=level, snap=snap or None)

    def counts(
        self,
        release: Released,
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
        body = CountsBody(boxes=spelled(boxes), simultaneous=simultaneous, **common)
        return self.ask_with_body(release, Counts, body)

    @one_answer
    def marginal(
        self,
        release: Released,
        attributes: str | Sequence[str],
        *,
        level: float | None = None,
        counts: str | None = None,
        cells: int | None = None,
        where: Box = (),
    ) -> Marginal:
        """The histogram of some attributes; `counts` is "raw" or "nonnegative", `cells` the most on an axis."""
        names = ",".join(arguments.names("attributes", attributes))
        return self.ask(release, Marginal, attributes=names, level=level, counts=counts, cells=cells, where=where)

    @one_answer
    def quantiles(
        self,
        release: Released,
        attribute: str,
        q: float | Sequence[float] = (0.25, 0.5, 0.75),
        *,
        level: float | None = None,
        where: Box = (),
    ) -> Quantiles:
        """Quantiles of one attribute."""
        name, shares = text("attribute", "the name of an attribute", attribute), arguments.numbers("q", q)
        return self.ask(release, Quantiles, attribute=name, q=shares, level=level, where=where)

    @one_answer
    def moments(self, release: Released, *, level: float | None = None, where: Box = ()) -> Moments:
        """Size, means, variances, covariances and correlations."""
        return self.ask(release, Moments, level=level, where=where)

    @one_answer
    def clusters(
        self,
        release: Released,
        k: int,
        *,
        level: float | None = None,
        seed: int | None = None,
        method: str | None = None,
        where: Box = (),
    ) -> Clusters:
        """k cluster centres with intervals; `method` is "posterior", "projected", "thresholded" or "lloyd"."""
        return self.ask(release, Clusters, k=whole("k", k), level=level, seed=seed, method=method, where=where)

    @one_answer
    def scan_clusters(
        self, release: Released, low: int, high: int, *, seed: int | None = None, where: Box = ()
    ) -> Scan:
        """Inertia and stability for each k from low to high, as `rugnik query scan`."""
        ks = f"{whole('low', low)}..{whole('high', high)}"
        return self.ask(release, Scan, k=ks, seed=seed, where=where)

    def assign(
        self,
        release: Released,
        points: Iterable[Sequence[float | str | date]],
        *,
        k: int,
        seed: int | None = None,
        method: str | None = None,
        where: Box = (),
    ) -> Assignment:
        """The nearest of k centres for each of your own points: a value for each attribute that is no category."""
        values = arguments.points(points, value_of)
        body = AssignBody(
            points=values, k=whole("k", k), **_given(seed=seed, method=method, where=ranges(where) or None)
        )
        return self.ask_with_body(release, Assignment, body)

    def rows(self, release: Released, count: int = 1000, *, seed: int | None = None, where: Box = ()) -> Rows:
        """Synthetic rows: the same seed gives the same ones."""
        return self.ask(release, Rows, count=whole("count", count), seed=seed, where=where)

    def download_rows(
        self,
        release: Released,
        to: Target,
        *,
        count: int = 1000,
        seed: int | None = None,
        format: str = "csv",  # noqa: A002 - the name it has in the API
        where: Box = (),
    ) -> int:
        """Synthetic rows as a file: csv, parquet or json. The number of bytes written."""
        params = {"count": count, "seed": seed, "format": format, "where": ranges(where)}
        return download(self._transport, self._below(release, "rows"), to, params)

    def synopsis(
        self, release: Released, *, level: float | None = None, where: Box = (), cells: int | None = None
    ) -> Synopsis:
        """The whole noisy histogram, or a part of it; of an adaptive release, with at most so many `cells`."""
        return self.ask(release, Synopsis, level=level, where=where, cells=cells)

    def download_synopsis(
        self,
        release: Released,
        to: Target,
        *,
        format: str = "parquet",  # noqa: A002 - as above
        where: Box = (),
    ) -> int:
        """The noisy histogram as a file: csv, parquet, arrow or json. The number of bytes written."""
        params = {"format": format, "where": ranges(where)}
        return download(self._transport, self._below(release, "synopsis"), to, params)

    @one_answer
    def regression(
        self,
        release: Released,
        target: str,
        on: str | Sequence[str],
        *,
        level: float | None = None,
        where: Box = (),
    ) -> Regression:
        """Linear least squares of one attribute on others, in the attributes' own units."""
        names = ",".join(arguments.names("on", on))
        return self.ask(release, Regression, target=target, on=names, level=level, where=where)

    @one_answer
    def components(
        self,
        release: Released,
        attributes: str | Sequence[str] | None = None,
        *,
        matrix: str | None = None,
        level: float | None = None,
        seed: int | None = None,
        where: Box = (),
    ) -> Components:
        """Principal components; `matrix` is "correlation" (as if it is not given) or "covariance"."""
        names = None if attributes is None else ",".join(arguments.names("attributes", attributes))
        return self.ask(release, Components, attributes=names, matrix=matrix, level=level, seed=seed, where=where)

    @one_answer
    def conditional(
        self,
        release: Released,
        of: str,
        given: str,
        *,
        level: float | None = None,
        cells: int | None = None,
        where: Box = (),
    ) -> Conditional:
        """The distribution of one attribute for each value or cell of another, with at most `cells` on an axis."""
        return self.ask(release, Conditional, of=of, given=given, level=level, cells=cells, where=where)

    @one_answer
    def information(
        self,
        release: Released,
        attributes: tuple[str, str],
        *,
        level: float | None = None,
        cells: int | None = None,
        where: Box = (),
    ) -> Information:
        """Entropies of two attributes and their mutual information in bits, with at most `cells` on an axis."""
        names = ",".join(arguments.names("attributes", attributes))
        return self.ask(release, Information, attributes=names, level=level, cells=cells, where=where)

    @one_answer
    def hotspots(
        self,
        release: Released,
        attributes: str | Sequence[str],
        *,
        level: float | None = None,
        cells: int | None = None,
        where: Box = (),
    ) -> Hotspots:
        """Regions of one or two attributes with more rows than evenly spread rows would leave there."""
        names = ",".join(arguments.names("attributes", attributes))
        return self.ask(release, Hotspots, attributes=names, level=level, cells=cells, where=where)


def path_of(answer: type[Answer]) -> str:
    """The path of a question below its release, by the type of its answer."""
    path = getattr(answer, "path", None)
    if not isinstance(path, str):
        raise unfit("answer", "the type of an answer, such as rugnik.wire.Moments", answer)
    return path


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
