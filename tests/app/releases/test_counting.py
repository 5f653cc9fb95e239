"""Rows counted elsewhere: only counts arrive, each step is drawn once, and the promises of an upload hold."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from httpx import Response
from sqlalchemy import select, text

from app.releases import counting
from app.storage.tables import ledger
from core.counting import Drawn, Step, Tally, Target
from core.ledger.kinds import STEPS
from core.randomness import NoiseSource
from core.unit import Unit
from tests.support.service.api import ROWS, Api
from tests.support.service.counting import COUNTS, awaited, awaited_target, body_of, city_rows, tallied

SEVEN = [{"name": f"x{i}", "lower": 0, "upper": 8} for i in range(7)]
ADAPTIVE = {"rule": "adaptive", "epsilon": "8", "clusters": 2}


def send(api: Api, release: str, body: bytes) -> Response:
    """PUT …/counts."""
    return api.curator("PUT", f"/v1/releases/{release}/counts", content=body, headers=COUNTS)


def next_step(api: Api, release: str, rows: np.ndarray[Any, Any]) -> Response:
    """Count and send what the release waits for."""
    target = awaited_target(api, release)
    tally = tallied(target, rows)
    if target.step is Step.SIZE:
        return api.curator("POST", f"/v1/releases/{release}/size", json={"rows": tally.total})
    return send(api, release, body_of(release, target, tally))


def kinds(api: Api) -> list[str]:
    """The entries about releases, by kind and step."""
    entries = api.curator("GET", "/v1/ledger").json()["entries"]
    return [
        " ".join([entry["kind"], *([entry["detail"]["step"]] if "step" in entry["detail"] else [])])
        for entry in entries
    ]


def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise: what arrives is what is released."""
    zeros: Any = lambda _law, number, _noise: np.zeros(number, dtype=np.int64)  # noqa: E731
    for module in ("core.release", "core.adaptive.release"):
        monkeypatch.setattr(f"{module}.draw_noise", zeros)


@pytest.mark.parametrize("size", [{"declared": 500}, {"estimate": "0.05"}], ids=["declared", "bought"])
@pytest.mark.parametrize("terms", [{}, ADAPTIVE], ids=["rugnik", "adaptive"])
def test_counts_sent_give_the_synopsis_of_the_rows_uploaded(
    api: Api, size: dict[str, Any], terms: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without noise both ways store the same bytes, but for the release's id; the steps are those of the order."""
    api.register(budget="20")
    quiet(monkeypatch)
    uploaded, counted = (api.order(size=size, **terms).json()["id"] for _ in range(2))
    assert api.upload(uploaded).status_code == 200
    steps = []
    while api.curator("GET", f"/v1/releases/{counted}").json()["state"] != "published":
        steps.append(awaited(api, counted).step)
        assert next_step(api, counted, city_rows()).status_code == 200
    assert steps == [*(["size"] if "estimate" in size else []), *(["base", "coarse", "leaves"] if terms else ["cells"])]
    synopses = [api.analyst("GET", f"/v1/releases/{each}/synopsis").json() for each in (uploaded, counted)]
    for each in synopses:
        del each["release"], each["synopsis_digest"]
    assert synopses[0] == synopses[1]
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"]
    with api.service.database.read_only() as tx:
        assert tx.execute(text("SELECT count(*) FROM layers")).scalar_one() == 0


def test_offsets_of_many_attributes_arrive_with_the_counts(sqlite_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thresholded release with sums: the same bytes as an upload where all noise is zero."""
    api = sqlite_api
    api.register(attributes=SEVEN, budget="20")
    quiet(monkeypatch)
    vectors: Any = lambda law, number, _noise: np.zeros((number, law.dimensions), dtype=np.int64)  # noqa: E731
    monkeypatch.setattr("core.release.draw_vectors", vectors)
    above: Any = lambda c, n, *, threshold, **_: (c[n >= threshold], n[n >= threshold])  # noqa: E731
    monkeypatch.setattr("core.release.survivors", above)
    rows = np.repeat(np.random.default_rng(1).uniform(0, 8, (4, 7)), 100, axis=0)
    uploaded, counted = (api.order(size={"declared": 400}).json()["id"] for _ in range(2))
    text_rows = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    csv = ",".join(each["name"] for each in SEVEN) + "\n" + text_rows + "\n"
    assert api.upload(uploaded, csv.encode()).status_code == 200
    assert next_step(api, counted, rows).json()["state"] == "published"
    first, second = (api.analyst("GET", f"/v1/releases/{each}/synopsis").json() for each in (uploaded, counted))
    assert first["offsets"] is not None
    assert {k: v for k, v in first.items() if k not in {"release", "synopsis_digest"}} == {
        k: v for k, v in second.items() if k not in {"release", "synopsis_digest"}
    }


def test_every_draw_is_on_record_before_its_noise(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each step: first `draw`, then noise, then `step` or `publish`."""
    api.register(budget="20")
    release = api.order(size={"estimate": "0.05"}, **ADAPTIVE).json()["id"]
    seen: list[str] = []
    real = NoiseSource.read

    def asked(self: NoiseSource, number: int) -> bytes:
        with api.service.database.read_only() as tx:
            query = select(ledger.c.kind).where(ledger.c.release == release).order_by(ledger.c.seq.desc()).limit(1)
            seen.append(tx.execute(query).scalar_one())
        return real(self, number)

    monkeypatch.setattr(NoiseSource, "read", asked)
    while next_step(api, release, city_rows()).json()["state"] != "published":
        assert api.curator("GET", f"/v1/releases/{release}").json()["state"] == "counting"
    assert set(seen) == {"draw"}
    taken = kinds(api)
    pairs = [f"{kind} {step}" for step in ("size", "base", "coarse") for kind in ("draw", "step")]
    assert taken == ["grant", "charge", *(each for each in pairs if each in taken), "draw leaves", "publish"]


def test_a_bought_size_is_drawn_once(api: Api) -> None:
    """Asked again, with any number, the release tells the same size; the grid is planned from it, rows or counts."""
    api.register(budget="20")
    release = api.order(size={"estimate": "0.05"}).json()["id"]
    first = api.curator("POST", f"/v1/releases/{release}/size", json={"rows": 500}).json()
    again = api.curator("POST", f"/v1/releases/{release}/size", json={"rows": 10**9}).json()
    assert first == again
    assert (first["state"], kinds(api)) == ("counting", ["grant", "charge", "draw size", "step size"])
    published = api.upload(release).json()
    assert (published["state"], published["plan"]["size"]) == ("published", first["plan"]["size"])
    assert published["plan"]["grid"] == first["plan"]["grid"]
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"]


def test_the_page_of_a_release_between_two_steps_says_what_is_awaited(sqlite_api: Api) -> None:
    """It is neither published nor lost, and the page has the command that goes on with it."""
    api = sqlite_api
    api.register(budget="20")
    release = api.order(size={"estimate": "0.05"}).json()["id"]
    api.curator("POST", f"/v1/releases/{release}/size", json={"rows": 500})
    shown = api.curator("GET", f"/releases/{release}").text
    assert "the counts of the next step are awaited" in shown
    assert f"rugnik release … --order {release}" in shown
    assert "Published" not in shown


def test_an_upload_that_began_before_the_size_was_bought_draws_nothing(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would draw a second size for the same charge."""
    api.register(budget="20")
    release = api.order(size={"estimate": "0.05"}).json()["id"]
    real = counting.record_draw

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.setattr("app.releases.uploading.record_draw", real)
        assert api.service is arguments[0]
        with ThreadPoolExecutor(1) as other:
            path = f"/v1/releases/{release}/size"
            assert other.submit(api.curator, "POST", path, json={"rows": 500}).result().status_code == 200
        return real(*arguments)

    monkeypatch.setattr("app.releases.uploading.record_draw", overtaken)
    refused = api.upload(release)
    assert (refused.status_code, refused.json()["state"]) == (409, "counting")
    assert kinds(api) == ["grant", "charge", "draw size", "step size"]


def test_of_many_requests_for_one_step_exactly_one_draws(api: Api) -> None:
    """Twelve at once send the same counts: one is taken, all others are told where the release stands."""
    api.register(budget="20")
    release = api.order().json()["id"]
    target = awaited_target(api, release)
    body = body_of(release, target, tallied(target, city_rows()))
    barrier = threading.Barrier(12)

    def race(_: int) -> int:
        barrier.wait()
        return send(api, release, body).status_code

    with ThreadPoolExecutor(12) as pool:
        statuses = sorted(pool.map(race, range(12)))
    assert statuses.count(200) == 1
    assert set(statuses) <= {200, 409, 503}
    assert kinds(api) == ["grant", "charge", "draw cells", "publish"]


def test_what_a_release_does_not_wait_for_is_refused_and_draws_nothing(sqlite_api: Api) -> None:
    """Another step, release or unit; cells out of order or off the grid; empty cells; too many columns; not Arrow."""
    api = sqlite_api
    api.register(budget="20")
    release = api.order().json()["id"]
    target = awaited_target(api, release)
    good = tallied(target, city_rows())

    def refused(body: bytes, *words: str) -> None:
        reply = send(api, release, body)
        assert reply.status_code in {409, 422}, reply.text
        assert all(word in reply.json()["detail"] for word in words), reply.text

    refused(body_of("r0123456789abcdef", target, good), "another release")
    refused(body_of(release, target, good, Unit("patient", 3)), "privacy unit")
    refused(body_of(release, Target(Step.BASE, target.order, target.plan), good), "another step", "GET …/counts")
    refused(body_of(release, target, Tally(good.cells[::-1], good.numbers)), "Cells are numbered")
    for cells in (good.cells.copy(), good.cells.copy()):
        cells[1] = cells[0]
        refused(body_of(release, target, Tally(cells, good.numbers)), "listed once")
    refused(body_of(release, target, Tally(good.cells + target.cell_count, good.numbers)), "numbered from 0")
    refused(body_of(release, target, Tally(good.cells, good.numbers - good.numbers.min())), "at least one record")
    refused(body_of(release, target, Tally(good.cells, np.full_like(good.numbers, 2**62))), "at most")
    refused(body_of(release, target, Tally(good.cells, good.numbers, np.ones((len(good.cells), 2), dtype=np.int64))))
    refused(b"", "stream of counts")
    refused(
        b"PAR1 nothing of the kind",
    )
    damaged = body_of(release, target, good)
    refused(damaged[: len(damaged) // 2])
    assert (
        api.curator(
            "PUT", f"/v1/releases/{release}/counts", content=b"", headers={"Content-Type": "text/csv"}
        ).status_code
        == 415
    )
    assert api.curator("POST", f"/v1/releases/{release}/size", json={"rows": 5}).status_code == 422
    assert api.analyst("PUT", f"/v1/releases/{release}/counts", content=b"", headers=COUNTS).status_code == 403
    assert kinds(api) == ["grant", "charge"]
    assert send(api, release, body_of(release, target, good)).json()["state"] == "published"


def test_counts_that_overflow_64_bits_are_refused_and_draw_nothing(sqlite_api: Api) -> None:
    """Cells whose differences wrap to numbers above zero, and a sum whose absolute value is below zero."""
    api = sqlite_api
    api.register()
    api.register("wide", "20", SEVEN)
    order, wide = (str(api.order(name).json()["id"]) for name in ("city", "wide"))
    least, most = -(2**63), 2**63 - 1
    cells, ones = np.array([0, most, least, -1, 1]), np.ones(5, dtype=np.int64)
    reply = send(api, order, body_of(order, awaited_target(api, order), Tally(cells, ones)))
    assert (reply.status_code, "listed once" in reply.text) == (422, True), reply.text
    sums = np.full((1, 7), least)
    reply = send(api, wide, body_of(wide, awaited_target(api, wide), Tally(cells[:1], ones[:1], sums)))
    assert (reply.status_code, "sum of offsets" in reply.text) == (422, True), reply.text
    assert kinds(api) == ["grant", "grant", "charge", "charge"]


def test_after_a_step_nothing_is_voided_and_a_closed_dataset_takes_no_more(sqlite_api: Api) -> None:
    """The charge is spent with the first step; the next one is refused like any upload to a closed dataset."""
    api = sqlite_api
    api.register(budget="20")
    release = api.order(size={"estimate": "0.05"}).json()["id"]
    assert next_step(api, release, city_rows()).status_code == 200
    assert api.curator("DELETE", f"/v1/releases/{release}").status_code == 409
    assert api.budget()["spent"] == "0.5"
    target = awaited_target(api, release)
    body = body_of(release, target, tallied(target, city_rows()))
    assert api.curator("POST", "/v1/datasets/city/close").status_code == 200
    assert send(api, release, body).status_code == 409
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"]


@pytest.mark.parametrize("damage", ["UPDATE layers SET body = x'00'", "DELETE FROM layers"])
def test_stored_layers_that_were_edited_are_not_built_upon(sqlite_api: Api, damage: str) -> None:
    """The ledger has their digest."""
    api = sqlite_api
    api.register(budget="20")
    release = api.order(**ADAPTIVE).json()["id"]
    assert next_step(api, release, city_rows()).json()["state"] == "counting"
    with api.service.database.transaction() as tx:
        tx.execute(text(damage))
    refused = api.curator("GET", f"/v1/releases/{release}/counts")
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:rugnik:problem:corrupt-synopsis")


def test_one_row_more_changes_one_count_of_each_step(sqlite_api: Api) -> None:
    """Neighbours: given what was drawn before, tallies differ by one in one cell, and targets not at all."""
    api = sqlite_api
    api.register(budget="20")
    release = api.order(**ADAPTIVE).json()["id"]
    rows = city_rows()
    more = np.vstack([rows, [[31, 7]]])
    while True:
        target = awaited_target(api, release)
        pair = [target.dense(tallied(target, each)) for each in (rows, more)]
        assert np.abs(pair[1] - pair[0]).sum() == 1
        if next_step(api, release, rows).json()["state"] == "published":
            break


def test_ledger_and_counting_name_the_same_steps() -> None:
    """The books rule which step may follow which, by the names that are counted by."""
    assert set(STEPS) == set(Step)
    assert {step for step, place in STEPS.items() if place == max(STEPS.values())} == {s for s in Step if s.is_last}


def test_rows_of_the_support_are_those_of_the_array() -> None:
    """What is uploaded and what is counted here are the same rows."""
    assert [list(map(int, line.split(b","))) for line in ROWS.split()[1:]] == city_rows().tolist()


@pytest.mark.parametrize("terms", [{}, ADAPTIVE], ids=["size", "layers"])
def test_a_synopsis_that_is_not_built_on_its_steps_does_not_verify(
    sqlite_api: Api, terms: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A size or a layer that was drawn again for the same charge would show to every auditor."""
    api = sqlite_api
    api.register(budget="20")
    release = api.order(size={"declared": 500} if terms else {"estimate": "0.05"}, **terms).json()["id"]
    assert next_step(api, release, city_rows()).json()["state"] == "counting"
    real = counting._drawn

    def drawn_again(*arguments: Any) -> Drawn:
        drawn = real(*arguments)
        coarse = None if drawn.coarse is None else drawn.coarse + 1
        return Drawn(size=None if terms else 700, base=drawn.base, coarse=coarse)

    monkeypatch.setattr(counting, "_drawn", drawn_again)
    while next_step(api, release, city_rows()).json()["state"] != "published":
        pass
    verdict = api.auditor("GET", "/v1/ledger/verify").json()
    assert not verdict["valid"]
    assert "another bought size, or other noisy layers" in verdict["reason"]
