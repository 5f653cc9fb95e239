"""The log over HTTP: what a checkpoint shows when, receipts, consistency proofs and tiles, on both databases."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from app.errors import CannotStart
from app.ledger.entries import entries_until
from app.ledger.verification import verify_all
from app.main import create_app, make_service
from app.releases import uploading
from app.settings.settings import Settings
from core.ledger.entry import LedgerEntry
from core.log.checkpoint import Checkpoint
from core.log.note import Note
from core.log.policy import Policy
from core.log.receipt import Receipt
from core.log.tree import Frontier, is_consistent, leaf_hash, node_hash
from tests.support.databases.books import filled_ledger, long_ledger, rewrite_from, without_triggers
from tests.support.service.api import Api, frozen_clock
from tests.support.service.cosigned import Clock


@pytest.fixture
def clock() -> Clock:
    """A clock that the test moves."""
    return Clock()


@pytest.fixture
def timed(settings: Settings, clock: Clock) -> Iterator[Api]:
    """A service on each kind of database whose clock the test moves."""
    with Api(create_app(settings, clock)) as opened:
        yield opened


def shown(api: Api) -> str:
    """The checkpoint as anybody sees it."""
    reply = api.call(None, "GET", "/log/checkpoint")
    assert (reply.status_code, reply.headers["cache-control"]) == (200, "no-store")
    return reply.text


def size_of(note: str) -> int:
    return Checkpoint.of(Note.parse(note)).size


def all_entries(api: Api) -> list[LedgerEntry]:
    return list(entries_until(api.service, api.service.replay.head))


# --- timing


@pytest.mark.parametrize("seconds", [0, 1, 1800, 3500])
def test_a_poller_sees_no_change_between_the_charge_and_the_next_tick(
    timed: Api, clock: Clock, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the upload takes, and whoever else looks: only the period of its end is seen."""
    timed.register()
    release = str(timed.order().json()["id"])
    charged = shown(timed)
    assert size_of(charged) == timed.service.replay.head.seq, "a charge is shown at once"
    real, during = uploading.draw_synopsis, []

    def slow(*args: Any, **options: Any) -> Any:
        during.append(shown(timed))
        clock.move(seconds)
        during.append(shown(timed))
        return real(*args, **options)

    monkeypatch.setattr(uploading, "draw_synopsis", slow)
    assert timed.upload(release).status_code == 200
    assert during == [charged, charged]
    assert shown(timed) == charged
    assert timed.call(None, "GET", "/readyz").status_code == 200
    assert timed.analyst("GET", f"/v1/releases/{release}/receipt").status_code == 409
    while clock.now.hour == 3:
        assert shown(timed) == charged
        clock.move(30)
    assert size_of(shown(timed)) == timed.service.replay.head.seq


def test_a_tick_is_the_same_for_every_worker_and_after_a_restart(settings: Settings, clock: Clock) -> None:
    """A log never shows less than before: a follower would take it for a log whose end was cut off."""
    with Api(create_app(settings, clock)) as one, Api(create_app(settings, clock), one.keys) as two:
        one.register()
        one.published()
        charged = shown(one)
        assert shown(two) == charged
        clock.move(1800)
        assert shown(two) == shown(one) == charged
        clock.move(1800)
        published = shown(two)
        assert size_of(published) == one.service.replay.head.seq
        assert shown(one) == published
        other = str(one.order().json()["id"])
        assert one.upload(other).status_code == 200
        before = shown(one)
        keys = one.keys
    with Api(create_app(settings, clock), keys) as again:
        assert shown(again) == before
        clock.move(3600)
        assert size_of(shown(again)) == again.service.replay.head.seq


# --- receipts


def test_a_receipt_is_pinned_for_ever(settings: Settings, clock: Clock) -> None:
    """409 with the seconds to wait until the tick; then the same bytes, after more entries and restarts."""
    with Api(create_app(settings, clock)) as api:
        api.register()
        first, second = api.published(), api.published()
        # The second charge made the first publication visible: it came before.
        early = api.analyst("GET", f"/v1/releases/{first}/receipt")
        assert early.status_code == 200
        pending = api.analyst("GET", f"/v1/releases/{second}/receipt")
        assert (pending.status_code, pending.json()["type"]) == (409, "urn:rugnik:problem:receipt-pending")
        assert 0 < int(pending.headers["Retry-After"]) <= 3600
        clock.move(int(pending.headers["Retry-After"]))
        late = api.analyst("GET", f"/v1/releases/{second}/receipt")
        assert late.status_code == 200
        policy, keys = Policy.parse(api.call(None, "GET", "/log/policy").text), api.keys
        for release, reply in ((first, early), (second, late)):
            facts = Receipt.parse(reply.text).require(policy)
            digest = api.analyst("GET", f"/v1/releases/{release}").json()["synopsis"]["digest"]
            assert (facts.release, facts.digest, str(facts.epsilon)) == (release, digest, "0.5")
        api.register("more")
        clock.move(7200)
    with Api(create_app(settings, clock), keys) as api:
        api.register("even-more")
        for release, reply in ((first, early), (second, late)):
            again = api.analyst("GET", f"/v1/releases/{release}/receipt")
            assert (again.content, again.headers["etag"]) == (reply.content, reply.headers["etag"])
            seen = {"If-None-Match": reply.headers["etag"]}
            assert api.analyst("GET", f"/v1/releases/{release}/receipt", headers=seen).status_code == 304


def test_a_receipt_is_for_those_who_may_ask_the_release(timed: Api) -> None:
    """Others learn nothing from it, and an order has none."""
    timed.register()
    release, other = timed.published(), str(timed.order().json()["id"])
    assert timed.call(None, "GET", f"/v1/releases/{release}/receipt").status_code == 401
    assert timed.analyst("GET", f"/v1/releases/{other}/receipt").status_code == 404
    assert timed.analyst("GET", "/v1/releases/r0000000000000000/receipt").status_code == 404


@pytest.mark.parametrize("edit", ["note = 'x'", "note = replace(note, 'rugnik', 'other')", "size = size + 1"])
def test_a_changed_checkpoint_is_never_served_and_is_found(sqlite_settings: Settings, clock: Clock, edit: str) -> None:
    """A receipt answers 503 with a sentence; a verification names the row."""
    with Api(create_app(sqlite_settings, clock)) as api:
        api.register()
        release = api.published()
        clock.move(3600)
        assert api.analyst("GET", f"/v1/releases/{release}/receipt").status_code == 200
        with without_triggers(api.service) as connection:
            connection.exec_driver_sql(f"UPDATE checkpoints SET {edit}")
            connection.commit()
        refused = api.analyst("GET", f"/v1/releases/{release}/receipt")
        assert refused.status_code == 503
        assert "somebody changed it" in refused.json()["detail"]
        outcome = api.auditor("GET", "/v1/ledger/verify").json()
        assert not outcome["valid"]
        assert "checkpoint" in outcome["reason"]


def test_a_checkpoint_of_another_tree_is_never_served_though_the_log_signed_it(
    sqlite_settings: Settings, clock: Clock
) -> None:
    """Whoever holds the log's key can sign; the root is compared with the entries."""
    with Api(create_app(sqlite_settings, clock)) as api:
        api.register()
        release = api.published()
        clock.move(3600)
        assert api.analyst("GET", f"/v1/releases/{release}/receipt").status_code == 200
        size = api.service.replay.tree.size
        forged = replace(Checkpoint.of(api.service.checkpoint(size)), root=bytes(32)).signed(*api.service.log.keys)
        with without_triggers(api.service) as connection:
            connection.exec_driver_sql("UPDATE checkpoints SET note = ?", (str(forged),))
            connection.commit()
        assert api.analyst("GET", f"/v1/releases/{release}/receipt").status_code == 503
        assert not verify_all(api.service).valid


@pytest.mark.parametrize(
    ("edit", "says"),
    [("verifier = 'x'", "table log was changed"), ("origin = 'other.example/log'", "table log was changed")],
)
def test_a_changed_name_or_key_of_the_log_stops_the_start(sqlite_settings: Settings, edit: str, says: str) -> None:
    """With a sentence, not with an exception that nobody expects."""
    service = make_service(sqlite_settings, frozen_clock)
    with without_triggers(service) as connection:
        connection.exec_driver_sql(f"UPDATE log SET {edit}")
        connection.commit()
    service.database.dispose()
    with pytest.raises(CannotStart, match=says):
        make_service(sqlite_settings, frozen_clock)


# --- balances and salts


@pytest.mark.parametrize(("field", "value"), [("granted", "8"), ("spent", "0.002"), ("spent", None)])
def test_a_charge_that_states_another_balance_is_found(
    sqlite_settings: Settings, field: str, value: str | None
) -> None:
    """Though every hash after it fits: the walk knows what was granted and spent before it."""
    service = make_service(sqlite_settings, frozen_clock)
    filled_ledger(service, orders=1)
    entries = list(entries_until(service, service.replay.head))
    charge = next(entry for entry in entries if entry.release)
    detail = {**charge.detail, field: value}
    if value is None:
        del detail[field]
    rewrite_from(service, charge.seq, keeps_rules=False, detail=detail)
    outcome = verify_all(service)
    service.database.dispose()
    assert (outcome.valid, outcome.first_bad) == (False, charge.seq)
    assert outcome.reason is not None
    assert "states another balance" in outcome.reason


def test_the_neighbours_of_an_entry_cannot_be_guessed(timed: Api, clock: Clock) -> None:
    """A receipt holds hashes of entries about other datasets. Somebody who knows everything about these entries but
    their salts finds no hash; with the salt the same search does."""
    timed.register()
    release = timed.published()
    timed.register("secret", budget="2.5")
    clock.move(3600)
    receipt = Receipt.parse(timed.analyst("GET", f"/v1/releases/{release}/receipt").text)
    hashes = {*receipt.publish_hashes, *receipt.charge_hashes}
    known = {bytes.fromhex(receipt.publish.previous), bytes.fromhex(receipt.charge.previous)}

    def is_found(entry: LedgerEntry) -> bool:
        digest = bytes.fromhex(entry.sealed().hash)
        return digest in known or leaf_hash(digest) in hashes

    entries = all_entries(timed)
    assert len({entry.detail["salt"] for entry in entries}) == len(entries)
    assert any(is_found(entry) for entry in entries), "the search must be able to succeed"
    guesses = ["", "0" * 32, sha256(b"").hexdigest()[:32]]
    for entry, guess in product(entries, guesses):
        unsalted = {name: value for name, value in entry.detail.items() if name != "salt"}
        assert not is_found(replace(entry, detail=unsalted))
        assert not is_found(replace(entry, detail={**unsalted, "salt": guess}))


# --- consistency and tiles


def test_every_smaller_log_is_proved_to_be_the_beginning(timed: Api) -> None:
    """By the hashes of the reply alone, against the checkpoint that comes with them."""
    timed.register()
    timed.published()
    timed.register("more")
    frontier, roots = Frontier(), {}
    for entry in all_entries(timed):
        frontier.append(bytes.fromhex(entry.hash))
        roots[frontier.size] = frontier.root
    for old in range(1, frontier.size + 1):
        reply = timed.auditor("GET", f"/v1/ledger/consistency?old={old}").json()
        newest = Checkpoint.of(Note.parse(reply["checkpoint"]))
        assert newest.size == frontier.size
        proof = [b64decode(line) for line in reply["proof"]]
        assert is_consistent(old=old, old_root=roots[old], new=newest.size, new_root=newest.root, proof=proof)
        assert not is_consistent(old=old, old_root=bytes(32), new=newest.size, new_root=newest.root, proof=proof)
    assert timed.auditor("GET", f"/v1/ledger/consistency?old={frontier.size + 1}").status_code == 422
    assert timed.analyst("GET", "/v1/ledger/consistency?old=1").status_code == 403


def test_tiles_are_the_hashes_of_the_entries(settings: Settings) -> None:
    """Full and partial ones of two levels, against hashes that are worked out here; nothing beyond the checkpoint."""
    with Api(create_app(settings, frozen_clock)) as api:
        long_ledger(api.service, orders=200)
        entries = [bytes.fromhex(entry.hash) for entry in all_entries(api)]
        size = size_of(shown(api))
        assert size == len(entries) > 512
        leaves = [leaf_hash(entry) for entry in entries]
        rest = size - 512

        def tile(path: str) -> bytes:
            reply = api.auditor("GET", f"/log/tile/{path}")
            assert reply.status_code == 200, path
            assert "immutable" in reply.headers["cache-control"]
            return reply.content

        assert tile("0/000") == b"".join(leaves[:256])
        assert tile("0/001") == b"".join(leaves[256:512])
        assert tile(f"0/002.p/{rest}") == b"".join(leaves[512:])
        assert tile("1/000.p/2") == perfect(leaves[:256]) + perfect(leaves[256:512])
        assert tile("entries/001") == b"".join(b"\0\x20" + entry for entry in entries[256:512])
        for path in ("0/002", f"0/002.p/{rest + 1}", "1/000", "2/000.p/1", "0/000.p/256", "00/000", "0/0", "64/000"):
            assert api.auditor("GET", f"/log/tile/{path}").status_code == 404, path
        assert api.analyst("GET", "/log/tile/0/000").status_code == 403
        assert api.call(None, "GET", "/log/tile/0/000").status_code == 401


def perfect(leaves: list[bytes]) -> bytes:
    """The root of a perfect tree."""
    while len(leaves) > 1:
        leaves = [node_hash(left, right) for left, right in zip(leaves[::2], leaves[1::2], strict=True)]
    return leaves[0]


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A service whose tiles anybody may read."""
    folder = tmp_path_factory.mktemp("public")
    settings = Settings(data_dir=folder / "data", log_level="error", public_log=True)
    with Api(create_app(settings, frozen_clock)) as opened:
        opened.register()
        opened.published()
        yield opened


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    level=st.one_of(st.sampled_from(["0", "1", "entries", "63", "64", "-1"]), st.text(max_size=9)),
    place=st.one_of(st.from_regex(r"(x[0-9]{3}/){0,6}[0-9]{3}(\.p/[0-9]{1,4})?", fullmatch=True), st.text(max_size=70)),
)
def test_a_tile_that_is_not_there_is_refused(public: Api, level: str, place: str) -> None:
    """Whatever the path is, the service does not stumble over it."""
    path = f"/log/tile/{quote(level, errors='replace')}/{quote(place, errors='replace')}"
    reply = public.call(None, "GET", path)
    assert reply.status_code < 500


def test_tiles_are_public_where_the_operator_says_so_and_every_entry_has_a_salt(sqlite_settings: Settings) -> None:
    """Hashes of entries without a salt, of version 0.1, could be guessed: then auditors alone have them."""
    changed = Settings(**(sqlite_settings.model_dump(exclude_unset=True) | {"public_log": True}))
    with Api(create_app(changed, frozen_clock)) as api:
        api.register()
        assert api.call(None, "GET", "/log/tile/0/000.p/5").status_code == 200
        with without_triggers(api.service) as connection:
            connection.exec_driver_sql(
                """UPDATE ledger SET detail = replace(detail, '"salt":', '"x":') WHERE seq = 1"""
            )
            connection.commit()
        assert api.call(None, "GET", "/log/tile/0/000.p/5").status_code == 403
