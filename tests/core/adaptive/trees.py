"""Layers of all kinds for tests: hypothesis strategies of domains, base grids, noisy counts and records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.adaptive.layers import Layers
from core.adaptive.shares import LayerLaws
from core.arrays import Wholes
from core.budget import Epsilon
from core.domain.attribute import Attribute, Missing
from core.domain.category import Category
from core.domain.dates import Date, Datetime
from core.domain.domain import Domain
from core.domain.grid import Grid
from core.domain.integer import Integer
from core.domain.number import Number
from core.records import Records
from core.unit import RECORD, Unit

_FIRST_DAY, _FIRST_MOMENT = date(1900, 1, 1), datetime(1, 1, 2, tzinfo=UTC)
MISSING = st.sampled_from(Missing)


def laws_at(epsilon: str, unit: Unit = RECORD) -> LayerLaws:
    """The laws of an epsilon."""
    return LayerLaws.of(Epsilon.parse(epsilon), unit)


@st.composite
def ordered_attributes(draw: st.DrawFn, name: str) -> Attribute:
    """Numbers; whole values from a single one to more than 2^52; moments over days or millennia."""
    missing = draw(MISSING)
    match draw(st.sampled_from(["number", "integer", "date", "datetime"])):
        case "number":
            return Number(name, 0, 1, missing)
        case "integer":
            most = draw(st.sampled_from([0, 1, 2, 4, 6, 99, 1000, 2**32 - 2, 2**32 - 1, 2**32, 2**52]))
            return Integer(name, 0, most, missing)
        case "date":
            return Date(name, _FIRST_DAY, _FIRST_DAY + timedelta(draw(st.integers(0, 50_000))), missing)
        case _:
            span = timedelta(microseconds=draw(st.sampled_from([1, 3, 10**6, 2**33 + 1, 10**17, 3 * 10**17])))
            return Datetime(name, _FIRST_MOMENT, _FIRST_MOMENT + span, missing)


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    """One to three ordered attributes and up to two categories, in any order."""
    ordered = [draw(ordered_attributes(name)) for name in "xyz"[: draw(st.integers(1, 3))]]
    categories = [draw(_categories(name)) for name in "ab"[: draw(st.integers(0, 2))]]
    return Domain(tuple(draw(st.permutations([*ordered, *categories]))))


@st.composite
def _categories(draw: st.DrawFn, name: str) -> Category:
    return Category(name, ("one", "two", "three")[: draw(st.integers(1, 3))], missing=draw(MISSING))


@st.composite
def bases(draw: st.DrawFn) -> tuple[Domain, Grid]:
    """A domain and a base of 1 to 3 cells along each ordered axis."""
    domain = draw(domains())
    cells = [draw(st.integers(1, 3)) if each.is_ordered else each.most_cells or 1 for each in domain.attributes]
    return domain, domain.grid([min(m, each.most_cells or m) for m, each in zip(cells, domain.attributes, strict=True)])


def random_counts(number: int, rng: np.random.Generator, rows: float = 3000.0) -> Wholes:
    """Noisy counts: some negative, most small, a few large."""
    return np.floor(rng.exponential(rows, number) * rng.choice([-0.02, 0.01, 0.1, 1.0], number)).astype(np.int64)


def layers_on(base: Grid, laws: LayerLaws, seed: int, *, rows: float = 3000.0, max_cells: int = 5000) -> Layers:
    """Layers that follow from random counts."""
    rng = np.random.default_rng(seed)
    layers = Layers(base, laws, random_counts(base.cell_count, rng, rows))
    layers.take_coarse(random_counts(layers.cut_base(max_cells=max_cells), rng, rows / 4))
    layers.take_leaves(random_counts(layers.cut_coarse(max_cells=max_cells), rng, rows / 50))
    return layers


@dataclass(frozen=True)
class World:
    """Layers on the base of a domain."""

    domain: Domain
    layers: Layers
    epsilon: str
    unit: Unit
    rng: np.random.Generator

    def records(self, number: int) -> Records:
        """Codes anywhere, on the edges of leaves and next to them, and those of missing values."""
        edges = iter(np.concatenate(self.layers.boxes(2)).T)
        return Records(tuple(self._codes(each, number, edges) for each in self.domain.attributes))

    def _codes(self, attribute: Attribute, number: int, edges: Iterator[Wholes]) -> NDArray[np.unsignedinteger]:
        kind = attribute.code_type
        if attribute.is_ordered:
            near = np.unique(next(edges))
            most = int(near[-1]) - 1 - (isinstance(attribute, Number) and attribute.keeps_missing)
            anywhere = self.rng.integers(0, most + 1, number)
            beside = self.rng.choice(near, number) + self.rng.integers(-1, 2, number)
            codes = np.clip(np.where(self.rng.random(number) < 0.5, anywhere, beside), 0, most).astype(kind)
        else:
            codes = self.rng.integers(0, attribute.most_cells or 1, number).astype(kind)
        if attribute.keeps_missing:
            codes[self.rng.random(number) < 0.2] = np.iinfo(kind).max
        return codes


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Layers of every shape, from every epsilon that cuts cells."""
    domain, base = draw(bases())
    epsilon, unit = draw(st.sampled_from(["0.05", "0.7", "1", "20"])), draw(st.sampled_from([RECORD, Unit("p", 3)]))
    seed = draw(st.integers(0, 2**32))
    limit = draw(st.sampled_from([1, 200, 1500]))
    rows = draw(st.sampled_from([300.0, 3000.0, 1e6]))
    layers = layers_on(base, laws_at(epsilon, unit), seed, rows=rows, max_cells=limit)
    return World(domain, layers, epsilon, unit, np.random.default_rng(seed))
