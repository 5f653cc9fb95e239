"""View: what a person sees of a reply, before anything is drawn. Charts are values: two modules draw the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """Texts in columns; `total` is how many rows there are, of which these are the first."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Whiskers:
    """Values with intervals, one below the other. Ends are None where there is no interval."""

    axis: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    ends: tuple[str, str] | None = None  # the least and the greatest place in words, where these are no numbers


@dataclass(frozen=True, slots=True)
class Bars:
    """A histogram: a bar for each cell, with an interval. `ends` are the words at the left and the right end."""

    axis: str
    values: tuple[float, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    names: tuple[str, ...]  # of the cells
    ends: tuple[str, str] | None = None  # of an ordered attribute; a category shows the names of its cells
    counted: str = "rows"


@dataclass(frozen=True, slots=True)
class Map:
    """A number for each pair of cells of two attributes: `values[x][y]`."""

    axes: tuple[str, str]
    values: tuple[tuple[float, ...], ...]
    names: tuple[tuple[str, ...], tuple[str, ...]]
    ends: tuple[tuple[str, str], tuple[str, str]]  # the words at both ends of each axis
    counted: str = "rows"


@dataclass(frozen=True, slots=True)
class Points:
    """Places in two attributes with intervals on both; `weights` are areas."""

    axes: tuple[str, str]
    centers: tuple[tuple[float, float], ...]
    low: tuple[tuple[float, float], ...]
    high: tuple[tuple[float, float], ...]
    weights: tuple[float, ...]
    ends: tuple[tuple[str, str] | None, tuple[str, str] | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Line:
    """A number for each of some whole numbers; `marked` is the place that stands out."""

    axes: tuple[str, str]
    at: tuple[int, ...]
    values: tuple[float, ...]
    marked: int | None = None


Chart = Whiskers | Bars | Map | Points | Line


@dataclass(frozen=True, slots=True)
class View:
    """A line of text, and what a notebook shows beside it."""

    title: str
    line: str
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    remarks: tuple[str, ...] = ()
