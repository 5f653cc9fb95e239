"""Everything that decides is bound to the chain: whatever is edited in the database is found, or changes nothing."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.access.keys import issue_key
from app.access.permissions import Role
from app.access.sessions import _masked
from app.errors import CannotStart
from app.ledger import replay
from app.ledger.book import read_book
from app.ledger.entries import entries_until
from app.ledger.verification import verify_all
from app.main import create_app, make_service
from app.releases import reading
from app.settings.settings import Settings
from app.storage.tables import metadata
from core.budget import Epsilon
from core.canonical import canonical_json
from core.cells import DenseCells
from core.plan import Rule
from core.synopsis import Synopsis
from core.unit import Unit
from tests.support.browser.visitors import visitor
from tests.support.databases.books import without_triggers
from tests.support.databases.used import COLUMNS, Deeds, Used, behind_triggers, differing, require_usual
from tests.support.service.api import Api, frozen_clock


def tampered(api: Api, statement: str, **values: Any) -> int:
    """Run a statement behind the triggers' back; how many rows it changed."""
    with without_triggers(api.service) as connection:
        changed = connection.execute(text(statement), values).rowcount
        connection.commit()
    return int(changed)


def outcome(api: Api) -> dict[str, Any]:
    verification: dict[str, Any] = api.auditor("GET", "/v1/ledger/verify").json()
    return verification


def publish_seq(api: Api, release: str) -> int:
    entries = api.auditor("GET", "/v1/ledger?kind=publish").json()["entries"]
    return next(int(entry["seq"]) for entry in entries if entry["release"] == release)


# --- the charge decides how much noise is drawn, the grant over which domain


def test_the_noise_is_that_of_the_charge_and_the_bounds_those_of_the_grant(sqlite_api: Api) -> None:
    """No table holds an order or a domain; an edited charge is refused, and a synopsis says what was charged."""
    sqlite_api.register()
    release = str(sqlite_api.order(epsilon="0.01").json()["id"])
    with sqlite_api.service.database.read_only() as tx:
        tables = tx.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars().all()
    assert set(tables) == {*metadata.tables, "alembic_version"}
    assert {column.name for column in metadata.tables["datasets"].columns} == {"name", "description"}
    richer = (
        'UPDATE ledger SET detail = replace(detail, \'"epsilon":"0.01"\', \'"epsilon":"4"\') WHERE kind = \'charge\''
    )
    sqlite_api.order(epsilon="0.02")  # the charge is not the last entry, which is looked at with every request
    assert tampered(sqlite_api, richer) == 2
    refused = sqlite_api.upload(release)
    assert refused.status_code == 503
    assert "changed after it was verified" in refused.json()["detail"]
    assert sqlite_api.call(None, "GET", "/readyz").status_code == 503
    assert tampered(sqlite_api, richer.replace("0.01", "x").replace('"4"', '"0.01"').replace('"x"', '"4"')) >= 1
    assert sqlite_api.upload(release).status_code == 200
    synopsis = sqlite_api.analyst("GET", f"/v1/releases/{release}/synopsis").json()
    assert synopsis["epsilon"] == "0.01"


def test_a_charge_on_record_has_its_order_and_its_limit_on_cells(sqlite_api: Api) -> None:
    """What an upload needs is in the ledger: the order, the most cells, the bounds exactly as they were given."""
    bounds = [{"name": "x", "lower": 0.1, "upper": 0.30000000000000004}]
    assert sqlite_api.register("exact", attributes=bounds).status_code == 201
    assert sqlite_api.curator("GET", "/v1/datasets/exact").json()["attributes"] == bounds
    order = sqlite_api.order("exact").json()
    (charge,) = sqlite_api.auditor("GET", "/v1/ledger?kind=charge").json()["entries"]
    assert len(bytes.fromhex(charge["detail"].pop("salt"))) == 16
    assert charge["detail"] == {
        "order": order["plan"]["order"],
        "max_cells": sqlite_api.service.settings.max_cells,
        "granted": "3",
        "spent": "0.5",
    }


# --- verification sees the synopses


def other_bytes(body: bytes, **changes: Any) -> bytes:
    """A stored synopsis, whole and readable, that says something else."""
    return zlib.compress(replace(Synopsis.from_bytes(zlib.decompress(body)), **changes).to_bytes())


@pytest.mark.parametrize("damage", ["swapped", "deleted", "garbage", "no bytes", "counts edited"])
def test_a_synopsis_that_is_not_the_published_one_fails_the_verification(sqlite_api: Api, damage: str) -> None:
    """`valid` is false at the publish entry with a sentence, in both ways to verify, and questions get a problem."""
    sqlite_api.register()
    first, second = sqlite_api.published(epsilon="0.1"), sqlite_api.published(epsilon="0.1")
    assert outcome(sqlite_api)["valid"]
    with sqlite_api.service.database.read_only() as tx:
        bodies = {row.release: row.body for row in tx.execute(text("SELECT release, body FROM synopses"))}
    synopsis = Synopsis.from_bytes(zlib.decompress(bodies[first]))
    put: dict[str, Any] = {
        "swapped": bodies[second],
        "garbage": b"garbage",
        "no bytes": 10**15,
        "counts edited": other_bytes(bodies[first], cells=DenseCells(synopsis.grid, synopsis.counts + 1)),
    }
    if damage == "deleted":
        tampered(sqlite_api, "DELETE FROM synopses WHERE release = :release", release=first)
    else:
        tampered(
            sqlite_api, "UPDATE synopses SET body = :body WHERE release = :release", body=put[damage], release=first
        )
    verification = outcome(sqlite_api)
    assert (verification["valid"], verification["first_bad"]) == (False, publish_seq(sqlite_api, first))
    assert first in verification["reason"]
    on_record = sqlite_api.auditor("POST", "/v1/ledger/verifications").text.splitlines()[-1]
    assert json.loads(on_record)["first_bad"] == verification["first_bad"]
    ready = sqlite_api.call(None, "GET", "/readyz")
    assert (ready.status_code, first in ready.json()["detail"]) == (503, True)
    sqlite_api.forget_answers()
    for path in (f"/v1/releases/{first}", f"/v1/releases/{first}/count", f"/v1/releases/{first}/clusters?k=2"):
        refused = sqlite_api.analyst("GET", path)
        assert (refused.status_code, refused.json()["type"]) == (503, "urn:rugnik:problem:corrupt-synopsis"), path
    assert sqlite_api.analyst("GET", f"/v1/releases/{second}/count").status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": Epsilon.parse("4")},
        {"unit": Unit("patient", 3)},
        {"size_epsilon": Epsilon.parse("0.007")},
        {"rule": Rule.EUGKM},
    ],
    ids=str,
)
def test_a_synopsis_of_other_terms_than_its_charge_fails_the_verification(
    sqlite_api: Api, change: dict[str, Any]
) -> None:
    """Also where its publish was written anew, digest and hash fitting: the header is compared with the charge."""
    sqlite_api.register()
    release = sqlite_api.published(epsilon="0.01")
    service = sqlite_api.service
    (row,) = rows(sqlite_api, "synopses")
    body = other_bytes(row["body"], **change)
    publish = list(entries_until(service, service.replay.head))[-1]
    forged = replace(publish, detail={"digest": Synopsis.from_bytes(zlib.decompress(body)).digest}).sealed()
    tampered(sqlite_api, "UPDATE synopses SET body = :body", body=body)
    detail = canonical_json(forged.detail).decode()
    change = "UPDATE ledger SET detail = :detail, hash = :hash WHERE seq = :seq"
    assert tampered(sqlite_api, change, detail=detail, hash=forged.hash, seq=publish.seq) == 1
    verification = verify_all(service)
    assert (verification.first_bad, publish.release) == (publish.seq, release)
    assert "another release, dataset, epsilon, domain, unit, rule or noise" in str(verification.reason)


# --- the chain is walked at start


def test_charges_made_smaller_change_nothing_here_and_stop_the_next_start(sqlite_settings: Settings) -> None:
    """Flipped to one billionth without rehashing: no epsilon comes back, and the start names the first bad entry."""
    with Api(create_app(sqlite_settings, frozen_clock)) as api:
        api.register(budget="1")
        for _ in range(2):
            assert api.order(epsilon="0.5").status_code == 201
        api.register("other")  # so that the charges are not the last entry
        tampered(api, "UPDATE ledger SET epsilon_nano = 1 WHERE kind = 'charge'")
        assert api.order(epsilon="0.5").status_code == 409
        assert api.budget()["spent"] == "1"
        assert outcome(api)["first_bad"] == 6
        ready = api.call(None, "GET", "/readyz")
        assert (ready.status_code, "entry 6" in ready.json()["detail"]) == (503, True)
    with pytest.raises(CannotStart, match="not good from entry 6 on: The entry does not match its hash"):
        make_service(sqlite_settings, frozen_clock)


def test_an_entry_that_does_not_follow_is_refused_by_a_running_service(sqlite_api: Api) -> None:
    """Appended behind its back with another hash: nothing is charged any more, and /readyz says why."""
    sqlite_api.register()
    forged = (
        "INSERT INTO ledger SELECT seq + 1, kind, dataset, release, epsilon_nano, actor, at, detail, hash, previous "
        "FROM ledger ORDER BY seq DESC LIMIT 1"
    )
    tampered(sqlite_api, forged)
    assert sqlite_api.order().status_code == 503
    assert "does not match its hash" in sqlite_api.call(None, "GET", "/readyz").json()["detail"]
    tampered(sqlite_api, "DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger)")
    assert sqlite_api.call(None, "GET", "/readyz").status_code == 200
    assert sqlite_api.order().status_code == 201


# --- keys and sessions


def test_a_key_that_the_ledger_does_not_know_is_refused(sqlite_api: Api) -> None:
    """Its issue, role and end are entries, each by whoever asked for it; nothing beside them makes a key."""
    issued = sqlite_api.admin(
        "POST", "/v1/keys", json={"name": "desk", "role": "analyst", "datasets": ["b", "a"]}
    ).json()
    assert sqlite_api.admin("DELETE", f"/v1/keys/{issued['id']}").status_code == 204
    assert sqlite_api.admin("DELETE", f"/v1/keys/{issued['id']}").status_code == 204
    issue, revoke = sqlite_api.auditor("GET", "/v1/ledger").json()["entries"][-2:]
    digest = sha256(sha256(issued["key"].encode()).hexdigest().encode()).hexdigest()
    assert len({bytes.fromhex(entry["detail"].pop("salt")) for entry in (issue, revoke)}) == 2
    assert issue["detail"] == {
        "id": issued["id"],
        "name": "desk",
        "role": "analyst",
        "datasets": ["a", "b"],
        "sha256_of_secret_sha256": digest,
    }
    assert (issue["kind"], issue["dataset"], issue["epsilon"]) == ("issue", None, "0")
    assert (revoke["kind"], revoke["detail"]) == ("revoke", {"id": issued["id"]})
    assert issue["actor"] == revoke["actor"] != "rugnik start"
    assert issue["actor"].startswith("admin [k")
    assert outcome(sqlite_api)["valid"]
    unknown = "rugnik_admin_k00000000_" + "A" * 43
    assert sqlite_api.call_with(unknown, "GET", "/v1/keys").status_code == 401


def test_entries_about_keys_are_for_unlimited_auditors_and_admins(sqlite_api: Api) -> None:
    """A curator, or a key that is limited to some datasets, sees entries of datasets only; no page breaks on them."""
    sqlite_api.register()
    limited = issue_key(sqlite_api.service, name="l", role=Role.AUDITOR, datasets=frozenset({"city"}))[1]

    def kinds(key: str) -> set[str]:
        return {entry["kind"] for entry in sqlite_api.call_with(key, "GET", "/v1/ledger").json()["entries"]}

    assert kinds(sqlite_api.keys[Role.AUDITOR]) == kinds(sqlite_api.keys[Role.ADMIN]) == {"issue", "grant"}
    assert kinds(sqlite_api.keys[Role.CURATOR]) == kinds(limited) == {"grant"}
    assert "kind-issue" in sqlite_api.auditor("GET", "/ledger").text
    for key in (sqlite_api.keys[Role.CURATOR], limited):
        assert "kind-issue" not in sqlite_api.call_with(key, "GET", "/ledger").text


def test_a_key_of_one_worker_is_known_to_the_other_at_once_and_ends_there_in_seconds(settings: Settings) -> None:
    """An id that is new makes a worker look at the ledger; one that it knows is believed for 5 seconds at most."""
    with Api(create_app(settings, frozen_clock)) as one, Api(create_app(settings, frozen_clock)) as two:
        stored, key = issue_key(one.service, name="n", role=Role.ANALYST, datasets=None)
        assert two.call_with(key, "GET", "/v1/datasets").status_code == 200
        assert one.admin("DELETE", f"/v1/keys/{stored.principal.id}").status_code == 204
        two.service.replay._refreshed -= 5.0  # five seconds later
        assert two.call_with(key, "GET", "/v1/datasets").status_code == 401


def test_a_session_that_nobody_signed_in_to_opens_nothing(sqlite_api: Api) -> None:
    """Whoever writes the database knows what the ledger holds of a key, and a cookie of their own: not enough."""
    admin = next(key for key in sqlite_api.service.replay.books.keys.values() if key.role == "admin")
    token, ends = "forged", "2030-01-01T00:00:00Z"
    for guess in (admin.secret_hash, sha256(admin.secret_hash.encode()).hexdigest(), "0" * 64, "?"):
        binding = _masked(guess, token, admin.id, ends) or guess
        tampered(sqlite_api, "DELETE FROM sessions")
        row = {"id": sha256(token.encode()).hexdigest(), "key": admin.id, "binding": binding, "ends": ends}
        tampered(sqlite_api, "INSERT INTO sessions VALUES (:id, :key, :binding, :ends)", **row)
        assert sqlite_api.call(None, "GET", "/v1/keys", headers={"Cookie": f"rugnik={token}"}).status_code == 401
    guest = visitor(sqlite_api, Role.ANALYST)
    assert guest.call("GET", "/v1/datasets").status_code == 200
    for edit in (
        f"key_id = '{admin.id}'",
        "expires_at = '2031-01-01T00:00:00Z'",
        "binding = 'x'",
        "binding = 5",
        "expires_at = x'32'",
    ):
        kept = rows(sqlite_api, "sessions")
        tampered(sqlite_api, f"UPDATE sessions SET {edit} WHERE expires_at < '2030'")
        assert guest.call("GET", "/v1/datasets").status_code == 401, edit
        put_back(sqlite_api, "sessions", kept)
        assert guest.call("GET", "/v1/datasets").status_code == 200


# --- stored answers


@pytest.mark.parametrize("poison", [b"{}", b"not JSON", "text", 10**15, None])
def test_a_poisoned_answer_is_worked_out_again(sqlite_api: Api, poison: Any) -> None:
    """A stored body that the service did not store under this key counts as not there, and is replaced."""
    sqlite_api.register()
    release = sqlite_api.published()
    path = f"/v1/releases/{release}/clusters?k=3"
    good = sqlite_api.analyst("GET", path).content
    sqlite_api.analyst("GET", path.replace("k=3", "k=2"))
    if poison is None:  # another answer of this very service, under the wrong key
        tampered(sqlite_api, "UPDATE answers SET body = (SELECT body FROM answers WHERE number = 2) WHERE number = 1")
    else:
        tampered(sqlite_api, "UPDATE answers SET body = :poison WHERE number = 1", poison=poison)
    for _ in range(2):
        sqlite_api.forget_answers()
        reply = sqlite_api.analyst("GET", path)
        assert (reply.status_code, reply.content) == (200, good)
    assert good in [row["body"] for row in rows(sqlite_api, "answers")]


# --- every column of every table


def rows(api: Api, table: str) -> list[dict[str, Any]]:
    with api.service.database.read_only() as tx:
        return [dict(row) for row in tx.execute(text(f"SELECT * FROM {table}")).mappings()]


def put_back(api: Api, table: str, kept: list[dict[str, Any]]) -> None:
    with without_triggers(api.service) as connection:
        connection.execute(text(f"DELETE FROM {table}"))
        for row in kept:
            names = ", ".join(row)
            values = ", ".join(f":{name}" for name in row)
            connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({values})"), row)
        connection.commit()


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Used:
    """Made once."""
    return Used(tmp_path_factory.mktemp("used"))


@pytest.fixture(scope="module")
def untouched(used: Used, tmp_path_factory: pytest.TempPathFactory) -> Deeds:
    """What the service does where nobody meddled."""
    with used.opened(used.copy(tmp_path_factory.mktemp("untouched"))) as api:
        done = used.deeds(api)
    require_usual(done)
    return done


def edited(settings: Settings, table: str, column: str) -> None:
    """Another value in this column of every row; in the ledger, of every row but the last, which is seen at once."""
    other = f"CASE typeof({column}) WHEN 'integer' THEN {column} + 1000 WHEN 'blob' THEN x'00' ELSE {column} || 'x' END"
    where = "WHERE seq < (SELECT max(seq) FROM ledger)" if table == "ledger" else ""
    with behind_triggers(settings) as connection:
        changed = connection.execute(text(f"UPDATE {table} SET {column} = coalesce({other}, 'x') {where}")).rowcount
    assert changed > 0


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_an_edited_column_is_found_or_without_effect(
    used: Used, untouched: Deeds, tmp_path: Path, table: str, column: str
) -> None:
    """While the service runs and before it starts: nobody else gets in, nothing else is charged or published."""
    settings = used.copy(tmp_path / "running")
    with used.opened(settings) as api:
        edited(settings, table, column)
        assert differing(used.deeds(api), untouched) == []
        noticed = {("checkpoints", "size"), ("checkpoints", "note")}
        if table in {"ledger", "synopses", "cards"} or (table, column) in noticed:
            assert outcome(api)["valid"] is False
    settings = used.copy(tmp_path / "stopped")
    edited(settings, table, column)
    if table in {"ledger", "alembic_version"} or (table, column) in {("log", "origin"), ("log", "verifier")}:
        with pytest.raises(CannotStart):
            make_service(settings, frozen_clock)
        return
    with used.opened(settings) as api:
        assert differing(used.deeds(api), untouched) == []


def test_a_reader_whose_view_is_older_than_the_books_sees_what_they_name(sqlite_api: Api) -> None:
    """SQLite gives a transaction one snapshot, and another thread's commit moves the books on: no false alarm."""
    sqlite_api.register()
    service = sqlite_api.service
    with read_book(service) as book:
        release = sqlite_api.published()
        loaded = reading.load_any(book, release)
        assert reading.load_synopsis(book, loaded).digest == loaded.standing.digest
    assert service.replay.fault is None
    with service.database.read_only() as tx:
        tx.exec_driver_sql("SELECT count(*) FROM ledger").scalar_one()
        sqlite_api.published()
    assert sqlite_api.call(None, "GET", "/readyz").status_code == 200


def test_a_slow_walk_is_not_disturbed_by_one_that_overtakes_it(
    sqlite_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread reads in batches from an old snapshot while others walk past its end."""
    monkeypatch.setattr(replay, "BATCH", 2)
    sqlite_api.register()
    service = sqlite_api.service
    behind = replay.Replay(service.database)
    real, overtaken = replay.stored_after, []

    def overtaking(tx: Any, seq: int) -> Any:
        batch = real(tx, seq, limit=2)
        if not overtaken:
            overtaken.append(True)
            sqlite_api.published()
            behind.refresh()
        return batch

    monkeypatch.setattr(replay, "stored_after", overtaking)
    with service.database.read_only() as tx:
        behind.catch_up(tx)
    assert behind.fault is None
    assert behind.head == service.replay.head
