"""Stage 2 over HTTP: every question with its error, for no epsilon, the same for ever."""

from __future__ import annotations

import csv
import hmac
import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sqlalchemy import text

from app.access.keys import issue_key
from app.access.permissions import Role
from app.answers.long_answers import LongAnswers
from app.questions import clusters
from app.questions.question import Published
from core.clustering.methods import Method
from tests.support.service.api import ATTRIBUTES, Api
from tests.support.service.questions import GETS

QUESTIONS = [example.address for example in GETS]


class Desk:
    """One published release and an analyst who asks."""

    def __init__(self, api: Api) -> None:
        self.api = api
        api.register()
        self.release = api.published(epsilon="1")

    def get(self, question: str, **options: Any) -> Any:
        """One question."""
        return self.api.analyst("GET", f"/v1/releases/{self.release}/{question}", **options)

    def post(self, question: str, body: Any) -> Any:
        """One workload."""
        return self.api.analyst("POST", f"/v1/releases/{self.release}/{question}", json=body)


@pytest.fixture
def desk(api: Api) -> Desk:
    """A release to ask, on each kind of database."""
    return Desk(api)


@pytest.fixture
def sqlite_desk(sqlite_api: Api) -> Desk:
    """A release to ask, on SQLite."""
    return Desk(sqlite_api)


@pytest.fixture
def ledger_text(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check that a test leaves the ledger byte for byte as it was once there was something to ask."""
    api: Api = request.getfixturevalue("desk").api
    before = api.auditor("GET", "/v1/ledger/export").content
    yield
    assert api.auditor("GET", "/v1/ledger/export").content == before


@pytest.mark.usefixtures("ledger_text")
def test_every_question_is_answered_for_nothing(desk: Desk) -> None:
    """Each answer names its release, its synopsis and its parameters, and says that it spent nothing."""
    digest = desk.api.analyst("GET", f"/v1/releases/{desk.release}").json()["synopsis"]["digest"]
    for question in QUESTIONS:
        answer = desk.get(question)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert (body["release"], body["synopsis_digest"]) == (desk.release, digest)
        assert (body["epsilon_spent"], body["question"]) == ("0", question.partition("?")[0].rpartition("/")[2])
        assert "parameters" in body


@pytest.mark.usefixtures("ledger_text")
def test_ten_thousand_mixed_questions_do_not_move_the_ledger(desk: Desk) -> None:
    """Counts by the thousand and every other question again and again: the ledger stays byte for byte as it was."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        lows = rng.uniform(0, 50, 980)
        boxes = [[f"age:{low}..{low + 20}"] for low in lows.tolist()]
        assert len(desk.post("counts", {"boxes": boxes}).json()["counts"]) == 980
    for number in range(200):
        question = QUESTIONS[number % len(QUESTIONS)]
        joint = "&" if "?" in question else "?"
        name = "seed" if "clusters" in question else "level"
        value = number % 5 if name == "seed" else 0.5 + number / 1000
        asked = question if "level=" in question or "rows" in question else f"{question}{joint}{name}={value}"
        assert desk.get(asked).status_code == 200


def test_an_answer_is_cached_for_ever(sqlite_desk: Desk) -> None:
    """A strong ETag, immutable and private; a client that has the answer gets 304 and no body."""
    for question in [*QUESTIONS, "synopsis?format=csv", "rows?count=5&format=parquet"]:
        answer = sqlite_desk.get(question)
        etag = answer.headers["etag"]
        assert etag.startswith('"')
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        assert answer.headers["vary"] == "Accept, Authorization, Cookie"
        again = sqlite_desk.get(question, headers={"If-None-Match": f'"other", {etag}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        assert sqlite_desk.get(question).content == answer.content


def test_different_questions_have_different_names(sqlite_desk: Desk) -> None:
    """The ETag depends on every parameter, on the form and on the release."""
    asked = ["count", "count?level=0.9", "count?where=age:1..2", "clusters?k=2", "clusters?k=2&seed=1"]
    asked += ["synopsis", "synopsis?format=csv", "synopsis?format=arrow"]
    etags = [sqlite_desk.get(question).headers["etag"] for question in asked]
    assert len(set(etags)) == len(asked)


def test_a_costly_answer_is_worked_out_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ask at the same time, and again after the memory of the process is gone."""
    calls: list[int] = []
    work_out = LongAnswers.work_out

    def counted(*args: Any) -> bytes:
        calls.append(1)
        return work_out(*args)

    monkeypatch.setattr(LongAnswers, "work_out", counted)
    with ThreadPoolExecutor(8) as pool:
        bodies = {answer.content for answer in pool.map(lambda _: desk.get("clusters?k=5"), range(8))}
    desk.api.forget_answers()
    bodies.add(desk.get("clusters?k=5").content)
    assert (len(bodies), len(calls)) == (1, 1)


def test_the_first_stored_answer_wins(desk: Desk) -> None:
    """What one worker stored, every worker serves, even if it would have worked out other bytes."""
    desk.get("clusters?k=4")
    body = b'{"first":"stored"}'
    with desk.api.service.database.transaction() as tx:
        key = tx.execute(text("SELECT key FROM answers")).scalar_one()
        mac = hmac.new(desk.api.service.secret, b"answer %s " % key.encode() + body, sha256).hexdigest()
        tx.execute(text("UPDATE answers SET body = :body, mac = :mac"), {"body": body, "mac": mac})
    desk.api.forget_answers()
    assert desk.get("clusters?k=4").json() == {"first": "stored"}
    digest = desk.api.analyst("GET", f"/v1/releases/{desk.release}").json()["synopsis"]["digest"]
    key = clusters.clusters(4, 0.95, 0, Method.POSTERIOR).key(Published(desk.release, "city", digest))
    assert desk.get("clusters?k=4").headers["etag"] == f'"{key}"'


def test_a_release_that_is_not_published_or_not_yours_does_not_exist(sqlite_desk: Desk) -> None:
    """404 and not 403, for curators too, and for keys that are limited to other datasets."""
    api = sqlite_desk.api
    ordered = api.order().json()["id"]
    other = issue_key(api.service, name="o", role=Role.ANALYST, datasets=frozenset({"other"}))[1]
    for question in QUESTIONS:
        assert api.curator("GET", f"/v1/releases/{ordered}/{question}").status_code == 404
        assert api.analyst("GET", f"/v1/releases/nothing/{question}").status_code == 404
        assert api.call_with(other, "GET", f"/v1/releases/{sqlite_desk.release}/{question}").status_code == 404
        assert sqlite_desk.get(question).status_code == 200
        assert api.call_with(other, "GET", f"/v1/releases/{sqlite_desk.release}/{question}").status_code == 404


BAD = {
    "count?where=height:1..2": 422,
    "count?where=age:3..2": 422,
    "count?where=age:9..9": 422,
    "count?where=age:100.5..200": 422,
    "count?where=age:..0": 422,
    "count?where=age:1..3&where=age:3..5": 422,
    "count?snap=perhaps": 422,
    "count?where=age": 422,
    "count?where=age:1..nan": 422,
    "count?level=1": 422,
    "count?level=0": 422,
    "count?level=nan": 422,
    "count?level=0.9999991": 422,
    "moments?level=0.9999999999999999": 422,
    "clusters?k=0": 422,
    "clusters?k=-1": 422,
    "clusters?k=100000": 422,
    "clusters": 422,
    "clusters/scan?k=5..2": 422,
    "clusters/scan?k=1..1000": 422,
    "rows?count=1000000000": 422,
    "rows?count=0": 422,
    "quantiles?attribute=age&q=1.5": 422,
    "quantiles?attribute=height&q=0.5": 422,
    "quantiles?attribute=age&q=nan": 422,
    "marginal?attributes=age,age": 422,
    "marginal?attributes=": 422,
    "marginal?attributes=age&counts=pretty": 422,
    "synopsis?format=xlsx": 406,
    "rows?format=arrow": 406,
}


@pytest.mark.parametrize("question", BAD)
def test_a_bad_question_gets_a_clear_problem(sqlite_desk: Desk, question: str) -> None:
    """A 4xx problem with a sentence, never a 5xx."""
    answer = sqlite_desk.get(question)
    assert (answer.status_code, answer.headers["content-type"]) == (BAD[question], "application/problem+json")
    assert answer.json()["detail"]


@pytest.mark.parametrize("level", ["1", "0", "0.9999991", "0.9999999999999999", "nan", "inf"])
def test_a_level_that_cannot_be_held_is_refused_in_one_sentence(sqlite_desk: Desk, level: str) -> None:
    """The same for every question that takes a level, in the address or in a body."""
    sentence = "A level lies above 0 and is at most 0.999999."
    for question in ("count?", "marginal?attributes=age&", "quantiles?attribute=age&q=0.5&", "moments?", "synopsis?"):
        refused = sqlite_desk.get(f"{question}level={level}")
        assert (refused.status_code, refused.json()["detail"]) == (422, f"'level': {sentence}")
    if level not in {"nan", "inf"}:
        refused = sqlite_desk.post("counts", {"boxes": [[]], "level": float(level)})
        assert (refused.status_code, refused.json()["detail"]) == (422, f"'level': {sentence}")


@pytest.mark.parametrize("level", ["5e-324", "1e-300", "0.5", "0.999999"])
def test_every_level_that_is_taken_is_answered(sqlite_desk: Desk, level: str) -> None:
    """From the least to the surest."""
    for question in QUESTIONS:
        if "rows" not in question and "scan" not in question and "level" not in question:
            joined = f"{question}{'&' if '?' in question else '?'}level={level}"
            assert sqlite_desk.get(joined).status_code == 200, joined
    boxes = {"boxes": [[], ["age:20..40"]], "level": float(level), "simultaneous": True}
    assert sqlite_desk.post("counts", boxes).status_code == 200


def test_a_form_that_is_not_offered_is_refused(sqlite_desk: Desk) -> None:
    """Accept is honoured: 406 where nothing fits, the best fit otherwise."""
    assert sqlite_desk.get("count", headers={"Accept": "text/html"}).status_code == 406
    assert sqlite_desk.get("count", headers={"Accept": "text/html, */*;q=0.1"}).status_code == 200
    chosen = sqlite_desk.get("synopsis", headers={"Accept": "application/json;q=0.5, text/csv"})
    assert chosen.headers["content-type"].startswith("text/csv")


def test_the_synopsis_is_the_same_in_every_form(sqlite_desk: Desk) -> None:
    """JSON, CSV, Parquet and Arrow hold the same counts in the same order, with the box of each cell."""
    whole = sqlite_desk.get("synopsis").json()
    parquet = pa.parquet.read_table(io.BytesIO(sqlite_desk.get("synopsis?format=parquet").content))
    arrow = pa.ipc.open_stream(sqlite_desk.get("synopsis?format=arrow").content).read_all()
    lines = list(csv.DictReader(io.StringIO(sqlite_desk.get("synopsis?format=csv").text)))
    assert parquet["count"].to_pylist() == arrow["count"].to_pylist() == whole["counts"]
    assert [int(line["count"]) for line in lines] == whole["counts"]
    last = lines[-1]
    assert [float(last[f"{a['name']}_upper"]) for a in ATTRIBUTES] == [100, 1000]
    assert parquet.schema.metadata[b"synopsis_digest"].decode() == whole["synopsis_digest"]


def test_synthetic_rows_are_repeatable_and_inside_the_bounds(sqlite_desk: Desk) -> None:
    """The same seed gives the same rows in every form, a longer request begins with the shorter one."""
    few = np.array(sqlite_desk.get("rows?count=50&seed=4").json()["rows"])
    many = np.array(sqlite_desk.get("rows?count=70000&seed=4").json()["rows"])
    parquet = pa.parquet.read_table(io.BytesIO(sqlite_desk.get("rows?count=70000&seed=4&format=parquet").content))
    assert np.array_equal(many[:50], few)
    assert np.array_equal(np.column_stack([column.to_numpy() for column in parquet.columns]), many)
    assert not np.array_equal(np.array(sqlite_desk.get("rows?count=50&seed=5").json()["rows"]), few)
    assert (many >= 0).all()
    assert (many <= [100, 1000]).all()


def test_counts_agree_with_count(sqlite_desk: Desk) -> None:
    """A workload gives what its boxes give one by one."""
    boxes = [["age:20..40"], ["age:..3.5", "income:100..200"], []]
    together = sqlite_desk.post("counts", {"boxes": boxes}).json()
    for i, where in enumerate(boxes):
        alone = sqlite_desk.get("count", params={"where": where}).json()
        assert together["counts"][i] == pytest.approx(alone["count"])
        assert (together["low"][i], together["high"][i]) == (alone["interval"]["low"], alone["interval"]["high"])
        for part in ("noise", "discretisation"):
            assert {name: values[i] for name, values in together[part].items()} == alone[part]
    assert sqlite_desk.post("counts", {"boxes": []}).status_code == 422
    assert sqlite_desk.post("counts", {"boxes": [[]] * 10_001}).status_code == 422


def test_a_count_has_one_interval_of_its_whole_error_and_its_parts(sqlite_desk: Desk) -> None:
    """`interval` holds the noise's own and the ends that cut cells give; without a cut cell it is the noise's own."""
    cut = sqlite_desk.get("count?where=age:20.5..40.5&level=0.9").json()
    assert set(cut) - set(sqlite_desk.get("moments").json()) == {"count", "interval", "noise", "discretisation"}
    assert (set(cut["interval"]), cut["interval"]["level"]) == ({"level", "low", "high"}, 0.9)
    assert (set(cut["noise"]), set(cut["discretisation"])) == ({"low", "high", "sd"}, {"low", "high"})
    assert cut["interval"]["low"] <= cut["discretisation"]["low"]
    assert cut["interval"]["high"] >= cut["discretisation"]["high"]
    whole = sqlite_desk.get("count").json()
    assert {end: whole["interval"][end] for end in ("low", "high")} == {
        end: whole["noise"][end] for end in ("low", "high")
    }


def test_many_snapped_counts_name_the_boxes_they_counted(sqlite_desk: Desk) -> None:
    """Each as a single count would; a box without a range has no ends to move."""
    boxes = [["age:20.5..61"], [], ["age:20.5..61", "income:..700"]]
    body = {"boxes": boxes, "snap": True}
    many = sqlite_desk.api.analyst("POST", f"/v1/releases/{sqlite_desk.release}/counts", json=body).json()
    assert many["parameters"]["snap"] is True
    for i, where in enumerate(boxes):
        query = "&".join(f"where={part}" for part in where)
        single = sqlite_desk.get(f"count?snap=true&{query}").json()
        assert many["snapped"][i] == single["snapped"]
        assert (many["counts"][i], many["low"][i], many["high"][i]) == (
            single["count"],
            single["interval"]["low"],
            single["interval"]["high"],
        )


def test_a_snapped_count_names_the_edges_it_counted_between(sqlite_desk: Desk) -> None:
    """They are edges of the grid, and the box between them has the same count and the interval of its noise."""
    asked = sqlite_desk.get("count?where=age:20.5..61&snap=true").json()
    edges = sqlite_desk.get("marginal?attributes=age").json()["attributes"][0]["edges"]
    ends = asked["snapped"]["age"]
    for end, wanted in (("low", 20.5), ("high", 61)):
        assert ends[end] == min(edges, key=lambda edge: abs(edge - wanted))
    same = sqlite_desk.get("count", params={"where": f"age:{ends['low']}..{ends['high']}"}).json()
    assert asked["count"] == same["count"]
    assert asked["noise"] == same["noise"]
    assert (asked["interval"]["low"], asked["interval"]["high"]) == (asked["noise"]["low"], asked["noise"]["high"])
    assert (asked["parameters"]["snap"], "snapped" in same) == (True, False)


def test_a_range_that_holds_nothing_says_what_would(sqlite_desk: Desk) -> None:
    """The bounds are public, so the sentence names them; of many boxes it says which one is at fault."""
    assert "bounds, 0 to 100" in sqlite_desk.get("count?where=age:101..200").json()["detail"]
    assert "write 9..10" in sqlite_desk.get("count?where=age:9..9").json()["detail"]
    refused = sqlite_desk.post("counts", {"boxes": [["age:1..2"], ["age:9..9"]]})
    assert (refused.status_code, refused.json()["detail"][:12]) == (422, "Box 2 of 2: ")


def test_points_are_assigned_to_their_nearest_centre(sqlite_desk: Desk) -> None:
    """Each centre of a clustering is assigned to itself; points of another dimension are refused."""
    centres = sqlite_desk.get("clusters?k=4").json()["centers"]
    assigned = sqlite_desk.post("clusters/assign", {"points": centres, "k": 4}).json()
    assert assigned["labels"] == [0, 1, 2, 3]
    assert assigned["centers"] == centres
    assert sqlite_desk.post("clusters/assign", {"points": [[1]], "k": 4}).status_code == 422
