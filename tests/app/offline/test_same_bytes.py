"""A bundle answers as the service does: every question, every refusal, every file, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from app.access.permissions import Role
from app.access.principal import Principal
from app.bundles.bundle import Bundle
from app.errors import NotFound
from app.log.bundling import bundle
from app.main import create_app
from app.offline.transport import BundleTransport
from app.questions.question import registered
from app.settings.settings import Settings
from tests.support.service.api import Api, frozen_clock
from tests.support.service.mixed import published, truth
from tests.support.service.questions import EXAMPLES, GETS, Example

SEX = {"name": "sex", "kind": "category", "values": ["f", "m"]}
AGE = {"name": "age", "lower": 0, "upper": 100, "missing": "keep"}
TOWN = [AGE, {"name": "income", "lower": 0, "upper": 1000}, SEX]
_lines = [b"age,income,sex", *(b"%d,%d,%s" % (i % 37, i * i % 1000, b"f" if i % 3 else b"m") for i in range(1500))]
SEXED = b"\n".join(_lines + [b",500,f"] * 40)
MANY = [{"name": name, "lower": 0, "upper": 1} for name in ("a", "b", "c", "d", "e")]
SPARSE = b"a,b,c,d,e\n" + b"0.1,0.2,0.3,0.4,0.5\n" * 900 + b"0.9,0.8,0.7,0.6,0.5\n" * 400
READER = Principal(id="k1", name="reader", role=Role.ANALYST, datasets=None)


@dataclass(frozen=True)
class Pair:
    """A release in a service, and the same release in a bundle."""

    api: Api
    release: str
    bundle: Bundle
    offline: httpx.Client

    def same(self, method: str, address: str, **options: Any) -> httpx.Response:
        """Ask both, and compare status, type and bytes; returns the reply."""
        path = f"/v1/releases/{self.release}/{address}"
        served = self.api.analyst(method, path, **options)
        alone = self.offline.request(method, path, **options)
        assert (alone.status_code, alone.content) == (served.status_code, served.content)
        kinds = [reply.headers["content-type"].partition(";")[0] for reply in (alone, served)]
        assert kinds[0] == kinds[1]
        return served


def bundled(api: Api, release: str) -> Bundle:
    """The bundle of a release, as the service makes it."""
    return bundle(api.service, READER, release)


def pair(api: Api, release: str) -> Pair:
    """The bundle goes through its file form."""
    bundle = Bundle.from_bytes(bundled(api, release).to_bytes())
    return Pair(api, release, bundle, httpx.Client(transport=BundleTransport(bundle.content), base_url="http://bundle"))


def uploaded(api: Api, dataset: str, rows: bytes, **order: Any) -> str:
    """The id of a release of these rows."""
    ordered = api.order(dataset, **order)
    assert ordered.status_code == 201, ordered.text
    release = str(ordered.json()["id"])
    done = api.upload(release, rows)
    assert done.status_code == 200, done.text
    return release


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Pair]]:
    """One service with releases of all kinds of cells, and a bundle of each."""
    settings = Settings(
        checkpoint_seconds=0,
        data_dir=tmp_path_factory.mktemp("same") / "data",
        log_level="warning",
        max_budget="90",
        max_cells=20_000,
    )
    with Api(create_app(settings, frozen_clock)) as api:
        api.register()
        api.register("town", "12", TOWN)
        api.register("many", "12", MANY)
        releases = {
            "city": api.published(epsilon="1"),
            "town": uploaded(api, "town", SEXED, epsilon="2"),
            "adaptive": uploaded(api, "town", SEXED, epsilon="4", rule="adaptive", size={"estimate": "0.1"}),
            "sparse": uploaded(api, "many", SPARSE, epsilon="8", clusters=2, size={"declared": 10**6}),
            "calendar": published(api, ["age", "sex", "arrived"], truth(500)).release,
        }
        yield {name: pair(api, release) for name, release in releases.items()}


def with_more(example: Example, more: str) -> str:
    """The address of an example with more parameters."""
    return f"{example.address}{'&' if example.query else '?'}{more}"


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_every_question_has_the_same_answer(pairs: dict[str, Pair], example: Example) -> None:
    """With every cell of a grid, with a category and missing values, and of an adaptive release."""
    for name in ("city", "town", "adaptive"):
        assert pairs[name].same(example.method, example.address, **example.options).status_code == 200


def test_the_examples_ask_every_question() -> None:
    """A new question is compared here without a line more."""
    assert {each.answer.path for each in registered()} <= {example.answer.path for example in EXAMPLES}


@pytest.mark.parametrize("example", GETS, ids=str)
def test_parts_and_groups_have_the_same_answers(pairs: dict[str, Pair], example: Example) -> None:
    """`where` and `group_by`, alone and together, whether they can be answered or not."""
    for name in ("town", "adaptive"):
        for more in (
            "where=sex:f",
            "where=age:(missing)",
            "where=age:10..30&where=income:..500",
            "group_by=sex",
            "group_by=sex&where=income:200..700",
            "group_by=sex&simultaneous=true",
        ):
            pairs[name].same("GET", with_more(example, more))


BODIES: list[tuple[str, Any]] = [
    ("counts", {"boxes": [["age:20..40"], ["sex:f", "income:..500"], []], "simultaneous": True, "level": 0.9}),
    ("counts", {"boxes": [["age:20..40"]], "where": ["sex:m"], "snap": True}),
    ("counts", {"boxes": [["nobody:1..2"], []]}),
    ("counts", {"boxes": [["age"]]}),
    ("counts", {"boxes": [], "level": 2, "colour": 1}),
    ("counts", {}),
    ("counts", [1]),
    ("clusters/assign", {"points": [[20, 500], [80, 10]], "k": 2, "method": "lloyd", "seed": 3}),
    ("clusters/assign", {"points": [[20, 500]], "k": 2, "where": ["sex:f"]}),
    ("clusters/assign", {"points": [[20]], "k": 2}),
    ("clusters/assign", {"points": [["young", 500]], "k": 2}),
    ("clusters/assign", {"points": [[None, []]], "k": 0, "method": "magic"}),
    ("clusters/assign?k=2", {"points": [[20, 500]], "k": 2}),
]


@pytest.mark.parametrize(("address", "body"), BODIES, ids=str)
def test_bodies_have_the_same_answers(pairs: dict[str, Pair], address: str, body: Any) -> None:
    """Workloads and points, right and wrong ones."""
    for name in ("town", "adaptive"):
        pairs[name].same("POST", address, json=body)


def test_a_body_that_is_no_json_is_refused_alike(pairs: dict[str, Pair]) -> None:
    """The place of the mistake is counted alike."""
    reply = pairs["town"].same("POST", "counts", content=b'{"boxes": [', headers={"Content-Type": "application/json"})
    assert "not JSON" in reply.json()["detail"]


REFUSED = (
    "count?level=2",
    "count?level=abc&snap=maybe",
    "count?wher=age:1..2",
    "count?where=age",
    "count?where=nobody:1..2",
    "count?where=age:40..20",
    "count?group_by=age",
    "count?simultaneous=true",
    "count?group_by=sex&simultaneous=true&level=0.999999",
    "marginal",
    "marginal?attributes=nobody",
    "marginal?attributes=age&cells=0&counts=some",
    "quantiles?attribute=sex&q=0.5",
    "quantiles?attribute=age",
    "quantiles?attribute=age&q=nan&q=x",
    "quantiles?attribute=age&q=2",
    "moments?where=sex:z",
    "moments?where=age:200..300",
    "moments?k=1",
    "clusters",
    "clusters?k=0",
    "clusters?k=2.5&seed=-1&method=magic",
    "clusters?k=100000",
    "clusters/scan?k=2",
    "clusters/scan?k=9..2",
    "clusters/scan?k=1..99",
    "rows?count=0",
    "rows?format=xlsx",
    "rows?format=arrow",
    "rows?where=sex:z",
    "rows?colour=1",
    "synopsis?format=xlsx",
    "synopsis?cells=5",
    "synopsis?cells=5&format=csv",
    "synopsis?level=0&where=sex:z",
    "synopsis?format=csv&where=sex:z",
    "synopsis?format=" + "x" * 21,
    "count?" + "&".join(["where=age:1..2"] * 65),
    "count?where=age:" + "1" * 500,
)


@pytest.mark.parametrize("address", REFUSED)
def test_what_cannot_be_answered_is_refused_in_the_same_words(pairs: dict[str, Pair], address: str) -> None:
    """The problem of the service, with all of its fields."""
    assert pairs["town"].same("GET", address).status_code in {406, 422}
    pairs["adaptive"].same("GET", address)


@pytest.mark.parametrize("name", ["city", "town", "adaptive", "sparse", "calendar"])
@pytest.mark.parametrize("form", ["json", "csv", "parquet", "arrow"])
def test_files_are_the_same(pairs: dict[str, Pair], name: str, form: str) -> None:
    """Cells and synthetic rows, whole and in part."""
    chosen = pairs[name]
    assert chosen.same("GET", f"synopsis?format={form}").status_code == 200
    chosen.same("GET", f"rows?count=50&seed=2&format={form}")
    if name == "town":
        chosen.same("GET", f"synopsis?format={form}&where=sex:f")
        chosen.same("GET", f"rows?format={form}&where=age:(missing)")


@pytest.mark.parametrize("name", ["sparse", "calendar"])
def test_other_kinds_of_cells_and_attributes_have_the_same_answers(pairs: dict[str, Pair], name: str) -> None:
    """A threshold; dates, integers and categories."""
    chosen = pairs[name]
    assert (chosen.bundle.content.threshold is not None) is (name == "sparse")
    attribute = "a" if name == "sparse" else "arrived"
    for address in (
        "moments",
        "clusters?k=2",
        "clusters/scan?k=2..3",
        "count",
        f"quantiles?attribute={attribute}&q=0.5",
    ):
        assert chosen.same("GET", address).status_code == 200
    for where in ("a:0.1..0.6", "arrived:2026-03-01..2026-06-30", "sex:f,(other)", "age:(missing)"):
        chosen.same("GET", f"count?where={where}")
        chosen.same("GET", f"moments?where={where}")
    chosen.same("GET", "moments?group_by=sex")


def test_a_bundle_has_the_digest_of_the_ledger(pairs: dict[str, Pair]) -> None:
    """The bytes in the bundle are those that the ledger names."""
    for each in pairs.values():
        release = each.api.curator("GET", f"/v1/releases/{each.release}").json()
        assert each.bundle.digest == release["synopsis"]["digest"]


def test_only_a_published_release_that_the_caller_may_ask_has_a_bundle(pairs: dict[str, Pair]) -> None:
    """Anybody else is told that there is none; so is everybody about an order."""
    api = pairs["city"].api
    order = str(api.order(epsilon="0.1").json()["id"])
    stranger = Principal(id="k2", name="stranger", role=Role.ANALYST, datasets=frozenset({"town"}))
    curator = Principal(id="k3", name="curator", role=Role.CURATOR, datasets=None)
    for caller, release in ((curator, order), (stranger, pairs["city"].release), (READER, "r0000000000000000")):
        with pytest.raises(NotFound):
            bundle(api.service, caller, release)


def test_another_release_is_not_found(pairs: dict[str, Pair]) -> None:
    """A bundle has one release."""
    assert pairs["city"].offline.get("/v1/releases/r0000000000000000/count").status_code == 404
    assert pairs["city"].offline.get(f"/v1/releases/{pairs['city'].release}/nothing").status_code == 404
