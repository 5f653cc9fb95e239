"""Table I and Table III of the paper, digit for digit, from the rules in core.plan."""

from __future__ import annotations

import json
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any

import pytest

from core.rule import cells_per_axis, epsilon_range, eugkm_cells_per_axis

PLACES = Decimal("0.001")
# Decimals, so that a printed figure is compared with its digits and not with the nearest double.
TABLES = json.loads(Path(__file__).with_name("tables.json").read_text("utf-8"), parse_float=Decimal)
EPSILON_RANGES: list[dict[str, Any]] = TABLES["eps0_eps1"]
RUGNIK: list[dict[str, Any]] = [entry for entry in TABLES["grids"] if entry["method"] == "RUGNIK"]
EUGKM: list[dict[str, Any]] = [entry for entry in TABLES["grids"] if entry["method"] == "EUGkM"]


def setting(entry: dict[str, Any]) -> str:
    return "-".join(f"{name}{entry[name]}" for name in ("K", "N", "d", "eps") if name in entry)


def test_the_tables_are_complete() -> None:
    """18 settings in Table I and 108 grids a rule in Table III: nothing below passes for want of entries."""
    assert len({setting(entry) for entry in EPSILON_RANGES}) == len(EPSILON_RANGES) == 18
    for entries in (RUGNIK, EUGKM):
        assert len({setting(entry) for entry in entries}) == len(entries) == 108


@pytest.mark.parametrize("entry", EPSILON_RANGES, ids=setting)
def test_the_range_of_epsilon_is_the_printed_one(entry: dict[str, Any]) -> None:
    """Table I prints eps0 rounded up and eps1 rounded down, so that the printed range lies inside Theorem 2's."""
    eps0, eps1 = (Decimal(bound) for bound in epsilon_range(N=entry["N"], K=entry["K"], d=entry["d"]))
    printed = entry["eps0"], entry["eps1"]
    assert (eps0.quantize(PLACES, ROUND_CEILING), eps1.quantize(PLACES, ROUND_FLOOR)) == printed


@pytest.mark.parametrize("entry", RUGNIK, ids=setting)
def test_the_rugnik_grid_is_the_printed_one(entry: dict[str, Any]) -> None:
    """Table III: M = m^d for the whole number m that minimises h."""
    m = cells_per_axis(N=entry["N"], epsilon=float(entry["eps"]), K=entry["K"], d=entry["d"])
    assert m ** entry["d"] == entry["M"]


@pytest.mark.parametrize("entry", EUGKM, ids=setting)
def test_the_eugkm_grid_is_the_printed_one(entry: dict[str, Any]) -> None:
    """Table III: M = m^d by Eq. (3), starred where that leaves fewer cells than clusters."""
    m = eugkm_cells_per_axis(N=entry["N"], epsilon=float(entry["eps"]), d=entry["d"])
    assert m ** entry["d"] == entry["M"]
    assert (entry["M"] < entry["K"]) == entry["star"]
