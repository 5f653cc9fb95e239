"""The layers of an adaptive release as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from app.questions.encoding import listed
from core.adaptive.listing import Listing
from core.arrays import Wholes
from core.domain.attribute import Ordered
from core.domain.category import Category
from core.domain.domain import Domain
from rugnik import wire


def layers_reply(listings: Sequence[Listing], domain: Domain, *, alpha: float) -> wire.Layers:
    """Every edge once, and the cells by the numbers of their edges."""
    edges: list[Any] = []
    lower: list[list[Wholes]] = [[] for _ in listings]
    upper: list[list[Wholes]] = [[] for _ in listings]
    ordered = 0
    for x, attribute in enumerate(domain.attributes):
        if isinstance(attribute, Category):
            edges.append(())
            for each, low, high in zip(listings, lower, upper, strict=True):
                low.append(np.ascontiguousarray(each.places[:, x]))
                high.append(low[-1] + 1)
            continue
        assert isinstance(attribute, Ordered)  # noqa: S101 - every kind but category is
        codes = np.unique(np.concatenate([ends[ordered] for each in listings for ends in (each.low, each.high)]))
        edges.append(listed(attribute.written(attribute.values_at(codes))))
        for each, low, high in zip(listings, lower, upper, strict=True):
            low.append(np.searchsorted(codes, each.low[ordered]))
            high.append(np.searchsorted(codes, each.high[ordered]))
            high[-1][low[-1] == high[-1]] = len(codes)  # missing values
        ordered += 1
    named = {each.layer: _cells(each, low, high, alpha) for each, low, high in zip(listings, lower, upper, strict=True)}
    return wire.Layers(edges=tuple(edges), leaf=named["leaf"], base=named.get("base"), coarse=named.get("coarse"))


def _cells(each: Listing, lower: list[Wholes], upper: list[Wholes], alpha: float) -> wire.LayerCells:
    fused = each.fused
    return wire.LayerCells(
        lower=tuple(map(listed, lower)),
        upper=tuple(map(listed, upper)),
        counts=listed(each.counts),
        noise_sd=listed(each.noise_sd),
        estimates=None if fused is None else listed(fused.estimates),
        sd=None if fused is None else listed(fused.deviations),
        reach=None if fused is None else listed(fused.reach(alpha=alpha)),
        shares=listed(each.shares),
        summed=listed(each.summed),
    )
