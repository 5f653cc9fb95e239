"""The client asks about parts and groups of a table with every kind of attribute."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import pandas as pd
import pytest

from app.access.permissions import Role
from app.cli.asking import ends
from app.main import create_app
from app.settings.settings import Settings
from rugnik import Client
from rugnik.boxes import ranges
from rugnik.shown.answers import cell_names
from rugnik.wire import Clusters, Count, Moments, Quantiles
from rugnik.wire.base import frame
from tests.support.documents import ROOT
from tests.support.service.api import Api, frozen_clock
from tests.support.service.live import Live, opened_live
from tests.support.service.mixed import LABELS, ZONE, published, truth

ATTRIBUTES = ["age", "sex", "arrived"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Live, str]]:
    """A service, and the id of a release."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("parts") / "data", log_level="warning", max_budget="90")
    with Api(create_app(settings, frozen_clock)) as api:
        release = published(api, ATTRIBUTES, truth()).release
    with opened_live(settings) as live:
        yield live, release


@pytest.fixture(scope="module")
def asked(served: tuple[Live, str]) -> Iterator[tuple[Client, str]]:
    """A client of a service, and the id of a release."""
    live, release = served
    with live.client(Role.ANALYST) as client:
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
    """Dates are datetime64, whole numbers Int64; a category whose list is known is Categorical, in its order."""
    client, release = asked
    rows = client.rows(release, 500).to_pandas()
    assert (str(rows["age"].dtype), rows["arrived"].dtype.kind) == ("Int64", "M")
    assert rows["age"].isna().any()
    assert set(rows["sex"].dropna()) <= set(LABELS)
    cells = client.marginal(release, ATTRIBUTES).to_pandas()
    assert list(cells.columns)[:5] == ["age_lower", "age_upper", "sex", "arrived_lower", "arrived_upper"]
    assert cells["sex"].cat.categories.tolist() == list(LABELS)
    assert (cells["age_lower"].isna().any(), cells["arrived_upper"].max()) == (True, pd.Timestamp("2026-12-31"))
    assert [str(cells[name].dtype) for name in ("age_lower", "age_upper")] == ["Int64", "Int64"]
    assert (cells["age_lower"].min(), cells["age_upper"].max()) == (0, 99)
    row = client.marginal(release, ["age", "arrived"]).to_pandas().iloc[3]
    days = (row["arrived_lower"].date(), row["arrived_upper"].date())
    typed = client.count(release, {"age": (int(row["age_lower"]), int(row["age_upper"])), "arrived": days})
    assert typed.discretisation.low == typed.discretisation.high == pytest.approx(row["count"])
    quantiles = client.ask(release, Quantiles, attribute="arrived", q=[0.5]).to_pandas()
    assert [quantiles[name].dtype.kind for name in ("q", "value", "low", "high")] == ["f", "M", "M", "M"]
    centers = client.ask(release, Clusters, k=2).to_pandas()
    assert [centers[name].dtype.kind for name in ("age", "arrived", "arrived_low")] == ["f", "M", "M"]
    assert len(client.moments(release).to_pandas()) == 7
    assert str(client.rows(release, 5, where={"age": (0, 99)}).to_pandas()["age"].dtype) == "Int64"
    assert frame({"at": ["2026-01-01T00:30:00Z", None]}, {"at": "datetime"})["at"].dtype == "datetime64[us, UTC]"
    assert len(client.count(release).to_pandas()) == 1


def test_a_printed_range_is_one_that_can_be_typed(asked: tuple[Client, str]) -> None:
    """Of whole numbers and dates: pasted into `where` it is the very cells, on the terminal and in a notebook."""
    client, release = asked
    for name in ("age", "arrived"):
        answer = client.marginal(release, name)
        axis = answer.attributes[0]
        boxes = [axis.side(place) for place in range(len(axis.edges) - 1)]
        typed = [f"{low}..{high}" for low, high in (ends((axis,), box) for box in boxes)]
        seen = [cell_names((axis,), box)[0] for box in boxes]
        assert [text if " … " in text else f"{text} … {text}" for text in seen] == [
            text.replace("..", " … ") for text in typed
        ]
        counts = client.counts(release, [[f"{name}:{part}"] for part in typed])
        assert counts.discretisation.low == counts.discretisation.high
        assert counts.counts == pytest.approx([count for _, count, *_ in answer.cells()][: len(boxes)])
        assert typed[-1].endswith(("..99", "..2026-12-31"))


def test_groups_are_one_table(asked: tuple[Client, str]) -> None:
    """The tables of all groups, each row with its group: a category in the public order."""
    client, release = asked
    table = client.ask_by_group(release, Count, "sex").to_pandas()
    assert table["sex"].tolist() == table["sex"].cat.categories.tolist() == list(LABELS)
    assert table["count"].sum() > 0
    moments = client.ask_by_group(release, Moments, "sex").to_pandas()
    assert len(moments) == 7 * len(LABELS)


R = """
source(commandArgs(TRUE)[1])
r <- rugnik_connect()
d <- commandArgs(TRUE)[2]
part <- list(sex = c("f", "m"))
refused <- function(asked) tryCatch(asked, rugnik_error = function(e) c(e$type, conditionMessage(e)))
answers <- list(
  count = rugnik_count(r, d, where = list(age = c(20, 40), arrived = as.Date(c("2026-02-01", NA)))),
  counts = rugnik_counts(r, d, list(list(age = c(0, 50)), list(), "age:7"), where = part),
  marginal = rugnik_marginal(r, d, c("age", "sex", "arrived")),
  quantiles = rugnik_quantiles(r, d, "arrived"),
  moments = rugnik_moments(r, d, where = part, level = 0.9),
  clusters = rugnik_clusters(r, d, 2, seed = 1),
  scan = rugnik_scan(r, d, 2, 3),
  rows = rugnik_rows(r, d, 50, seed = 1),
  synopsis = rugnik_synopsis(r, d)
)
stopifnot(
  inherits(answers$marginal$sex, "factor"), inherits(answers$rows$arrived, "Date"), is.integer(answers$rows$age),
  identical(levels(answers$marginal$sex), c("f", "m", "=x", "(other)", "(missing)")),
  identical(attr(answers$count, "rugnik")$release, d), !any(grepl(r$key, capture.output(print(r))))
)
answers$by_name <- attr(rugnik_count(r, commandArgs(TRUE)[3]), "rugnik")$release
answers$releases <- rugnik_releases(r, commandArgs(TRUE)[3])$id
answers$unknown <- refused(rugnik_count(r, "nowhere"))
answers$outside <- refused(rugnik_count(r, d, where = list(colour = c(1, 2))))
answers$key <- refused(rugnik_datasets(rugnik_connect(r$url, "wrong")))
answers$argument <- refused(rugnik_clusters(r, d, "five"))
cat(jsonlite::toJSON(answers, digits = NA, na = "null", auto_unbox = TRUE, Date = "ISO8601"))
"""


def test_the_client_for_r_gives_the_same_answers(served: tuple[Live, str], asked: tuple[Client, str]) -> None:
    """Numbers, types of columns, names of datasets, and refusals as conditions."""
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not here, so clients/r was not run: make interop")
    (live, release), (client, _) = served, asked
    dataset = client.release(release).dataset
    env = {
        "PATH": os.environ["PATH"],
        "RUGNIK_URL": live.url,
        "RUGNIK_KEY": live.keys[Role.ANALYST],
        "LC_ALL": "C.UTF-8",
    }
    file = str(ROOT / "clients" / "r" / "rugnik.R")
    words = ["Rscript", "--vanilla", "-", file, release, dataset]
    done = subprocess.run(words, input=R, check=False, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout)
    part = {"sex": ["f", "m"]}
    ours = {
        "count": client.count(release, {"age": (20, 40), "arrived": (date(2026, 2, 1), None)}),
        "counts": client.counts(release, [{"age": (0, 50)}, {}, {"age": 7}], where=part),
        "marginal": client.marginal(release, ["age", "sex", "arrived"]),
        "quantiles": client.quantiles(release, "arrived"),
        "clusters": client.clusters(release, 2, seed=1),
        "scan": client.scan_clusters(release, 2, 3),
        "rows": client.rows(release, 50, seed=1),
        "synopsis": client.synopsis(release),
    }
    for name, answer in ours.items():
        table, same = pd.DataFrame(theirs[name]), answer.to_pandas()  # type: ignore[attr-defined]
        shared = [column for column in same.columns if column in table.columns]
        assert len(shared) >= min(3, len(same.columns)), name
        for column in shared:
            expected = same[column]
            if expected.dtype.kind == "M":
                expected = expected.dt.strftime("%Y-%m-%d")
            for left, right in zip(table[column], expected, strict=True):
                assert (pd.isna(left) and pd.isna(right)) or left == right or left == pytest.approx(right), (
                    name,
                    column,
                )
    moments = client.moments(release, where=part, level=0.9)
    assert [float(row["low"]) for row in theirs["moments"] if row["of"] == "age"] == pytest.approx(
        [moments.attributes[0].mean.interval.low, moments.attributes[0].variance.interval.low]
    )
    assert (theirs["by_name"], theirs["releases"]) == (release, release)
    assert [theirs[name][0] for name in ("unknown", "outside", "key", "argument")] == [
        *("not-found", "invalid-query", "not-authenticated", "unfit-argument")
    ]
    assert theirs["key"][1].startswith("This key was refused")
