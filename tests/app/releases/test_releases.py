"""Stage 1: budgets to the last billionth, orders that are repeated, uploads that fail and are tried again."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from anyio import to_thread
from sqlalchemy import text

from app.access.permissions import Role
from app.main import create_app
from app.settings.settings import Settings
from tests.support.databases.books import without_triggers
from tests.support.service.api import CSV, ROWS, Api, frozen_clock


def test_ten_orders_of_a_tenth_fit_one_to_the_last_billionth(api: Api) -> None:
    """The eleventh gets 409 with what was asked and what is left, and changes nothing."""
    api.register(budget="1.0")
    for _ in range(10):
        assert api.order(epsilon="0.1").status_code == 201
    assert api.budget() == {"granted": "1", "spent": "1", "remaining": "0"}
    refused = api.order(epsilon="0.1")
    assert refused.status_code == 409
    assert refused.json()["type"].endswith("insufficient-budget")
    assert (refused.json()["requested"], refused.json()["remaining"]) == ("0.1", "0")
    assert api.order(epsilon="0.000000001").status_code == 409
    assert api.budget()["spent"] == "1"


def test_epsilon_is_charged_when_it_is_ordered(api: Api) -> None:
    """The budget is spent before a row is read, and the ledger records the order with its declared size."""
    api.register()
    order = api.order(epsilon="0.5").json()
    assert order["state"] == "ordered"
    assert api.budget()["spent"] == "0.5"
    (charge,) = api.auditor("GET", "/v1/ledger", params={"kind": "charge"}).json()["entries"]
    assert charge["release"] == order["id"]
    assert charge["detail"]["order"]["size"] == {"declared": 500}


def test_an_idempotency_key_charges_once(api: Api) -> None:
    """The same key with the same order gives the same release; with another order, 422; a new key, a new charge."""
    api.register()
    first = api.order(headers={"Idempotency-Key": "a"})
    again = api.order(headers={"Idempotency-Key": "a"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    other = api.order(headers={"Idempotency-Key": "a"}, epsilon="0.6")
    assert other.status_code == 422
    assert other.json()["type"].endswith("idempotency-conflict")
    assert api.order(headers={"Idempotency-Key": "b"}).json()["id"] != first.json()["id"]
    assert api.budget()["spent"] == "1"


def test_a_repeated_upload_is_refused_with_the_same_digest(api: Api) -> None:
    """A published release stays as it is: 409, no new noise, and the digest says which synopsis it is."""
    api.register()
    release_id = api.order().json()["id"]
    published = api.upload(release_id)
    assert published.status_code == 200
    digest = published.json()["synopsis"]["digest"]
    again = api.upload(release_id)
    assert again.status_code == 409
    assert again.json()["synopsis"]["digest"] == digest
    assert api.analyst("GET", f"/v1/releases/{release_id}").json()["synopsis"]["digest"] == digest


def test_the_curator_alone_learns_what_became_of_the_rows(api: Api) -> None:
    """`ingest` is in the reply to the upload and in no other."""
    api.register()
    release_id = api.order(out_of_range="drop").json()["id"]
    rows = b"age,income\n1,2\nx,3\n4,5\n400,1\n"
    reply = api.upload(release_id, rows).json()
    assert reply["ingest"] == {"rows_read": 4, "rows_dropped": 2, "rows_clipped": 0}
    for role in Role:
        assert "ingest" not in api.call(role, "GET", f"/v1/releases/{release_id}").json()


def test_an_estimated_size_is_part_of_the_one_charge(api: Api) -> None:
    """The noisy size shows up in the plan once the release is published, never before."""
    api.register()
    order = api.order(size={"estimate": "0.1", "guess": 7})
    assert order.json()["plan"]["grid"] is None
    assert order.json()["plan"]["noise"]["epsilon_size"] == "0.05"
    assert api.budget()["spent"] == "0.5"
    published = api.upload(order.json()["id"]).json()
    assert published["plan"]["grid"]["cells"] >= 16
    assert isinstance(published["plan"]["size"], int)


FAULTS = {
    "nothing at all": (b"", CSV, 422),
    "header without the attributes": (b"a,b\n1,2\n", CSV, 422),
    "not a Parquet file": (b"PAR1 and nothing", {"Content-Type": "application/vnd.apache.parquet"}, 422),
    "not an Arrow stream": (b"\x00" * 64, {"Content-Type": "application/vnd.apache.arrow.stream"}, 422),
    "cut gzip": (gzip.compress(ROWS)[:-9], CSV | {"Content-Encoding": "gzip"}, 422),
    "no gzip": (ROWS, CSV | {"Content-Encoding": "gzip"}, 422),
    "unknown encoding": (ROWS, CSV | {"Content-Encoding": "br"}, 415),
    "unknown media type": (ROWS, {"Content-Type": "application/pdf"}, 415),
    "no media type": (ROWS, {}, 415),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_level_fault_leaves_the_release_to_be_tried_again(sqlite_api: Api, fault: str) -> None:
    """A 4xx problem, the order still open, no second charge, and the next upload publishes."""
    sqlite_api.register()
    release_id = sqlite_api.order().json()["id"]
    body, headers, status = FAULTS[fault]
    refused = sqlite_api.upload(release_id, body, headers)
    assert (refused.status_code, refused.headers["content-type"]) == (status, "application/problem+json")
    assert sqlite_api.curator("GET", f"/v1/releases/{release_id}").json()["state"] == "ordered"
    assert sqlite_api.upload(release_id).status_code == 200
    assert sqlite_api.budget()["spent"] == "0.5"


ODD_FILES = {
    "header only": b"age,income\n",
    "header without newline": b"age,income",
    "all bad": b"age,income\nx,y\n,\n\x00\n",
    "one line too long": b"age,income\n" + b"9" * 200_000 + b",1\n",
    "stray quotes": b'age,income\n1,2\n"3,4\n5,"6\n',
    "wrong encoding": b"age,income,name\n1,2,\xff\xfe\n3,4,\xe9\n",
    "NUL bytes": b"age,income\n1,2\n\x003,4\n",
}


@pytest.mark.parametrize("odd", ODD_FILES)
@pytest.mark.parametrize("size", [{"declared": 5}, {"estimate": "0.05"}])
def test_rows_never_decide_whether_a_release_is_published(sqlite_api: Api, odd: str, size: dict[str, object]) -> None:
    """Empty, all-bad and odd files publish with the same fields as any other."""
    sqlite_api.register()
    release_id = sqlite_api.order(size=size).json()["id"]
    reply = sqlite_api.upload(release_id, ODD_FILES[odd])
    assert reply.status_code == 200, reply.text
    usual = sqlite_api.upload(sqlite_api.order(size=size).json()["id"])
    assert reply.json().keys() == usual.json().keys()


def test_a_void_gives_back_exactly_what_was_charged(api: Api) -> None:
    """DELETE returns the epsilon once; a void release takes no upload and no second void."""
    api.register()
    release_id = api.order(epsilon="0.123456789").json()["id"]
    voided = api.curator("DELETE", f"/v1/releases/{release_id}")
    assert (voided.status_code, voided.json()["state"]) == (200, "void")
    assert api.budget() == {"granted": "3", "spent": "0", "remaining": "3"}
    assert api.curator("DELETE", f"/v1/releases/{release_id}").status_code == 409
    assert api.upload(release_id).status_code == 409


def test_a_published_release_cannot_be_voided(api: Api) -> None:
    """What was seen is charged for good."""
    api.register()
    release_id = api.published()
    assert api.curator("DELETE", f"/v1/releases/{release_id}").status_code == 409
    assert api.budget()["spent"] == "0.5"


def test_a_closed_dataset_takes_nothing_but_voids(api: Api) -> None:
    """After close: no order, grant or upload; an open order can still be voided, and closing again is refused."""
    api.register()
    release_id = api.order().json()["id"]
    assert api.curator("POST", "/v1/datasets/city/close").json()["state"] == "closed"
    assert api.order().status_code == 409
    assert api.upload(release_id).status_code == 409
    assert api.admin("POST", "/v1/datasets/city/grants", json={"epsilon": "1", "reason": "r"}).status_code == 409
    assert api.curator("POST", "/v1/datasets/city/close").status_code == 409
    assert api.curator("DELETE", f"/v1/releases/{release_id}").status_code == 200
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"] is True


def test_a_delete_that_races_an_upload_has_one_winner(api: Api) -> None:
    """200 times: either void with the epsilon back and no synopsis, or published and charged; never both or neither."""
    api.register(budget="20")
    rounds = 100  # on each of the two databases
    with ThreadPoolExecutor(2) as pool:
        for _ in range(rounds):
            release_id = api.order(epsilon="0.001").json()["id"]
            put = pool.submit(api.upload, release_id, b"age,income\n1,2\n")
            delete = pool.submit(api.curator, "DELETE", f"/v1/releases/{release_id}")
            outcome = sorted([put.result().status_code, delete.result().status_code])
            assert outcome == [200, 409]
            state = api.curator("GET", f"/v1/releases/{release_id}").json()
            assert state["state"] == ("published" if put.result().status_code == 200 else "void")
            assert (state["synopsis"] is not None) == (put.result().status_code == 200)
    published = [r for r in api.curator("GET", "/v1/datasets/city").json()["releases"] if r["state"] == "published"]
    assert api.budget()["spent"] == str(0.001 * len(published))[:5].rstrip("0").rstrip(".")
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"] is True


def test_two_uploads_of_one_release_publish_once(api: Api) -> None:
    """Concurrent PUTs: one draws and publishes; the other is refused, with the digest that won once it is there."""
    api.register()
    release_id = api.order().json()["id"]
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: api.upload(release_id), range(2))
    assert sorted([first.status_code, second.status_code]) == [200, 409]
    won, lost = sorted((first, second), key=lambda reply: reply.status_code)
    published = {"state": "published", "synopsis": {"digest": won.json()["synopsis"]["digest"]}}
    assert {name: lost.json()[name] for name in published} in (published, {"state": "burnt", "synopsis": None})


def test_uploads_beyond_the_limit_are_told_to_come_back(sqlite_settings: Settings) -> None:
    """A worker that is busy with uploads answers 503 with Retry-After, and the order stays open."""
    started, go_on = Event(), Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"age,income\n"
        started.set()
        await to_thread.run_sync(go_on.wait)
        yield b"1,2\n"

    one_at_once = sqlite_settings.model_copy(update={"max_uploads": 1, "upload_wait_seconds": 0.0})
    with Api(create_app(one_at_once, frozen_clock)) as api, ThreadPoolExecutor(1) as pool:
        api.register()
        first, second = (api.order().json()["id"] for _ in range(2))
        uploading = pool.submit(api.upload, first, slow())
        assert started.wait(timeout=60)
        busy = api.upload(second)
        assert (busy.status_code, busy.json()["type"]) == (503, "urn:rugnik:problem:busy")
        assert int(busy.headers["retry-after"]) >= 1
        go_on.set()
        assert uploading.result().status_code == 200
        assert api.upload(second).status_code == 200


def test_a_synopsis_that_does_not_match_the_ledger_is_not_served(sqlite_api: Api) -> None:
    """A stored synopsis is checked against the digest in the ledger every time it is loaded."""
    sqlite_api.register()
    first, second = sqlite_api.published(), sqlite_api.published()
    with without_triggers(sqlite_api.service) as tx:
        swapped = "UPDATE synopses SET body = (SELECT body FROM synopses WHERE release = :other) WHERE release = :this"
        tx.execute(text(swapped), {"this": first, "other": second})
        tx.commit()
    refused = sqlite_api.analyst("GET", f"/v1/releases/{first}")
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:rugnik:problem:corrupt-synopsis")
    assert sqlite_api.analyst("GET", f"/v1/releases/{second}").status_code == 200
