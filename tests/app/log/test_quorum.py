"""Outside witnesses: with a quorum configured, no row is read before it has signed a tree that holds the charge."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from httpx import Response
from sqlalchemy import select

from app.errors import LedgerRewound, NotReady
from app.log import checkpoints as stored_checkpoints
from app.log import cosigning
from app.log.cosigning import signers
from app.log.shown import shown_at
from app.main import create_app, make_service
from app.settings.settings import Settings
from app.storage.tables import checkpoints, cosignatures
from app.witnessing.witness import Witness
from core.log.checkpoint import Checkpoint
from core.log.note import InvalidNote, Note
from core.log.policy import Policy
from core.log.receipt import Receipt
from tests.support.databases.books import rewrite_from, without_triggers
from tests.support.databases.used import behind_triggers
from tests.support.processes.witness import odd_witness, running_witness
from tests.support.service.api import CSV, ROWS, Api
from tests.support.service.cosigned import Clock, Cosigned, with_witnesses
from tests.support.service.counting import COUNTS, counts_body
from tests.support.signed_log import cosigning_key


@pytest.fixture
def cosigned(settings: Settings, tmp_path: Path) -> Iterator[Cosigned]:
    """Two of three witnesses have to sign; on each kind of database."""
    with with_witnesses(settings, tmp_path) as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    """A clock that the test moves."""
    return Clock()


@pytest.fixture
def api(cosigned: Cosigned, clock: Clock) -> Iterator[Api]:
    """The service with these witnesses."""
    with Api(create_app(cosigned.settings, clock)) as opened:
        yield opened
        settled(opened)


def settled(api: Api) -> None:
    """Wait until nobody asks a witness in the background."""
    thread = api.service.cosigner._thread
    if thread is not None:
        thread.join(timeout=300)
        assert not thread.is_alive()


def receipt(api: Api, release: str) -> Response:
    """The receipt of a release that may have one: the first request has the witnesses asked, and does not wait."""
    pending = api.analyst("GET", f"/v1/releases/{release}/receipt")
    assert (pending.status_code, pending.json()["type"]) == (409, "urn:rugnik:problem:receipt-pending")
    assert 0 < int(pending.headers["Retry-After"]) <= 60
    settled(api)
    return api.analyst("GET", f"/v1/releases/{release}/receipt")


def eventually(holds: Callable[[], bool]) -> None:
    """Wait for what a thread in the background does."""
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_no_row_is_read_while_the_witnesses_are_down(api: Api, cosigned: Cosigned) -> None:
    """Uploads answer 503 before the body is asked for; grants, charges, voids and answers go on. Then the same upload
    succeeds, and costs nothing more."""
    api.register()
    published = api.published()
    settled(api)
    cosigned.all_up(up=False)
    assert api.admin("POST", "/v1/datasets/city/grants", json={"epsilon": "1", "reason": "r"}).status_code == 201
    release, void = (str(api.order(epsilon="0.1").json()["id"]) for _ in range(2))
    assert api.curator("DELETE", f"/v1/releases/{void}").status_code == 200
    read: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        for place in range(0, len(ROWS), 100):
            read.append(ROWS[place : place + 100])
            yield read[-1]

    refused = api.upload(release, body())
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:rugnik:problem:not-cosigned")
    assert int(refused.headers["Retry-After"]) > 0
    assert len(read) <= 1, "no more than the transport takes in advance"
    assert api.curator("GET", f"/v1/releases/{release}").json()["state"] == "ordered"
    assert api.analyst("GET", f"/v1/releases/{published}/count").status_code == 200
    assert api.auditor("GET", "/v1/ledger/verify").json()["valid"]
    assert api.call(None, "GET", "/readyz").status_code == 200
    settled(api)
    cosigned.witnesses[0].is_up = True
    assert api.upload(release, ROWS).status_code == 503, "one of three is no quorum"
    cosigned.witnesses[2].is_up = True
    assert api.upload(release, ROWS).status_code == 200
    assert api.budget()["spent"] == "0.6"


def test_counts_and_sizes_wait_for_the_quorum_as_well(api: Api, cosigned: Cosigned) -> None:
    """Whatever comes from rows that are counted elsewhere is not read either, and nothing is drawn."""
    api.register(budget="20")
    counted = str(api.order(rule="adaptive", epsilon="9", clusters=1).json()["id"])
    counts = {"content": counts_body(api, counted), "headers": COUNTS}
    settled(api)
    cosigned.all_up(up=False)
    adaptive = str(api.order(rule="adaptive", epsilon="9", clusters=1).json()["id"])
    bought = str(api.order(epsilon="1", size={"estimate": "0.1", "guess": 500}).json()["id"])
    size = {"json": {"rows": 500}}
    assert api.curator("PUT", f"/v1/releases/{adaptive}/counts", **counts).status_code == 503
    assert api.curator("POST", f"/v1/releases/{bought}/size", **size).status_code == 503
    assert api.curator("PUT", f"/v1/releases/{counted}/counts", **counts).status_code == 200, "signed for before"
    entries = api.auditor("GET", "/v1/ledger?kind=draw").json()["entries"]
    assert {entry["release"] for entry in entries} == {counted}
    settled(api)
    cosigned.all_up(up=True)
    assert api.curator("POST", f"/v1/releases/{bought}/size", **size).status_code == 200


def test_receipts_hold_the_signatures_of_the_quorum_for_ever(api: Api, cosigned: Cosigned, clock: Clock) -> None:
    """They fulfil the policy of somebody who trusts the witnesses, and keep their bytes when more witnesses sign."""
    api.register()
    cosigned.witnesses[1].is_up = False
    release = api.published()
    clock.move(3600)
    first = receipt(api, release)
    assert first.status_code == 200
    facts = Receipt.parse(first.text).require(cosigned.policy)
    assert (facts.release, set(facts.witnesses)) == (release, {"w0", "w2"})
    cosigned.witnesses[1].is_up = True
    api.register("more")
    settled(api)
    assert api.analyst("GET", f"/v1/releases/{release}/receipt").content == first.content
    kept = Note.parse(api.call(None, "GET", "/log/checkpoint").text)
    assert str(kept) in first.text, "one checkpoint in each period: others would tell the time of each charge"
    clock.move(3600)
    api.register("still-more")
    settled(api)
    shown = Note.parse(api.call(None, "GET", "/log/checkpoint").text)
    assert cosigned.policy.require(shown).checkpoint.size == api.service.replay.head.seq
    assert set(signers(api.service)) == {"w0", "w1", "w2"}


def test_a_receipt_waits_for_the_quorum(api: Api, cosigned: Cosigned, clock: Clock) -> None:
    """409 while witnesses are silent, though the tick is over; the checkpoint that is shown stays the signed one."""
    api.register()
    release = api.published()
    settled(api)
    shown = api.call(None, "GET", "/log/checkpoint").text
    cosigned.all_up(up=False)
    clock.move(3600)
    assert receipt(api, release).status_code == 409
    assert api.call(None, "GET", "/log/checkpoint").text == shown
    settled(api)
    cosigned.all_up(up=True)
    api.service.cosigner.sign_newest(api.service)
    assert api.analyst("GET", f"/v1/releases/{release}/receipt").status_code == 200
    assert api.call(None, "GET", "/log/checkpoint").text != shown


def test_a_request_for_a_receipt_holds_no_thread(api: Api, cosigned: Cosigned, clock: Clock) -> None:
    """It is answered while the witnesses keep their replies to themselves, and so is a page for many other requests."""
    api.register()
    release = api.published()
    settled(api)
    clock.move(3600)
    for witness in cosigned.witnesses:
        witness.may_answer.clear()
    for _ in range(3):
        for path in ("receipt", "bundle"):
            pending = api.analyst("GET", f"/v1/releases/{release}/{path}")
            assert pending.status_code == 409
            assert "witnesses are being asked" in pending.json()["detail"]
    thread = api.service.cosigner._thread
    assert thread is not None
    assert thread.is_alive(), "the witnesses are still asked"
    for witness in cosigned.witnesses:
        witness.may_answer.set()
    settled(api)
    assert api.analyst("GET", f"/v1/releases/{release}/receipt").status_code == 200


def test_few_uploads_wait_for_the_witnesses_at_once(api: Api, cosigned: Cosigned) -> None:
    """Further ones get 503 without waiting, so that other requests find a thread."""
    api.register()
    settled(api)
    cosigned.all_up(up=False)
    release = str(api.order().json()["id"])
    settled(api)
    cosigned.all_up(up=True)
    waiting = api.service.cosigner._waiting
    while waiting.acquire(blocking=False):
        pass  # as threads that wait do
    asked = cosigned.witnesses[0].asked
    assert api.upload(release).json()["type"] == "urn:rugnik:problem:not-cosigned"
    assert cosigned.witnesses[0].asked == asked
    waiting.release()
    assert api.upload(release).status_code == 200


def shown_size(api: Api) -> int:
    """The size of the checkpoint that anybody sees."""
    reply = api.call(None, "GET", "/log/checkpoint")
    assert reply.status_code == 200, reply.text
    return Checkpoint.of(Note.parse(reply.text)).size


def test_no_checkpoint_is_shown_before_a_quorum_has_signed_one(
    sqlite_settings: Settings, tmp_path: Path, clock: Clock
) -> None:
    """The one that a quorum signs meanwhile could have fewer entries."""
    with with_witnesses(sqlite_settings, tmp_path) as cosigned:
        cosigned.all_up(up=False)
        with Api(create_app(cosigned.settings, clock)) as api:
            api.register()
            settled(api)
            refused = api.call(None, "GET", "/log/checkpoint")
            assert (refused.status_code, refused.json()["type"]) == (503, "urn:rugnik:problem:not-sealed")
            assert int(refused.headers["Retry-After"]) > 0
            assert api.auditor("GET", "/v1/ledger/consistency?old=1").status_code == 503
            assert api.auditor("GET", "/log/tile/0/000.p/1").status_code == 503
            assert "has not signed yet" in api.auditor("GET", "/log").text
            settled(api)
            cosigned.all_up(up=True)
            api.service.cosigner.sign_newest(api.service)
            assert shown_size(api) == api.service.replay.head.seq
            settled(api)


def test_a_checkpoint_and_a_receipt_never_go_back_when_a_quorum_comes_and_goes(
    sqlite_settings: Settings, tmp_path: Path, clock: Clock
) -> None:
    """Shown sizes only grow. A receipt without a quorum says that it may be exchanged; it is, once, and then final."""
    with with_witnesses(sqlite_settings, tmp_path) as cosigned:
        without = cosigned.settings.model_copy(update={"policy": None})
        with Api(create_app(without, clock)) as api:
            keys = api.keys
            api.register()
            first = api.published()
            api.register("more")
            unsealed = api.analyst("GET", f"/v1/releases/{first}/receipt")
            assert unsealed.headers["cache-control"] == "private, no-cache"
            sizes = [shown_size(api)]
        with Api(create_app(cosigned.settings, clock), keys) as api:
            settled(api)
            sizes.append(shown_size(api))
            sealed = api.analyst("GET", f"/v1/releases/{first}/receipt")
            assert "immutable" in sealed.headers["cache-control"]
            assert set(Receipt.parse(sealed.text).require(cosigned.policy).witnesses) == {"w0", "w1", "w2"}
            assert sealed.headers["etag"] != unsealed.headers["etag"]
        with Api(create_app(without, clock), keys) as api:
            assert api.analyst("GET", f"/v1/releases/{first}/receipt").content == sealed.content
            api.register("yet-more")
            sizes.append(shown_size(api))
        cosigned.all_up(up=False)
        with Api(create_app(cosigned.settings, clock), keys) as api:
            assert api.call(None, "GET", "/log/checkpoint").status_code == 503, "more than was signed was shown"
            settled(api)
            cosigned.all_up(up=True)
            api.service.cosigner.sign_newest(api.service)
            sizes.append(shown_size(api))
            assert api.analyst("GET", f"/v1/releases/{first}/receipt").content == sealed.content
        assert sizes == sorted(sizes)
        assert sizes[1] < sizes[2], "without a quorum more was shown"


def test_other_witnesses_sign_what_is_shown_without_a_new_entry(
    sqlite_settings: Settings, tmp_path: Path, clock: Clock
) -> None:
    """A policy with other witnesses has its own quorum under the newest checkpoint."""
    (tmp_path / "other").mkdir()
    with with_witnesses(sqlite_settings, tmp_path) as cosigned:
        with Api(create_app(cosigned.settings, clock)) as api:
            keys = api.keys
            api.register()
            settled(api)
            clock.move(3600)
            api.service.cosigner.sign_newest(api.service)
            before = shown_size(api)
            assert before == api.service.replay.head.seq
        other = replace(cosigned.witnesses[0], key=cosigning_key("other.example"))
        other.witness = Witness(other.key, [cosigned.log_key.verifier], tmp_path / "other")
        with odd_witness(other.answer) as url:
            line = f"log {cosigned.log_key.verifier}\nwitness other {other.key.verifier} {url}\nquorum other\n"
            (tmp_path / "policy").write_text(line)
            with Api(create_app(cosigned.settings, clock), keys) as api:
                assert shown_size(api) == before
                shown = Note.parse(api.call(None, "GET", "/log/checkpoint").text)
                assert Policy.parse(line).require(shown).checkpoint.size == before
                settled(api)


def test_a_row_that_claims_a_quorum_is_not_believed(sqlite_settings: Settings, tmp_path: Path, clock: Clock) -> None:
    """Whoever writes the database, and even holds the log's key, cannot have rows read without the witnesses."""
    with with_witnesses(sqlite_settings, tmp_path) as cosigned, Api(create_app(cosigned.settings, clock)) as api:
        cosigned.all_up(up=False)
        api.register()
        release = str(api.order().json()["id"])
        settled(api)
        size = api.service.replay.tree.size
        with api.service.database.transaction() as tx:
            forged = str(api.service.checkpoint(size))
            tx.execute(checkpoints.insert().values(size=size, sealed=True, note=forged))
        assert api.upload(release).status_code == 503
        settled(api)


def test_edited_signatures_of_witnesses_do_not_count(sqlite_settings: Settings, tmp_path: Path, clock: Clock) -> None:
    """Neither unreadable ones nor those of another size or witness."""
    with with_witnesses(sqlite_settings, tmp_path) as cosigned, Api(create_app(cosigned.settings, clock)) as api:
        api.register()
        settled(api)
        api.service.cosigner.sign_newest(api.service)
        assert set(signers(api.service)) == {"w0", "w1", "w2"}
        with without_triggers(api.service) as connection:
            connection.exec_driver_sql("UPDATE cosignatures SET line = 'x' WHERE signer = 'w0'")
            connection.exec_driver_sql("UPDATE cosignatures SET size = size + 1000 WHERE signer = 'w1'")
            connection.exec_driver_sql("UPDATE cosignatures SET signer = 'w9' WHERE signer = 'w2'")
            connection.commit()
        assert signers(api.service) == {}
        assert api.upload(str(api.order().json()["id"])).status_code == 200
        settled(api)


def test_a_witness_that_is_ahead_of_the_database_stops_the_start(
    sqlite_settings: Settings, tmp_path: Path, clock: Clock
) -> None:
    """Also where the witness file went back together with the database."""
    with with_witnesses(sqlite_settings, tmp_path) as cosigned:
        settings = cosigned.settings
        with Api(create_app(settings, clock)) as api:
            api.register()
            settled(api)
            old, file = settings.sqlite_path.with_suffix(".old"), settings.witness_path.read_bytes()
            with closing(sqlite3.connect(settings.sqlite_path)) as live, closing(sqlite3.connect(old)) as copy:
                live.backup(copy)
            assert api.order().status_code == 201
            settled(api)
        for path in settings.data_dir.glob(settings.sqlite_path.name + "*"):
            if path != old:
                path.unlink()
        old.rename(settings.sqlite_path)
        settings.witness_path.write_bytes(file)
        with pytest.raises(LedgerRewound, match="lost commits"):
            make_service(settings, clock)
        cosigned.all_up(up=False)
        make_service(settings, clock).database.dispose()  # nobody can tell


def test_a_rewritten_log_is_refused_by_the_witnesses(sqlite_settings: Settings, tmp_path: Path, clock: Clock) -> None:
    """With a witness file that was rewritten as well."""
    with with_witnesses(sqlite_settings, tmp_path) as cosigned:
        with Api(create_app(cosigned.settings, clock)) as api:
            api.register()
            settled(api)
            api.service.cosigner.sign_newest(api.service)
            rewrite_from(api.service, 2, actor="somebody else")
            with without_triggers(api.service) as connection:
                for table in ("checkpoints", "cosignatures"):
                    connection.exec_driver_sql(f"DELETE FROM {table}")
                connection.commit()
        cosigned.settings.witness_path.unlink()
        with pytest.raises(LedgerRewound, match="entries were changed"):
            make_service(cosigned.settings, clock)


def test_a_quorum_that_is_silent_for_too_long_is_not_ready(api: Api, cosigned: Cosigned, clock: Clock) -> None:
    """/readyz does not wait for a witness, and says so once the grace is over; it mends itself."""

    def is_ready() -> bool:
        ready = api.call(None, "GET", "/readyz").status_code == 200
        settled(api)
        return ready

    api.register()
    settled(api)
    cosigned.all_up(up=False)
    api.order()
    settled(api)
    assert is_ready()
    clock.move(24 * 3600)  # the order was shown before 4 o'clock
    assert is_ready()
    clock.move(3600)
    assert not is_ready()
    with Api(create_app(cosigned.settings, clock), api.keys) as restarted:
        assert restarted.call(None, "GET", "/readyz").status_code == 503, "a restart does not begin the grace anew"
        settled(restarted)
    cosigned.all_up(up=True)
    eventually(is_ready)


@pytest.mark.parametrize(("seconds", "hours"), [(0, 24), (1800, 3.5), (3600, 4), (4 * 3600, 4)])
def test_when_an_entry_was_shown_follows_from_what_is_on_record(
    sqlite_settings: Settings, clock: Clock, seconds: int, hours: float
) -> None:
    """With the end of its period; of its day, where no period is on record."""
    changed = sqlite_settings.model_copy(update={"checkpoint_seconds": seconds})
    with Api(create_app(changed, clock)) as api:
        api.register()
        shown = shown_at(api.service, api.service.replay.head.seq)
        assert shown == clock.now.replace(hour=0, minute=0, second=0) + timedelta(hours=hours)
        if not seconds:
            later = replace(api.service, settings=changed.model_copy(update={"checkpoint_seconds": 60}))
            assert shown_at(later, api.service.replay.head.seq) == shown


def test_a_policy_with_other_witnesses_begins_no_new_grace(
    sqlite_settings: Settings, tmp_path: Path, clock: Clock
) -> None:
    """An old log that none of them has signed is not ready, and says so; it is once they have signed."""
    with with_witnesses(sqlite_settings, tmp_path) as cosigned:
        with Api(create_app(cosigned.settings.model_copy(update={"policy": None}), clock)) as api:
            keys = api.keys
            api.register()
        clock.move(48 * 3600)
        cosigned.all_up(up=False)
        with Api(create_app(cosigned.settings, clock), keys) as api:
            refused = api.call(None, "GET", "/readyz")
            assert (refused.status_code, "has ever signed" in refused.json()["detail"]) == (503, True)
            settled(api)
            cosigned.all_up(up=True)
            api.service.cosigner.sign_newest(api.service)
            assert api.call(None, "GET", "/readyz").status_code == 200
            settled(api)


def test_an_entry_that_is_missing_is_no_error_of_readiness(api: Api, cosigned: Cosigned) -> None:
    """The oldest entry that no quorum signed is gone."""
    api.register()
    settled(api)
    api.service.cosigner.sign_newest(api.service)
    signed = api.service.replay.head.seq
    cosigned.all_up(up=False)
    for _ in range(2):
        api.order(epsilon="0.1")
    settled(api)
    assert api.call(None, "GET", "/readyz").status_code == 200
    settled(api)
    with behind_triggers(cosigned.settings) as connection:
        connection.exec_driver_sql(f"DELETE FROM ledger WHERE seq = {signed + 1}")
    refused = api.call(None, "GET", "/readyz")
    assert (refused.status_code, f"Entry {signed + 1} " in refused.json()["detail"]) == (503, True)
    settled(api)


def test_an_alarm_ends_when_a_quorum_signs_and_not_before(
    sqlite_settings: Settings, tmp_path: Path, clock: Clock
) -> None:
    """Signatures that are stored say nothing about the past that a witness saw since."""
    with with_witnesses(sqlite_settings, tmp_path) as cosigned, Api(create_app(cosigned.settings, clock)) as api:
        api.register()
        settled(api)
        clock.move(3600)
        cosigner = api.service.cosigner
        cosigner.sign_newest(api.service)
        cosigner._alarm = "A witness has signed another past."
        for witness in cosigned.witnesses:
            witness.lies = True
        with pytest.raises(NotReady, match="lost commits"):
            cosigner.sign_newest(api.service)
        assert api.call(None, "GET", "/readyz").status_code == 503
        settled(api)
        for witness in cosigned.witnesses:
            witness.lies = False
        cosigner.sign_newest(api.service)
        assert api.call(None, "GET", "/readyz").status_code == 200
        settled(api)


def test_as_many_liars_as_may_be_corrupt_stop_nothing_but_uploads(
    sqlite_settings: Settings, tmp_path: Path, clock: Clock
) -> None:
    """One of four says that it signed more than there is, and another one is silent: three would have to sign."""
    with with_witnesses(sqlite_settings, tmp_path, count=4, least=3) as cosigned:
        cosigned.witnesses[0].lies = True
        cosigned.witnesses[1].is_up = False
        with Api(create_app(cosigned.settings, clock)) as api:
            api.register()
            settled(api)
            assert api.call(None, "GET", "/readyz").status_code == 200
            release = str(api.order().json()["id"])
            assert api.upload(release).json()["type"] == "urn:rugnik:problem:not-cosigned"
            settled(api)
            cosigned.witnesses[1].lies = cosigned.witnesses[1].is_up = True
            refused = api.upload(release)
            assert (refused.status_code, "lost commits" in refused.json()["detail"]) == (503, True)
            assert api.call(None, "GET", "/readyz").status_code == 503
            settled(api)


def test_workers_that_ask_at_once_raise_no_alarm(cosigned: Cosigned, clock: Clock) -> None:
    """A witness that signed a larger tree for another worker is no sign of lost commits."""
    with (
        Api(create_app(cosigned.settings, clock)) as one,
        Api(create_app(cosigned.settings, clock), one.keys) as two,
    ):
        one.register(budget="9")
        for _ in range(4):
            first, second = one.order(epsilon="0.1").json()["id"], two.order(epsilon="0.1").json()["id"]
            assert two.upload(first).status_code == 200
            assert one.upload(second).status_code == 200
        settled(one)
        settled(two)
        for api in (one, two):
            assert api.call(None, "GET", "/readyz").status_code == 200
            settled(api)
        with one.service.database.read_only() as tx:
            kept = tx.execute(select(checkpoints.c.size, checkpoints.c.note).where(checkpoints.c.sealed)).all()
            assert tx.execute(select(cosignatures)).first() is not None
        for size, note in kept:
            assert cosigned.policy.require(Note.parse(note)).checkpoint.size == size


def test_a_charge_that_comes_while_witnesses_are_asked_is_shown_to_them_as_well(
    api: Api, cosigned: Cosigned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without anybody who waits for it: the thread in the background asks again."""
    real, asked = cosigning.collect, []

    def meanwhile(*args: Any) -> Any:
        if not asked:
            asked.append(api.order().status_code)
        return real(*args)

    settled(api)
    monkeypatch.setattr(cosigning, "collect", meanwhile)
    api.register()
    settled(api)
    assert asked == [201]
    sizes = [witness.witness.sizes()[cosigned.log_key.name] for witness in cosigned.witnesses]
    assert sizes == [api.service.replay.head.seq] * 3


def test_a_larger_checkpoint_is_never_followed_by_a_smaller_one(api: Api) -> None:
    """So the smallest one that holds an entry stays the smallest."""
    api.register()
    settled(api)
    size = api.service.replay.tree.size
    for wanted in (size, size - 1):
        stored_checkpoints.store(api.service, api.service.checkpoint(wanted), sealed=False)
    with api.service.database.read_only() as tx:
        kept = tx.execute(select(checkpoints.c.size).where(checkpoints.c.sealed.is_(False))).scalars().all()
    assert kept == [size]


def test_real_witness_processes_are_killed_and_come_back(
    sqlite_settings: Settings, tmp_path: Path, clock: Clock
) -> None:
    """`rugnik witness` in a process of its own: silence is 503, and what it signed is kept."""
    with with_witnesses(sqlite_settings, tmp_path, count=1, least=1) as cosigned:
        folder = tmp_path / "process"
        log = cosigned.log_key.verifier
        with running_witness(folder, log) as witness:
            (tmp_path / "policy").write_text(f"log {log}\nwitness w {witness.key} {witness.url}\nquorum w\n")
            with Api(create_app(cosigned.settings, clock)) as api:
                api.register()
                release = api.published()
                clock.move(3600)
                signed = receipt(api, release)
                assert signed.status_code == 200
                other = str(api.order().json()["id"])
                settled(api)
                witness.kill()
                third = str(api.order().json()["id"])
                settled(api)
                assert api.upload(other).status_code == 200, "it was signed for before"
                assert api.upload(third, headers=CSV).status_code == 503
                keys = api.keys
                settled(api)
        with running_witness(folder, log) as witness:
            (tmp_path / "policy").write_text(f"log {log}\nwitness w {witness.key} {witness.url}\nquorum w\n")
            with Api(create_app(cosigned.settings, clock), keys) as api:
                assert api.upload(third).status_code == 200
                assert api.analyst("GET", f"/v1/releases/{release}/receipt").content == signed.content
                settled(api)


def test_a_checkpoint_of_the_log_is_no_quorum(cosigned: Cosigned, clock: Clock) -> None:
    """The log's own signature, however often, fulfils no policy with witnesses."""
    with Api(create_app(cosigned.settings, clock)) as api:
        note = api.service.checkpoint(1)
        settled(api)
    with pytest.raises(InvalidNote):
        cosigned.policy.require(Note(note.text, note.signatures * 3))
    assert Checkpoint.of(note).size == 1


def test_an_upload_wakes_nobody_who_asks_witnesses(sqlite_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request at the moment of a draw would tell when the rows were read; the moment of an order is public."""
    woken: list[int] = []
    cosigner = sqlite_api.service.cosigner
    monkeypatch.setattr(cosigner, "wake", lambda service: woken.append(service.replay.head.seq))
    sqlite_api.register()
    order = sqlite_api.order().json()["id"]
    asked = len(woken)
    assert asked >= 2
    assert sqlite_api.upload(order).status_code == 200
    assert len(woken) == asked
