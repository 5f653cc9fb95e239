"""`rugnik query regression` and others that statisticians ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.asking import Asked, Level, Seed, Table, ends, estimated, prefix, query, question, sides
from app.cli.output import figure, note, rounded

if TYPE_CHECKING:
    from rugnik.wire import Components, Conditional, Hotspots, Information, Regression

Names = Annotated[
    list[str],
    typer.Option(
        "--on", metavar="NAMES", help="The attributes that explain it: age,hour; or repeat it.", show_default=False
    ),
]


@query.command()
@question
def regression(
    asked: Asked,
    target: Annotated[str, typer.Argument(help="The attribute that is explained.", show_default=False)],
    on: Names,
    level: Level = 0.95,
) -> None:
    """Linear least squares of one attribute on others, in their own units, with intervals.

    \b
    Example:
      rugnik query regression bike-trips x --on hour
    """
    from rugnik.wire import Regression

    for value, answer in asked.show(Regression, _regression_table, target=target, on=",".join(on), level=level):
        if not asked.as_table:
            return
        share, group = answer.r_squared, prefix(value)
        explained = "unknown" if share.value is None else f"{share.value:.3g}"
        note(f"{group}R squared {explained}, between {share.interval.low:.3g} and {share.interval.high:.3g}.")
    if asked.as_table:
        note(
            "low to high covers the noise. The grid can add at most what its column says, where there is such a bound; "
            "even rows within cells would make the value that of the last column (Sheppard). Dates count in days, "
            "datetimes in seconds, both from 1970."
        )


def _regression_table(answer: Regression) -> Table:
    rows = []
    for each in answer.coefficients:
        low, high = (None, None) if each.interval is None else (each.interval.low, each.interval.high)
        value, low, high, sheppard = rounded((each.value, low, high, each.sheppard), low, high)
        rows.append((each.name or "(constant)", value, low, high, figure(each.discretisation), sheppard))
    return ("predictor", "value", "low", "high", "grid adds up to", "with Sheppard"), rows


@query.command()
@question
def components(
    asked: Asked,
    attributes: Annotated[
        list[str] | None, typer.Argument(help="Two attributes or more; all but categories if none is named.")
    ] = None,
    matrix: Annotated[
        str, typer.Option(help="correlation, or covariance for values in their own units.")
    ] = "correlation",
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Principal components: shares of variance with intervals, loadings, and how far the noise can turn them.

    \b
    Example:
      rugnik query components bike-trips
    """
    from rugnik.wire import Components

    names = ",".join(attributes) if attributes else None
    asked.show(Components, _components_table, attributes=names, matrix=matrix, level=level, seed=seed)
    if asked.as_table:
        note("A component without an angle is undetermined: its direction may be any.")


def _components_table(answer: Components) -> Table:
    rows = [
        (number, *estimated(each.share), figure(each.angle), *(round(loading, 2) for loading in each.loadings))
        for number, each in enumerate(answer.components, start=1)
    ]
    return ("component", "share", "low", "high", "turned up to (degrees)", *answer.attributes), rows


@query.command()
@question
def conditional(
    asked: Asked,
    of: Annotated[str, typer.Argument(help="The attribute whose distribution is asked for.", show_default=False)],
    given: Annotated[str, typer.Option("--given", metavar="NAME", help="What it is given by.", show_default=False)],
    cells: Annotated[int | None, typer.Option(min=1, help="At most so many cells on an axis.")] = None,
    level: Level = 0.95,
) -> None:
    """The distribution of one attribute for each value or cell of another: shares with intervals.

    \b
    Example:
      rugnik query conditional bike-trips hour --given x --cells 4
    """
    from rugnik.wire import Conditional

    asked.show(Conditional, _conditional_table, of=of, given=given, cells=cells, level=level)


def _conditional_table(answer: Conditional) -> Table:
    axes = (answer.given, answer.attribute)
    rows = [
        (*ends(axes, (*axes[0].side(g), *axes[1].side(i))), *rounded((share, low, high), low, high))
        for g, each in enumerate(answer.distributions)
        for i, (share, low, high) in enumerate(
            zip(each.shares or [None] * len(each.low), each.low, each.high, strict=True)
        )
    ]
    return (*sides(axes), "share", "low", "high"), rows


@query.command()
@question
def information(
    asked: Asked,
    attributes: Annotated[list[str], typer.Argument(help="Two attributes.", show_default=False)],
    cells: Annotated[int | None, typer.Option(min=1, help="At most so many cells on an axis.")] = None,
    level: Level = 0.95,
) -> None:
    """Entropies of two attributes and their mutual information, in bits, corrected for the noise.

    \b
    Example:
      rugnik query information bike-trips hour x --cells 8
    """
    from rugnik.wire import Information

    asked.show(Information, _information_table, attributes=",".join(attributes), cells=cells, level=level)


def _information_table(answer: Information) -> Table:
    named = [(f"entropy of {each.name}", each.entropy) for each in answer.attributes]
    named += [("joint entropy", answer.joint_entropy), ("mutual information", answer.mutual_information)]
    rows = [(name, *estimated(each)) for name, each in named]
    return ("quantity", "bits", "low", "high"), rows


@query.command()
@question
def hotspots(
    asked: Asked,
    attributes: Annotated[list[str], typer.Argument(help="One or two that are no categories.", show_default=False)],
    cells: Annotated[int | None, typer.Option(min=1, help="At most so many cells on an axis.")] = None,
    level: Level = 0.95,
) -> None:
    """Regions with more rows than evenly spread rows would leave there, with intervals that hold for all of them.

    \b
    Example:
      rugnik query hotspots bike-trips x y
    """
    from rugnik.wire import Hotspots

    answers = asked.show(Hotspots, _hotspots_table, attributes=",".join(attributes), cells=cells, level=level)
    if not asked.as_table:
        return
    for value, answer in answers:
        if not answer.regions:
            note(f"{prefix(value)}No region stands out at level {level:g}.")
    if any(answer.regions for _value, answer in answers):
        note("Each is listed by its bounding box; expected is the count if all rows were spread evenly by volume.")


def _hotspots_table(answer: Hotspots) -> Table:
    rows = []
    for each in answer.regions:
        box = tuple(end for pair in each.ranges for end in (pair.low, pair.high))
        count, _low, _high = estimated(each.count)
        rows.append(
            (*ends(answer.attributes, box), len(each.cells), count, figure(each.expected), *estimated(each.excess))
        )
    return (*sides(answer.attributes), "cells", "count", "expected", "excess", "low", "high"), rows
