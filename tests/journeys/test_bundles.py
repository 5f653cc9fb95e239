"""docs/bundles.md works as printed, in a folder that has a bundle and nothing else of a service."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from app.cli import demo_data
from tests.support.bundles import bundle_with
from tests.support.documents import ROOT, as_script, bash, pages
from tests.support.service.api import Api

PAGE = "docs/bundles.md"


@pytest.fixture
def folder(sqlite_api: Api, tmp_path: Path) -> Path:
    """A folder with the bundle of a release of made-up trips."""
    sqlite_api.register("bike-trips", attributes=demo_data.SCHEMA["attributes"])
    order = sqlite_api.order("bike-trips", epsilon="1", clusters=5, size={"declared": 2000}).json()["id"]
    assert sqlite_api.upload(order, demo_data.csv(2000)).status_code == 200
    synopsis = sqlite_api.app.state.answers._load(order).synopsis
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "bike-trips.rugnik").write_bytes(bundle_with(synopsis.to_bytes()).to_bytes())
    return alone


@pytest.mark.skipif(shutil.which("unzip") is None, reason="unzip is not installed")
def test_the_commands_of_the_page_work_as_printed(folder: Path) -> None:
    """From the top of the page to its end, without a key or an address."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RUGNIK_")}
    env |= {"PATH": f"{Path(sys.prefix) / 'bin'}:{env['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "160"}
    printed = bash(as_script(pages()[PAGE]), folder, env)
    for words in ("correlation", "size between", '"epsilon_spent": "0"', "OfflineRelease(", "Quantiles(", "Count("):
        assert words in printed
    digest = printed.split()[-2]
    assert f"digest {digest[:12]}" in printed
