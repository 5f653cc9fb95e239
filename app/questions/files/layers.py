"""The layers of an adaptive release as columns of files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.questions.files.columns import Mask, label_column, value_column
from core.adaptive.listing import Listing
from core.domain.attribute import Ordered
from core.domain.category import Category
from core.domain.domain import Domain

Columns = list[tuple[str, pa.Array]]


def layer_columns(listing: Listing, domain: Domain, rows: slice, *, csv: bool) -> tuple[Columns, Columns]:
    """Some cells of a layer: the columns of their boxes, and those of their counts and estimates."""
    own: Columns = []
    ordered = 0
    for x, attribute in enumerate(domain.attributes):
        if isinstance(attribute, Category):
            own.append((attribute.name, label_column(attribute, listing.places[rows, x], None, csv=csv)))
            continue
        assert isinstance(attribute, Ordered)  # noqa: S101 - every kind but category is
        low, high = listing.low[ordered][rows], listing.high[ordered][rows]
        missing = (low >= high) if attribute.keeps_missing else None
        for end, codes in (("lower", low), ("upper", high)):
            own.append((f"{attribute.name}_{end}", _ends(attribute, codes, missing, csv=csv)))
        ordered += 1
    return own, _counted(listing, rows)


def _ends(attribute: Ordered, codes: NDArray[Any], missing: Mask, *, csv: bool) -> pa.Array:
    """Ends of cells, typed as in other files. Each text is written once: many cells share an edge."""
    if not attribute.is_text:
        return value_column(attribute, attribute.values_at(codes), missing, csv=csv)
    different, places = np.unique(codes, return_inverse=True)
    texts = value_column(attribute, attribute.values_at(different), None, csv=csv)
    return texts.take(pa.array(places, mask=missing))


def _counted(listing: Listing, rows: slice) -> Columns:
    counts, fused = listing.counts[rows], listing.fused
    gaps = pa.nulls(len(counts), pa.float64())
    columns = [
        ("layer", pa.array([listing.layer] * len(counts), type=pa.string())),
        ("count", pa.array(counts)),
        ("noise_sd", pa.array(listing.noise_sd[rows])),
        ("estimate", gaps if fused is None else pa.array(fused.estimates[rows])),
        ("sd", gaps if fused is None else pa.array(fused.deviations[rows])),
    ]
    return columns if listing.shares is None else [*columns, ("share", pa.array(listing.shares[rows]))]
