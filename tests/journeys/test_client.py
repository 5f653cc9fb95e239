"""Curator, analyst and auditor through the real client, against `rugnik serve` on a migrated database of each kind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from app.cli import demo_data
from app.settings.settings import Settings
from rugnik import Client, errors
from tests.support.processes.server import Server

BOUNDS = {"x": (0, 10), "y": (0, 10), "hour": (0, 24)}


def test_three_people_use_the_service(settings: Settings, serve: Callable[..., Server], tmp_path: Path) -> None:
    """From a key to a verified ledger: what was published is what is asked, and budget and ledger agree."""
    server = serve(settings)
    with Client(server.url, server.admin_key) as admin:
        keys = {role: admin.issue_key(role, role, datasets=None).key for role in ("curator", "analyst", "auditor")}
        rows = demo_data.csv(3000)
    with Client(server.url, keys["curator"]) as curator, ThreadPoolExecutor(4) as pool:
        curator.register_dataset("trips", BOUNDS, budget="1")
        # Orders race for what is left: four fit, and the others are told what remains.
        orders = [pool.submit(curator.order, "trips", epsilon="0.25", clusters=5) for _ in range(6)]
        short = [order.exception() for order in orders if order.exception()]
        assert [type(error) for error in short] == [errors.InsufficientBudget] * 2
        release, *others = [order.result().id for order in orders if not order.exception()]
        assert [curator.void(other).state for other in others] == ["void"] * 3
        published = curator.upload(release, rows, media_type="text/csv", gzip=True)
        assert published.ingest is not None
        assert published.ingest.rows_read == 3000
        assert curator.dataset("trips").budget.remaining == "0.75"
    with Client(server.url, keys["analyst"]) as analyst:
        newest = analyst.dataset("trips").newest
        assert newest is not None
        assert newest.synopsis == published.synopsis
        table = analyst.clusters(newest.id, k=4).to_pandas()
        assert isinstance(table, pd.DataFrame)
        moments = analyst.moments(newest.id, level=0.999999)
        assert moments.size.interval.low <= 3000 <= moments.size.interval.high
        with pytest.raises(errors.NotAllowed):
            analyst.ledger_head()
    with Client(server.url, keys["auditor"]) as auditor:
        assert auditor.verify_ledger().valid
        kinds = [entry.kind for entry in auditor.ledger_entries(dataset="trips")]
        assert sorted(kinds) == sorted(["grant", *["charge"] * 4, *["void"] * 3, "draw", "publish"])
        auditor.export_ledger(tmp_path / "ledger.ndjson")
        head = auditor.ledger_head()
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "ledger", "verify", str(tmp_path / "ledger.ndjson"), "--head", head.hash],
        env={name: value for name, value in os.environ.items() if not name.startswith("RUGNIK_")},
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.split()[-1]) == (0, head.hash + ".")
