"""Burn on draw: noise is drawn once for a charge, and from the first bit on that charge is spent for good."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any

import pytest
from sqlalchemy import select

from app.ledger.appending import OpenBook
from app.releases import publishing, uploading
from app.storage.tables import ledger
from core.ledger.kinds import Kind
from core.randomness import NoiseSource
from core.synopsis import Synopsis
from tests.support.leaks.dumps import contents
from tests.support.service.api import Api

SIZES: list[dict[str, Any]] = [{"declared": 500}, {"estimate": "0.05"}]


def kinds(api: Api) -> list[str]:
    """The ledger of the dataset, by kinds."""
    return [entry["kind"] for entry in api.curator("GET", "/v1/ledger").json()["entries"]]


def state(api: Api, release: str) -> str:
    """Where a release stands."""
    return str(api.curator("GET", f"/v1/releases/{release}").json()["state"])


@pytest.mark.parametrize("size", SIZES)
def test_the_draw_is_committed_before_the_first_bit_of_noise(
    api: Api, size: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever noise is asked of the operating system, the ledger already has the draw, for everybody to see."""
    api.register()
    seen: list[str] = []
    real = NoiseSource.read

    def asked(self: NoiseSource, number: int) -> bytes:
        with api.service.database.read_only() as tx:
            last = select(ledger.c.kind).where(ledger.c.release == release).order_by(ledger.c.seq.desc()).limit(1)
            seen.append(tx.execute(last).scalar_one())
        return real(self, number)

    monkeypatch.setattr(NoiseSource, "read", asked)
    release = api.order(size=size).json()["id"]
    assert api.upload(release).status_code == 200
    assert seen
    assert set(seen) == {"draw"}
    assert kinds(api) == ["grant", "charge", "draw", "publish"]


def test_a_file_that_is_refused_draws_nothing(api: Api) -> None:
    """The body is read and judged first: after a refusal the order is open, and can still be voided."""
    api.register()
    release = api.order().json()["id"]
    assert api.upload(release, b"a,b\n1,2\n").status_code == 422
    assert kinds(api) == ["grant", "charge"]
    assert api.curator("DELETE", f"/v1/releases/{release}").status_code == 200
    assert api.budget()["spent"] == "0"


@pytest.mark.parametrize("size", SIZES)
def test_a_failure_after_the_draw_gives_nothing_back(
    api: Api, size: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong once noise may have been drawn: burnt, no void, no second upload, epsilon spent."""
    api.register()
    release = api.order(size=size).json()["id"]

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr("core.release.noised", fail)
        assert api.upload(release).status_code == 500
    assert state(api, release) == "burnt"
    for refused in (api.curator("DELETE", f"/v1/releases/{release}"), api.upload(release)):
        assert refused.status_code == 409
        assert refused.json()["state"] == "burnt"
        assert "new order" in refused.json()["detail"]
    assert api.budget()["spent"] == "0.5"
    assert api.analyst("GET", f"/v1/releases/{release}").status_code == 404
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"] is True
    assert api.upload(api.order().json()["id"]).status_code == 200


def test_a_synopsis_that_cannot_be_stored_is_stored_later_with_the_same_bytes(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The witness is damaged between draw and publish: the curator is told, the service goes on trying by itself, and
    what it publishes once the witness is back is the one draw there ever was."""
    api.register()
    release = api.order().json()["id"]
    witness = api.service.witness.path
    drawn: list[str] = []
    real = uploading.draw_synopsis

    def draw(*args: Any, **options: Any) -> Any:
        synopsis = real(*args, **options)
        drawn.append(synopsis.digest)
        witness.write_bytes(b"damaged")
        return synopsis

    monkeypatch.setattr(uploading, "draw_synopsis", draw)
    monkeypatch.setattr(publishing, "REPLY_SECONDS", 0.2)
    before = witness.read_bytes()
    delayed = api.upload(release)
    assert (delayed.status_code, delayed.json()["type"]) == (503, "urn:rugnik:problem:publish-delayed")
    assert int(delayed.headers["retry-after"]) >= 1
    assert state(api, release) == "burnt"
    assert api.upload(release).status_code == 409
    witness.write_bytes(before)
    deadline = time.monotonic() + 60
    while state(api, release) == "burnt" and time.monotonic() < deadline:
        time.sleep(0.1)
    assert api.analyst("GET", f"/v1/releases/{release}").json()["synopsis"]["digest"] == drawn[0]
    assert len(drawn) == 1
    assert kinds(api) == ["grant", "charge", "draw", "publish"]
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"] is True


def test_a_publish_whose_commit_was_not_heard_of_is_not_made_twice(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection breaks after the commit: the next try sees its own synopsis and is content."""
    api.register()
    release = api.order().json()["id"]
    real = publishing._stored
    tries: list[bool] = []

    def deaf_once(*args: Any) -> bool:
        tries.append(real(*args))
        return tries[-1] and len(tries) > 1

    monkeypatch.setattr(publishing, "_stored", deaf_once)
    assert api.upload(release).status_code == 200
    assert tries == [True, True]
    assert kinds(api) == ["grant", "charge", "draw", "publish"]


def test_what_was_drawn_before_a_close_is_published(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The close comes between draw and publish: the epsilon is spent, so its synopsis is not thrown away."""
    api.register()
    release = api.order().json()["id"]
    real = uploading.draw_synopsis

    def draw(*args: Any, **options: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(api.curator, "POST", "/v1/datasets/city/close").result().status_code == 200
        return real(*args, **options)

    monkeypatch.setattr(uploading, "draw_synopsis", draw)
    assert api.upload(release).status_code == 200
    assert kinds(api) == ["grant", "charge", "draw", "close", "publish"]
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"] is True


def test_a_draw_and_a_publish_of_one_release_cannot_be_told_apart_by_time(api: Api) -> None:
    """Every entry has the day and no more: seconds around an upload would tell how long it took."""
    api.register()
    api.published()
    api.curator("DELETE", f"/v1/releases/{api.order().json()['id']}")
    api.admin("POST", "/v1/datasets/city/grants", json={"epsilon": "1", "reason": "more"})
    api.curator("POST", "/v1/datasets/city/close")
    api.auditor("POST", "/v1/ledger/verifications")
    entries = api.auditor("GET", "/v1/ledger", params={"dataset": "city"}).json()["entries"]
    assert {entry["kind"] for entry in entries} == {"grant", "charge", "draw", "publish", "void", "close"}
    assert {entry["at"] for entry in entries} == {"2026-01-02"}
    with api.service.database.read_only() as tx:
        stored = tx.exec_driver_sql("SELECT at FROM verifications").scalars().all()
    assert stored == ["2026-01-02"]


def test_no_code_but_the_upload_draws(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans, orders, voids and questions ask the operating system for no noise."""
    api.register()
    release = api.published()

    def forbidden(*_: object) -> bytes:
        raise AssertionError

    monkeypatch.setattr(NoiseSource, "read", forbidden)
    monkeypatch.setattr(OpenBook, "append", _without(Kind.DRAW, OpenBook.append))
    assert api.curator("DELETE", f"/v1/releases/{api.order().json()['id']}").status_code == 200
    assert api.analyst("GET", f"/v1/releases/{release}/clusters", params={"k": 2}).status_code == 200
    assert api.analyst("GET", f"/v1/releases/{release}/rows").status_code == 200


def _without(kind: Kind, real: Any) -> Any:
    def append(self: OpenBook, appended: Kind, **fields: Any) -> Any:
        assert appended is not kind
        return real(self, appended, **fields)

    return append


def test_a_guess_is_nowhere_after_the_plan(api: Api) -> None:
    """It serves a prediction. An order with one equals an order without, and no reply or row has it."""
    api.register()
    guess = 918_273
    size = {"estimate": "0.05", "guess": guess}
    terms = {"epsilon": "0.5", "clusters": 4, "size": size}
    planned = api.curator("POST", "/v1/datasets/city/plans", json=terms)
    assert planned.json()["predicted"]["size"] == guess
    headers = {"Idempotency-Key": "one"}
    ordered = api.order(size=size, headers=headers)
    assert api.order(size={"estimate": "0.05"}, headers=headers).json() == ordered.json()
    published = api.upload(ordered.json()["id"])
    everything = [ordered, published, *(api.auditor("GET", path) for path in ("/v1/ledger", "/v1/datasets"))]
    everything.append(api.analyst("GET", f"/v1/releases/{ordered.json()['id']}"))
    assert all(str(guess) not in reply.text and "guess" not in reply.text for reply in everything)
    assert str(guess).encode() not in contents(api.service.database)


def test_a_synopsis_is_written_once_and_named_by_what_is_stored(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes in the database are those whose digest is in the ledger: they are not made a second time for it."""
    api.register()
    release = api.order().json()["id"]
    written: list[bytes] = []
    to_bytes = Synopsis.to_bytes

    def noted(synopsis: Synopsis) -> bytes:
        written.append(to_bytes(synopsis))
        return written[-1]

    with monkeypatch.context() as patched:
        patched.setattr(Synopsis, "to_bytes", noted)
        reply = api.upload(release)
    assert [sha256(each).hexdigest() for each in written] == [reply.json()["synopsis"]["digest"]]
