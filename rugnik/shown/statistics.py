"""Views of answers about how attributes depend on one another."""

from __future__ import annotations

from rugnik import wire
from rugnik.shown.answers import MOST_ROWS, MOST_SQUARES, cell_map, cell_names, whiskers
from rugnik.shown.digits import NONE, between, both_ends, rows, rows_between, value
from rugnik.shown.view import Table, View


def regression_view(answer: wire.Regression) -> View:
    """The fitted line, and each coefficient with its interval."""
    body = []
    for each in answer.coefficients:
        low, high = (None, None) if each.interval is None else (each.interval.low, each.interval.high)
        fitted = (value(each.value, low, high), *both_ends(low, high))
        body.append((each.name or "(constant)", *fitted, value(each.discretisation)))
    parts = " + ".join(at if name == "(constant)" else f"{at} {name}" for name, at, *_ in body)
    line = f"{answer.target} = {parts.replace('+ -', '- ')}; R squared {_estimate(answer.r_squared)}"
    table = Table(("predictor", "value", "low", "high", "grid adds up to"), tuple(body), len(body))
    slopes = [
        (each.name, each.value, each.interval.low, each.interval.high)
        for each in answer.coefficients
        if each.name is not None and each.interval is not None
    ]
    return View(
        "Regression", line, whiskers(f"{answer.target} for one more of each", slopes), (table,), answer.warnings
    )


def components_view(answer: wire.Components) -> View:
    """Shares of variance with intervals, and the loadings of each component."""
    body, listed = [], []
    for number, each in enumerate(answer.components, start=1):
        share = each.share
        turned = "undetermined" if each.angle is None else f"{each.angle:.1f}\u00b0"
        loadings = (f"{loading:.2f}" for loading in each.loadings)
        body.append(
            (
                str(number),
                _estimate(share),
                turned,
                *loadings,
            )
        )
        listed.append((f"component {number}", share.value, share.interval.low, share.interval.high))
    shares = ", ".join(
        NONE if each.share.value is None else f"{100 * each.share.value:.0f} %" for each in answer.components
    )
    line = f"{', '.join(answer.attributes)}: shares of variance {shares or NONE}"
    table = Table(("component", "share", "turned up to", *answer.attributes), tuple(body), len(body))
    return View("Components", line, whiskers("share of variance", listed), (table,), answer.warnings)


def conditional_view(answer: wire.Conditional) -> View:
    """A map of all shares and the first of them in a table; `share` is n/a where there may be no rows."""
    axes = (answer.given, answer.attribute)
    body: list[tuple[str, ...]] = []
    for place, each in enumerate(answer.distributions):
        shares = each.shares or (None,) * len(each.low)
        for cell, (share, low, high) in enumerate(zip(shares, each.low, each.high, strict=True)):
            box = (*answer.given.side(place), *answer.attribute.side(cell))
            body.append((*cell_names(axes, box), value(share, low, high), *both_ends(low, high)))
    of, given = answer.attribute, answer.given
    line = f"shares of {of.cells:,} cells of {of.name} in each of {given.cells:,} cells of {given.name}"
    table = Table((given.name, of.name, "share", "low", "high"), tuple(body[:MOST_ROWS]), len(body))
    columns = tuple(each.shares or (0.0,) * of.cells for each in answer.distributions)
    charts = (cell_map(given, of, columns, "share"),) if given.cells * of.cells <= MOST_SQUARES else ()
    return View("Conditional", line, charts, (table,), answer.warnings)


def information_view(answer: wire.Information) -> View:
    """Entropies and mutual information in bits, each with its interval."""
    named = [(f"entropy of {each.name}", each.entropy) for each in answer.attributes]
    named += [("joint entropy", answer.joint_entropy), ("mutual information", answer.mutual_information)]
    listed = [(name, each.value, each.interval.low, each.interval.high) for name, each in named]
    body = tuple((name, value(bits, low, high), *both_ends(low, high)) for name, bits, low, high in listed)
    first, second = (each.name for each in answer.attributes)
    line = f"{first} and {second} share {_estimate(answer.mutual_information)} bits"
    table = Table(("quantity", "bits", "low", "high"), body, len(body))
    return View("Information", line, whiskers("bits", listed), (table,), answer.warnings)


def hotspots_view(answer: wire.Hotspots) -> View:
    """Regions by their bounding boxes, the largest excess first."""
    body, listed = [], []
    for number, each in enumerate(answer.regions, start=1):
        box = tuple(end for side in each.ranges for end in (side.low, side.high))
        excess, count = each.excess, each.count.interval
        low, high = excess.interval.low, excess.interval.high
        more = f"{rows(excess.value)} ({rows_between(low, high)})"
        sizes = (str(len(each.cells)), rows_between(count.low, count.high), rows(each.expected))
        body.append((str(number), *cell_names(answer.attributes, box), *sizes, more))
        listed.append((f"region {number}", excess.value, low, high))
    names = tuple(axis.name for axis in answer.attributes)
    said = f"{len(body):,} regions stand out" if len(body) > 1 else "one region stands out"
    line = f"{', '.join(names)}: {said if body else 'no region stands out'} at level {answer.level:g}"
    table = Table(("region", *names, "cells", "rows", "expected", "excess"), tuple(body[:MOST_ROWS]), len(body))
    return View(
        "Hotspots", line, whiskers("rows more than expected", listed), (table,) if body else (), answer.warnings
    )


def _estimate(estimate: wire.Estimate) -> str:
    low, high = estimate.interval.low, estimate.interval.high
    return f"{value(estimate.value, low, high)} ({between(low, high)})"
