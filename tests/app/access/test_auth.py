"""Keys: long enough that nobody guesses one, shown once, stored as a hash, and ended when they are revoked."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from app.access.keys import issue_key, list_keys
from app.access.permissions import Role
from app.cli import main
from app.main import create_app
from app.settings.settings import Settings
from app.storage.database import Database
from tests.support.leaks.dumps import contents, tables
from tests.support.processes.server import Server, environment
from tests.support.service.api import Api, frozen_clock

OWN = "an-admin-key-of-my-own-0123456789abcdef"
FOR_METRICS = "a-metrics-key-of-my-own-0123456789abcdef"


@pytest.fixture
def with_own_keys(sqlite_settings: Settings) -> Iterator[Api]:
    """A service whose admin key and metrics key are set by hand."""
    own = {"admin_key": SecretStr(OWN), "metrics_key": SecretStr(FOR_METRICS)}
    with Api(create_app(sqlite_settings.model_copy(update=own), frozen_clock)) as opened:
        yield opened


def on_disk(folder: Path) -> bytes:
    """Every byte of every file in a folder."""
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("role", Role)
def test_a_key_has_a_readable_prefix_and_256_random_bits(sqlite_api: Api, role: Role) -> None:
    """Whoever finds a key in a log knows what it is; nobody can guess one."""
    made = [sqlite_api.admin("POST", "/v1/keys", json={"name": "n", "role": role.value}).json() for _ in range(2)]
    secrets = []
    for reply in made:
        prefix, secret = reply["key"][:-43], reply["key"][-43:]
        assert prefix == f"rugnik_{role.value}_{reply['id']}_"
        secrets.append(base64.urlsafe_b64decode(secret + "="))
    assert [len(secret) for secret in secrets] == [32, 32]
    assert secrets[0] != secrets[1]


def test_a_key_is_shown_once(sqlite_api: Api) -> None:
    """The reply that issues it has it; no later one does, and the list has everything else."""
    body = {"name": "for the city", "role": "curator", "datasets": ["b", "a"]}
    reply = sqlite_api.admin("POST", "/v1/keys", json=body)
    assert reply.status_code == 201
    issued = reply.json()
    key = issued.pop("key")
    assert issued == {
        "id": issued["id"],
        "name": "for the city",
        "role": "curator",
        "datasets": ["a", "b"],
        "created_at": "2026-01-02",
        "revoked_at": None,
    }
    listed = sqlite_api.admin("GET", "/v1/keys")
    assert issued in listed.json()["keys"]
    assert key[-43:] not in listed.text


def test_a_database_dump_contains_no_key(api: Api) -> None:
    """Neither a key nor its secret part is stored, only a hash of its hash: in rows, in files and in the WAL."""
    keys = [*api.keys.values(), str(api.admin("POST", "/v1/keys", json={"name": "n", "role": "auditor"}).json()["key"])]
    api.register()
    api.published()
    held = contents(api.service.database) + on_disk(api.service.settings.data_dir.parent)
    digest = sha256(keys[0].encode()).hexdigest().encode()
    assert sha256(digest).hexdigest().encode() in held
    assert digest not in held
    for key in keys:
        secret = key[-43:]
        for part in (key.encode(), secret.encode(), base64.urlsafe_b64decode(secret + "=")):
            assert part not in held


def test_a_revoked_key_is_refused_and_stays_listed(api: Api) -> None:
    """401 from then on, a second revocation changes nothing, and the ledger's names can still be looked up."""
    stored, key = issue_key(api.service, name="short", role=Role.AUDITOR, datasets=None)
    assert api.call_with(key, "GET", "/v1/ledger").status_code == 200
    for _ in range(2):
        assert api.admin("DELETE", f"/v1/keys/{stored.principal.id}").status_code == 204
    assert api.call_with(key, "GET", "/v1/ledger").status_code == 401
    assert api.call_with(key, "GET", "/metrics").status_code == 401
    (listed,) = [entry for entry in list_keys(api.service) if entry.principal.id == stored.principal.id]
    assert listed.revoked_at == "2026-01-02"


def test_a_key_is_taken_whole_or_not_at_all(sqlite_api: Api) -> None:
    """Cut, extended, in another case, under another role or id: 401."""
    key = sqlite_api.keys[Role.CURATOR]
    other = sqlite_api.keys[Role.ADMIN]
    forged = [
        key[:-1],
        key + "x",
        key.upper(),
        key.replace("curator", "admin"),
        other[:-43] + key[-43:],
        key[-43:],
        key.rpartition("_")[0],
        "rugnik_admin_environment_",
        sha256(key.encode()).hexdigest(),
        "",
        "_" * 9,
        "é" * 50,
    ]
    for attempt in forged:
        headers = {"Authorization": f"Bearer {attempt}".encode("latin-1")}
        assert sqlite_api.call(None, "GET", "/v1/datasets", headers=headers).status_code == 401, attempt
    assert sqlite_api.call_with(key, "GET", "/v1/datasets").status_code == 200


def test_an_admin_key_set_by_hand_works_and_is_not_stored(with_own_keys: Api) -> None:
    """RUGNIK_ADMIN_KEY opens what an admin opens; the database never learns it; the ledger names it."""
    api = with_own_keys
    api.register()
    granted = api.call_with(OWN, "POST", "/v1/datasets/city/grants", json={"epsilon": "1", "reason": "r"})
    assert granted.status_code == 201
    assert api.call_with(OWN, "GET", "/metrics").status_code == 200
    assert api.call_with(OWN, "POST", "/v1/datasets", json={}).status_code == 403
    assert api.call_with(OWN[:-1], "GET", "/v1/keys").status_code == 401
    entries = api.call_with(OWN, "GET", "/v1/ledger").json()["entries"]
    assert entries[-1]["actor"] == "RUGNIK_ADMIN_KEY [environment]"
    held = contents(api.service.database) + on_disk(api.service.settings.data_dir.parent)
    for part in (OWN, FOR_METRICS, sha256(OWN.encode()).hexdigest()):
        assert part.encode() not in held


def test_the_metrics_key_opens_metrics_and_nothing_else(with_own_keys: Api) -> None:
    """A monitor needs no more than that."""
    api = with_own_keys
    assert api.call_with(FOR_METRICS, "GET", "/metrics").status_code == 200
    assert api.call_with(FOR_METRICS[:-1], "GET", "/metrics").status_code == 401
    for method, path in (
        ("GET", "/v1/datasets"),
        ("GET", "/v1/ledger"),
        ("GET", "/v1/ledger/head"),
        ("GET", "/v1/keys"),
        ("POST", "/v1/keys"),
        ("PUT", "/v1/releases/r/records"),
    ):
        assert api.call_with(FOR_METRICS, method, path).status_code == 401, path


def test_without_a_metrics_key_metrics_take_an_admin_key(sqlite_api: Api) -> None:
    """No default opens them, not even an empty one."""
    assert sqlite_api.admin("GET", "/metrics").status_code == 200
    for key in ("", "None", FOR_METRICS):
        assert sqlite_api.call_with(key, "GET", "/metrics").status_code == 401


@pytest.mark.parametrize("variable", ["RUGNIK_ADMIN_KEY", "RUGNIK_METRICS_KEY"])
def test_a_short_key_set_by_hand_stops_the_start(
    sqlite_settings: Settings, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Thirty-one characters are refused with the variable's name, and the message does not repeat them."""
    monkeypatch.delattr("uvicorn.run")  # it must not come to that
    short = "0123456789abcdef0123456789abcde"
    done = CliRunner().invoke(main, ["serve", "--port", "0"], env=environment(sqlite_settings) | {variable: short})
    assert done.exit_code == 2
    assert variable in done.output
    assert "32" in done.output
    assert short not in done.output
    assert not sqlite_settings.data_dir.exists()


def admin_keys(settings: Settings) -> list[str]:
    """The names of the admin keys that are stored."""
    database = Database(settings.url)
    issued = [json.loads(row["detail"]) for row in tables(database)["ledger"] if row["kind"] == "issue"]
    admin_names = [detail["name"] for detail in issued if detail["role"] == "admin"]
    database.dispose()
    return admin_names


def test_the_first_start_makes_one_admin_key_and_the_second_none(
    sqlite_settings: Settings, serve: Callable[..., Server]
) -> None:
    """It is printed once, and it works after a restart too."""
    first = serve(sqlite_settings)
    key = first.admin_key
    first.stop()
    assert first.log.read_text().count("rugnik_admin_") == 1
    second = serve(sqlite_settings)
    assert httpx.get(f"{second.url}/v1/keys", headers={"Authorization": f"Bearer {key}"}).status_code == 200
    second.stop()
    assert "rugnik_" not in second.log.read_text()
    assert admin_keys(sqlite_settings) == ["first admin"]


def test_a_start_with_an_admin_key_of_ones_own_makes_none(
    sqlite_settings: Settings, serve: Callable[..., Server]
) -> None:
    """RUGNIK_ADMIN_KEY takes the place of the first key, and no log tells it."""
    settings = Settings(**sqlite_settings.model_dump(exclude_unset=True), admin_key=SecretStr(OWN))
    server = serve(settings)
    assert httpx.get(f"{server.url}/v1/keys", headers={"Authorization": f"Bearer {OWN}"}).json()["keys"] == []
    server.stop()
    assert OWN not in server.log.read_text()
    assert "rugnik_admin" not in server.log.read_text()
    assert admin_keys(settings) == []


def test_secrets_are_in_no_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that end up in a traceback or a log show that a key is set, and not which."""
    monkeypatch.setenv("RUGNIK_ADMIN_KEY", OWN)
    monkeypatch.setenv("RUGNIK_METRICS_KEY", FOR_METRICS)
    shown = repr(Settings()) + str(Settings())
    assert OWN not in shown
    assert FOR_METRICS not in shown


def test_a_limited_admin_neither_sees_nor_ends_the_keys_of_others(sqlite_api: Api) -> None:
    """The list of keys tells the names of datasets, and any key could be ended: both take an unlimited key."""
    stored, key = issue_key(sqlite_api.service, name="limited", role=Role.ADMIN, datasets=frozenset({"city"}))
    assert sqlite_api.call_with(key, "GET", "/v1/keys").status_code == 403
    assert sqlite_api.call_with(key, "DELETE", f"/v1/keys/{stored.principal.id}").status_code == 403
    assert sqlite_api.admin("GET", "/v1/keys").status_code == 200
