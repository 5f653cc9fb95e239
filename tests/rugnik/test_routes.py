"""Every route has a method, on each kind of database, and every answer becomes what its type says."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import rugnik
from app.access.keys import issue_key
from app.access.permissions import Role
from app.engines.counting import open_engine
from app.engines.sending import send_all
from app.ingest.limits import Limits
from app.settings.settings import Settings
from core.domain.domain import Domain
from core.domain.number import Number
from core.records import OutOfRange
from core.unit import RECORD
from rugnik import Client, errors
from rugnik.wire import Verification
from tests.support.service.api import ROWS
from tests.support.service.live import Live, opened_live
from tests.support.service.questions import EXAMPLES
from tests.support.service.routes import operations

BOUNDS = {"age": (0.0, 100.0), "income": (0.0, 1000.0)}


@pytest.fixture
def live(settings: Settings) -> Iterator[Live]:
    """A server on each kind of database."""
    with opened_live(settings, own_workers=False) as opened:
        yield opened


def curate(client: Client, admin: Client) -> str:
    """Stage 1 with every method it has; the id of a published release."""
    about = {"curators": "City"}
    registered = client.register_dataset("city", BOUNDS, budget="1", description="people", about=about)
    assert registered.about is not None
    assert (registered.about.curators, registered.about.region) == ("City", None)
    with pytest.raises(ValueError, match="no field colour"):
        client.register_dataset("other", BOUNDS, budget="1", about={"colour": "blue"})
    assert (registered.name, registered.budget.remaining, registered.newest) == ("city", "1", None)
    assert [(a.name, a.lower, a.upper) for a in registered.attributes] == [("age", 0, 100), ("income", 0, 1000)]
    assert admin.grant("city", "0.5", reason="more").budget.granted == "1.5"
    planned = client.plan("city", epsilon="0.5", clusters=4, guess=500)
    assert planned.grid is not None
    assert planned.grid.cells == planned.grid.cells_per_axis**2
    assert planned.predicted is not None
    assert client.plan("city", count_error=50, clusters=4, guess=500).order["epsilon"] != "0.5"
    void = client.void(client.order("city", epsilon=0.25, clusters=2, attributes=["age"]).id)
    assert (void.state, void.attributes, void.charge.epsilon) == ("void", ("age",), "0.25")
    ordered = client.order("city", epsilon="0.5", clusters=4, label="2026-Q3")
    published = client.upload(ordered.id, ROWS, media_type="text/csv")
    assert published.ingest is not None
    assert (published.state, published.ingest.rows_read) == ("published", 500)
    assert "ingest" not in client.release(ordered.id).raw
    assert client.release(ordered.id).synopsis == published.synopsis
    assert [(each.id, each.state) for each in client.releases("city")] == [(void.id, "void"), (ordered.id, "published")]
    (listed,) = client.datasets()
    assert listed == client.dataset("city")
    assert listed.newest is not None
    assert (listed.newest.id, listed.newest.label, ordered.label) == (ordered.id, "2026-Q3", "2026-Q3")
    assert listed.newest.day == listed.newest.published
    return ordered.id


def count_elsewhere(client: Client, folder: Path) -> None:
    """Stage 1 with counts in place of rows."""
    (folder / "rows.csv").write_bytes(ROWS)
    order = client.order("city", epsilon="0.1", clusters=4)
    assert client.awaited(order.id).step == "size"
    assert client.buy_size(order.id, 500).state == "counting"
    domain = Domain(tuple(Number(name, *bounds) for name, bounds in BOUNDS.items()))
    with open_engine(
        [str(folder / "rows.csv")], domain=domain, unit=RECORD, out_of_range=OutOfRange.CLIP, limits=Limits()
    ) as engine:
        assert send_all(client, order.id, engine, is_continued=True).state == "published"
    with pytest.raises(errors.ReleaseEnded):
        client.awaited(order.id)


def agree(client: Client, admin: Client, live: Live) -> None:
    """What takes two keys, with every method it has."""
    assert client.set_rule("city", "0.2").two_persons_above == "0.2"
    with pytest.raises(errors.NeedsApproval, match="rugnik approve q") as waiting:
        client.order("city", epsilon="0.3", clusters=4)
    asked = waiting.value.request
    assert (asked.kind, asked.epsilon, asked.state) == ("charge", "0.3", "waiting")
    with pytest.raises(errors.OwnRequest):
        client.approve(asked.id)
    second = issue_key(live.service, name="second", role=Role.CURATOR, datasets=None)[1]
    with Client(live.url, second) as other:
        approved = other.approve(asked.id)
        assert (approved.state, approved.content) == ("approved", asked.content)
        assert asked.release is not None
        assert client.release(asked.release).state == "ordered"
        with pytest.raises(errors.NeedsApproval) as waiting:
            client.void(asked.release)
        assert other.approve(waiting.value.request.id).kind == "void"
    with pytest.raises(errors.NeedsApproval) as waiting:
        client.set_rule("city", None)
    refused = admin.refuse(waiting.value.request.id, reason="no")
    assert (refused.state, refused.reason) == ("refused", "no")
    with pytest.raises(errors.RequestDecided) as decided:
        admin.approve(refused.id)
    assert decided.value.state == "refused"
    assert client.request(refused.id) == refused
    assert [each.kind for each in client.requests(dataset="city")] == ["charge", "void", "rule"]
    assert list(client.requests(state="waiting")) == []
    ruled = client.register_dataset("ruled", BOUNDS, budget="1", two_persons_above=0.5)
    assert ruled.two_persons_above == "0.5"
    with pytest.raises(errors.NeedsApproval):
        admin.grant("ruled", 1, reason="more")


def ask(client: Client, release: str, folder: Path) -> None:
    """Every question, and its table where it has one."""
    box = {"age": (20, 40), "income": (None, 500.0)}
    count = client.count(release, box)
    assert count.interval.low <= count.count <= count.interval.high
    assert count.epsilon_spent == "0"
    assert count.parameters["where"] == ["age:20..40", "income:..500"]
    many = client.counts(release, [box, ["age:20..40"], "income:..500"], simultaneous=True)
    assert many.counts[0] == count.count
    parts = ["noise_low", "noise_high", "noise_sd", "without_cut_cells", "with_cut_cells"]
    assert list(many.to_pandas().columns) == ["count", "low", "high", *parts]
    whole = f"{round(count.interval.low):,} to {round(count.interval.high):,} rows at level 0.95"
    assert repr(count).startswith(f"Count({whole}, about {round(count.count):,}; noise alone: ")
    snapped = client.count(release, box, snap=True)
    assert snapped.snapped is not None
    assert set(snapped.snapped) == {"age", "income"}
    assert abs(snapped.snapped["age"].low - 20) < 100
    assert (snapped.interval.low, snapped.interval.high) == (snapped.noise.low, snapped.noise.high)
    synopsis = client.synopsis(release)
    cells = synopsis.to_pandas()
    assert len(cells) == synopsis.grid.cells
    marginal = client.marginal(release, ["age"]).to_pandas()
    assert (marginal["low"] <= marginal["count"]).all()
    assert marginal["count"].tolist() == cells.groupby("age_lower")["count"].sum().tolist()
    assert client.marginal(release, ["income", "age"], counts="nonnegative").to_pandas()["count"].min() >= 0
    quantiles = client.quantiles(release, "age", [0.25, 0.5]).to_pandas()
    assert quantiles["q"].tolist() == [0.25, 0.5]
    moments = client.moments(release, level=0.9)
    assert moments.size.interval.level == 0.9
    assert moments.to_pandas()["moment"].tolist()[:3] == ["size", "mean", "variance"]
    clusters = client.clusters(release, 3)
    table = clusters.to_pandas()
    assert table["age"].tolist() == [center[0] for center in clusters.centers]
    assert table["size_low"].tolist() == [each.size.low for each in clusters.uncertainty]
    changed = dict(clusters.raw, method_reason="why", merges=[{"clusters": [0, 2], "probability": 0.25}])
    changed["uncertainty"] = [
        dict(each, noise_probability=0.5, region=each["center"]) for each in changed["uncertainty"]
    ]
    judged = type(clusters).of(changed)
    assert (judged.method_reason, judged.merges[0].clusters, judged.merges[0].probability) == ("why", (0, 2), 0.25)
    assert judged.uncertainty[0].region == judged.uncertainty[0].center
    assert judged.to_pandas()["noise_probability"].tolist() == [0.5] * 3
    assert client.scan_clusters(release, 2, 4).to_pandas()["k"].tolist() == [2, 3, 4]
    assert client.assign(release, clusters.centers, k=3).labels == (0, 1, 2)
    rows = client.rows(release, 7, seed=1)
    assert rows.to_pandas().shape == (7, 2)
    assert client.download_rows(release, folder / "rows.csv", count=7, seed=1) == (folder / "rows.csv").stat().st_size
    assert (folder / "rows.csv").read_text().count("\n") == 8
    client.download_synopsis(release, folder / "cells.parquet")
    assert (folder / "cells.parquet").read_bytes()[:4] == b"PAR1"
    assert not list(folder.glob("*.part"))


def take_card(client: Client, release: str, folder: Path) -> None:
    """The card as a value, and as a file of another form."""
    card, synopsis = client.card(release), client.release(release).synopsis
    assert card.on_record
    assert synopsis is not None
    assert card.subject[0].digest == {"sha256": synopsis.digest}
    assert card.predicate["about"]["curators"] == "City"
    client.download_card(release, folder / "card.md", format="nist")
    assert (folder / "card.md").read_text().startswith("# city, release")
    client.download_receipt(release, folder / "x.tlog-proof")
    client.download_bundle(release, folder / "x.rugnik")
    assert rugnik.open(folder / "x.rugnik").receipt == (folder / "x.tlog-proof").read_bytes()


def ask_statistics(client: Client, release: str) -> None:
    """What follows from moments and marginals, as tables."""
    fitted = client.regression(release, "income", ["age"]).to_pandas()
    assert fitted["predictor"].tolist() == ["(constant)", "age"]
    assert len(client.components(release, ["age", "income"]).to_pandas()) == 2
    shares = client.conditional(release, "income", given="age", cells=2).to_pandas()
    assert (len(shares), list(shares.columns)[-3:]) == (4, ["share", "low", "high"])
    shared = client.information(release, ("age", "income"), cells=3).to_pandas()
    assert shared["quantity"].tolist()[2:] == ["joint entropy", "mutual information"]
    assert "excess" in client.hotspots(release, ["age", "income"]).to_pandas()


def ask_by_type(client: Client, release: str) -> None:
    """Every example question through `ask` and `ask_with_body`, which need no method of the question's own."""
    for example in EXAMPLES:
        if example.body is None:
            answer = client.ask(release, example.answer, **example.parameters)
        else:
            answer = client.ask_with_body(release, example.answer, example.body)
        assert (type(answer), answer.release) == (example.answer, release)


def audit(client: Client) -> None:
    """The ledger, in every way to read it."""
    head, verified = client.ledger_head(), client.verify_ledger()
    assert (verified.valid, verified.head) == (True, head)
    page = client.ledger(dataset="city", limit=2)
    assert (len(page.entries), page.next) == (2, page.entries[-1].seq)
    assert page.to_pandas()["kind"].tolist() == ["grant", "grant"]
    assert [entry.seq for entry in client.ledger_entries()] == list(range(1, head.seq + 1))
    assert [entry.kind for entry in client.ledger_entries(kind="void")] == ["void"]
    exported = io.BytesIO()
    assert client.export_ledger(exported) == len(exported.getvalue())
    assert exported.getvalue().count(b"\n") == head.seq
    consistency = client.ledger_consistency(1)
    assert client.log_checkpoint() == consistency.checkpoint
    assert len(consistency.proof) > 0
    assert len(client.log_tile("0", "000.p/2")) == 64
    assert client.log_policy().startswith("log ")


def audit_on_record(client: Client) -> None:
    """A verification that is recorded, step by step."""
    steps: list[Verification] = []
    outcome = client.verify_ledger_on_record(steps.append)
    assert (outcome.valid, steps[-1]) == (True, outcome)


def administer(client: Client, live: Live) -> None:
    """Keys, health, and the end of a dataset."""
    issued = client.issue_key("someone", "analyst", datasets=["city"])
    assert issued.key not in repr(issued)
    assert issued.id in {key.id for key in client.keys()}  # noqa: SIM118 - not a dict
    with Client(live.url, issued.key) as analyst:
        assert [dataset.name for dataset in analyst.datasets()] == ["city"]
        client.revoke_key(issued.id)
        with pytest.raises(errors.NotAuthenticated):
            analyst.dataset("city")
    assert client.health().status == client.ready().status == "ok"
    assert "rugnik" in client.metrics()


def test_every_operation_of_the_service_has_a_method(live: Live, tmp_path: Path) -> None:
    """The whole journey through the client, each method once; together they reach every operation of the document."""
    with (
        live.client(Role.CURATOR) as curator,
        live.client(Role.ANALYST) as analyst,
        live.client(Role.AUDITOR) as auditor,
        live.client(Role.ADMIN) as admin,
    ):
        release = curate(curator, admin)
        count_elsewhere(curator, tmp_path)
        ask(analyst, release, tmp_path)
        ask_statistics(analyst, release)
        ask_by_type(analyst, release)
        take_card(analyst, release, tmp_path)
        audit(auditor)
        audit_on_record(auditor)
        administer(admin, live)
        agree(curator, admin, live)
        assert curator.close_dataset("city").state == "closed"
        with pytest.raises(errors.DatasetClosed):
            curator.order("city", epsilon="0.1", clusters=2)
    reached = {
        (method, template)
        for method, template in operations(live.app)
        for seen in live.gate.seen
        if seen[0] == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template.replace("{place}", ".+")), seen[1])
    }
    # `latest` is an address for scripts that know no client; the client has `dataset(name).newest`.
    assert reached == {route for route in operations(live.app) if "/latest" not in route[1]}
    assert live.naps == []
    assert live.keys[Role.CURATOR] not in repr(curator) + repr(vars(curator))


def test_a_thresholded_release_is_read_cell_by_cell(settings: Settings, tmp_path: Path) -> None:
    """Six attributes, a grid that is not kept whole: the listed cells are those of the service's own file."""
    names = [f"x{i}" for i in range(6)]
    rows = "".join(f"{i % 3},{i % 3 + 5},1,2,{i % 2},9\n" for i in range(2000))
    with opened_live(settings.model_copy(update={"max_cells": 1000})) as live:
        with live.client(Role.CURATOR) as curator:
            curator.register_dataset("wide", {name: (0, 10 + i) for i, name in enumerate(names)}, budget=3)
            planned = curator.plan("wide", epsilon=2, clusters=3, declared=2000)
            assert planned.threshold is not None
            order = curator.order("wide", epsilon=2, clusters=3, declared=2000).id
            published = curator.upload(order, f"{','.join(names)}\n{rows}".encode(), media_type="text/csv")
            assert published.plan.threshold == planned.threshold
        with live.client(Role.ANALYST) as analyst:
            synopsis = analyst.synopsis(order)
            analyst.download_synopsis(order, tmp_path / "cells.csv", format="csv")
            marginal = analyst.marginal(order, ["x3", "x0"])
    assert synopsis.threshold == planned.threshold
    assert synopsis.cells is not None
    assert len(synopsis.cells) < synopsis.grid.cells
    theirs = pd.read_csv(tmp_path / "cells.csv")
    pd.testing.assert_frame_equal(synopsis.to_pandas(), theirs, check_dtype=False)
    assert marginal.bounds is not None
    table = marginal.to_pandas()
    assert len(table) == synopsis.grid.cells_per_axis**2
    assert table["low"].tolist() == [low for _, _, low, _ in marginal.cells()]
    assert (table["low"] <= table["high"]).all()


def test_fields_that_a_newer_service_adds_stay_reachable(live: Live) -> None:
    """Unknown fields are in `raw`; fields that an older service does not send have a default or are named."""
    with live.client(Role.CURATOR) as curator:
        dataset = curator.register_dataset("city", BOUNDS, budget=1)
    newer = type(dataset).of({**dataset.raw, "colour": "blue"})
    assert newer.raw["colour"] == "blue"
    assert newer == dataset
    with pytest.raises(errors.UnexpectedReply, match="no field 'budget'"):
        type(dataset).of({name: value for name, value in dataset.raw.items() if name != "budget"})
    with pytest.raises(errors.UnexpectedReply, match="JSON object"):
        type(dataset).of([1])
