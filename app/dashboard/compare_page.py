"""The comparison page: what its address asks for, and the terms of two releases side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.releases.comparing import Comparison
from app.releases.reading import Release
from core.domain.attribute import Attribute

CELLS = (4, 6, 8, 12, 16, 24)  # cells on an axis that the form offers
_TWO_AXES, _ONE_AXIS = 8, 12  # where the address does not say


@dataclass(frozen=True, slots=True)
class Term:
    """One line of the terms of both releases; `differs` where they are not the same."""

    title: str
    left: str
    right: str

    @property
    def differs(self) -> bool:
        """Whether the two releases were ordered on other terms."""
        return self.left != self.right


def chosen_attributes(compared: Comparison, asked: Sequence[str]) -> tuple[Attribute, ...]:
    """One or two attributes that both releases have: those asked for, else the first two. What is none is ignored."""
    if compared.common is None:
        return ()
    common = {attribute.name: attribute for attribute in compared.common.attributes}
    names = [name for name in dict.fromkeys(asked) if name in common] or list(common)
    return tuple(common[name] for name in names[:2])


def cells_of(asked: int | None, attributes: Sequence[Attribute]) -> int:
    """The most cells on an axis: a number that the form offers."""
    if asked in CELLS:
        return asked
    return _TWO_AXES if len(attributes) > 1 else _ONE_AXIS


def facts(compared: Comparison, attributes: Sequence[Attribute], cells: int) -> dict[str, Any]:
    """What the page's script needs: the two releases, the attributes with their public bounds, the cells."""
    return {
        "sides": [{"id": release.id, "rule": release.order.rule.value} for release in compared.pair or ()],
        "attributes": [attribute.declaration() for attribute in attributes],
        "cells": cells,
    }


def terms(compared: Comparison) -> list[Term]:
    """The terms of both orders, line by line, the days and labels aside."""
    left, right = (_terms(release) for release in compared.pair or ())
    return [Term(title, left[title], right[title]) for title in left]


def _terms(release: Release) -> Mapping[str, str]:
    order = release.order
    size: Mapping[str, Any] = order.to_json()["size"]
    return {
        "Attributes": " \N{MULTIPLICATION SIGN} ".join(order.attributes),
        "Epsilon": str(order.epsilon),
        "Rule": f"{order.rule.value} with offsets" if order.offsets else order.rule.value,
        "Clusters planned for": str(order.clusters),
        "Number of rows": f"{size['declared']:,}, declared" if "declared" in size else "estimated privately",
        "Values out of bounds": "clipped" if order.out_of_range.value == "clip" else "rows dropped",
    }
