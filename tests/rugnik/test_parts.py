"""The client asks about parts and groups of a table with every kind of attribute."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import pandas as pd
import pytest

from app.access.permissions import Role
from app.main import create_app
from app.settings.settings import Settings
from rugnik import Client
from rugnik.asking import ranges
from rugnik.wire import Clusters, Count, Moments, Quantiles
from tests.support.service.api import Api, frozen_clock
from tests.support.service.live import opened_live
from tests.support.service.mixed import LABELS, ZONE, published, truth

ATTRIBUTES = ["age", "sex", "arrived"]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, str]]:
    """A client of a service, and the id of a release."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("parts") / "data", log_level="warning", max_budget="90")
    with Api(create_app(settings, frozen_clock)) as api:
        release = published(api, ATTRIBUTES, truth()).release
    with opened_live(settings) as live, live.client(Role.ANALYST) as client:
        yield client, release


def test_a_box_is_written_as_the_service_reads_it() -> None:
    """Ranges of numbers, dates and moments, open ends, one category and several."""
    box = {
        "age": (20, 40.5),
        "income": (None, 500.0),
        "arrived": (date(2026, 1, 2), None),
        "at": (datetime(2026, 1, 2, 3, 4, 5, tzinfo=ZONE), "2026-02-01T00:00:00Z"),
        "sex": ["f", "(other)"],
        "town": "Rome",
    }
    assert ranges(box) == [
        "age:20..40.5",
        "income:..500",
        "arrived:2026-01-02..",
        "at:2026-01-02T03:04:05+01:00..2026-02-01T00:00:00Z",
        "sex:f,(other)",
        "town:Rome",
    ]
    assert (ranges("age:1..2"), ranges(["age:1..2"]), ranges(())) == (["age:1..2"], ["age:1..2"], [])


def test_every_method_takes_a_part(asked: tuple[Client, str], tmp_path: Path) -> None:
    """The answer says which part it is about."""
    client, release = asked
    where = {"sex": ["f", "m"]}
    part = {"sex": "f,m"}
    assert client.moments(release, where=where).slice == part
    assert client.marginal(release, ["age"], where=where).slice == part
    assert client.quantiles(release, "age", where=where).slice == part
    assert client.clusters(release, 2, where=where).slice == part
    assert client.scan_clusters(release, 2, 3, where=where).slice == part
    assert client.rows(release, 10, where=where).slice == part
    assert client.synopsis(release, where=where).slice == part
    centers = client.clusters(release, 2, where=where).centers
    assert client.assign(release, centers, k=2, where=where).labels == (0, 1)
    assert client.assign(release, [(30, date(2026, 3, 1))], k=2, where=where).slice == part
    counts = client.counts(release, [{"age": (0, 50)}, {}], where=where)
    assert counts.counts[1] == client.count(release, where).count
    assert client.download_rows(release, tmp_path / "rows.parquet", count=10, format="parquet", where=where)
    assert client.download_synopsis(release, tmp_path / "cells.parquet", where=where)
    assert set(pd.read_parquet(tmp_path / "rows.parquet")["sex"]) <= {"f", "m"}
    assert set(pd.read_parquet(tmp_path / "cells.parquet")["sex"]) == {"f", "m"}


def test_groups_are_answers_by_value(asked: tuple[Client, str]) -> None:
    """As the type that the question has by itself."""
    client, release = asked
    counts = client.ask_by_group(release, Count, "sex").answers(Count)
    assert tuple(counts) == LABELS
    assert counts["f"].count == client.count(release, {"sex": "f"}).count
    together = client.ask_by_group(release, Moments, "sex", simultaneous=True, where={"sex": ["f", "m"]})
    assert (tuple(together.answers(Moments)), together.level_of_each) == (("f", "m"), pytest.approx(0.975))


def test_tables_have_the_types_of_their_attributes(asked: tuple[Client, str]) -> None:
    """Dates are datetime64, whole numbers with gaps are Int64, categories are text."""
    client, release = asked
    rows = client.rows(release, 500).to_pandas()
    assert (str(rows["age"].dtype), rows["arrived"].dtype.kind) == ("Int64", "M")
    assert rows["age"].isna().any()
    assert set(rows["sex"].dropna()) <= set(LABELS)
    cells = client.marginal(release, ATTRIBUTES).to_pandas()
    assert list(cells.columns)[:5] == ["age_lower", "age_upper", "sex", "arrived_lower", "arrived_upper"]
    assert (cells["age_lower"].isna().any(), cells["arrived_upper"].max()) == (True, pd.Timestamp("2027-01-01"))
    quantiles = client.ask(release, Quantiles, attribute="arrived", q=[0.5]).to_pandas()
    assert [quantiles[name].dtype.kind for name in ("q", "value", "low", "high")] == ["f", "M", "M", "M"]
    centers = client.ask(release, Clusters, k=2).to_pandas()
    assert [centers[name].dtype.kind for name in ("age", "arrived", "arrived_low")] == ["f", "M", "M"]
    assert len(client.moments(release).to_pandas()) == 7
