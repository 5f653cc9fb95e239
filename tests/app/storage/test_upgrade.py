"""A database of version 0.1 goes on: its keys work, its open order takes its upload, and its ledger verifies."""

from __future__ import annotations

import json
import zlib
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from alembic import command
from sqlalchemy import Connection, text

from app.main import create_app
from app.settings.settings import Settings
from app.storage.database import Database, alembic_config
from core.budget import Epsilon
from core.canonical import canonical_json
from core.cells import DenseCells
from core.domain.grid import Grid
from core.ledger.entry import EMPTY, Head, LedgerEntry
from core.ledger.kinds import Kind
from core.plan import Rule
from core.records import OutOfRange
from core.synopsis import Synopsis
from tests.support.databases.books import DOMAIN, ROWS, an_order
from tests.support.service.api import Api, frozen_clock

KEYS = {
    "k00000001": ("curator", None, None),
    "k00000002": ("admin", None, "2026-01-02T00:00:00Z"),
    "k00000003": ("analyst", '["other"]', None),
    "k00000004": ("auditor", None, None),
}
AT = "2026-01-01T10:00:00Z"


def token(key_id: str) -> str:
    return f"rugnik_{KEYS[key_id][0]}_{key_id}_{'s' * 43}"


def synopsis() -> Synopsis:
    """What version 0.1 published as r1."""
    return Synopsis(
        dataset="a",
        release="r1",
        domain=DOMAIN,
        cells=DenseCells(Grid.uniform(2, 2), np.array([20, 1, -3, 0], dtype=np.int64)),
        epsilon=Epsilon.parse("0.1"),
        size_epsilon=Epsilon(0),
        clusters=2,
        rule=Rule.RUGNIK,
        out_of_range=OutOfRange.CLIP,
        size=20,
        size_declared=True,
    )


def fill(tx: Connection) -> Head:
    """Rows as version 0.1 wrote them; the head of their ledger."""

    def insert(table: str, **row: Any) -> None:
        names = ", ".join(f'"{name}"' for name in row)
        tx.execute(text(f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{name}' for name in row)})"), row)

    for key_id, (role, datasets, revoked_at) in KEYS.items():
        digest = sha256(token(key_id).encode()).hexdigest()
        row = {"id": key_id, "name": f"n {role}", "role": role, "datasets": datasets, "secret_sha256": digest}
        insert("keys", **row, created_at=AT, revoked_at=revoked_at)
    domain = [[a.name, a.lower, a.upper] for a in DOMAIN.attributes]
    insert("datasets", name="a", description="a town", domain=canonical_json(domain).decode())
    order = an_order("0.1").to_json()
    for release in ("r1", "r2"):
        stored = canonical_json(order).decode()
        insert("releases", id=release, dataset="a", order=stored, max_cells=10_000, idempotency_key=None)
    insert("synopses", release="r1", body=zlib.compress(synopsis().to_bytes()))
    insert("answers", key="k", body=b"{}")
    bounds = [[a.name, repr(a.lower), repr(a.upper)] for a in DOMAIN.attributes]
    head = EMPTY
    for kind, release, epsilon, detail in (
        (Kind.GRANT, None, "1", {"reason": "registration", "domain": bounds}),
        (Kind.CHARGE, "r1", "0.1", {"order": order}),
        (Kind.PUBLISH, "r1", "0", {"digest": synopsis().digest}),
        (Kind.CHARGE, "r2", "0.1", {"order": order}),
    ):
        entry = LedgerEntry(
            seq=head.seq + 1,
            kind=kind,
            dataset="a",
            release=release,
            epsilon=Epsilon.parse(epsilon),
            actor="n curator [k00000001]",
            at=AT[:10] if kind is Kind.PUBLISH else AT,
            detail=detail,
            previous=head.hash,
        ).sealed()
        row = entry.to_json() | {"detail": canonical_json(detail).decode(), "epsilon_nano": entry.epsilon.nano}
        del row["epsilon"]
        insert("ledger", **row)
        head = Head(entry.seq, entry.hash)
    return head


def database_of_version_0_1(url: str) -> Head:
    database = Database(url)
    with database.engine.connect().execution_options(rugnik_writes=True) as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0003")
    with database.transaction() as tx:
        head = fill(tx)
    database.dispose()
    return head


@pytest.fixture(params=["sqlite", "postgresql"])
def upgraded(request: pytest.FixtureRequest, sqlite_settings: Settings) -> Settings:
    """Settings of a service of version 0.1 with its database, its witness, and the new migrations run."""
    settings = sqlite_settings
    if request.param == "postgresql":
        settings = sqlite_settings.model_copy(update={"database_url": request.getfixturevalue("postgresql_url")})
    settings.data_dir.mkdir(mode=0o700)
    head = database_of_version_0_1(settings.url.render_as_string(hide_password=False))
    settings.witness_path.write_text(json.dumps({"seq": head.seq, "hash": head.hash}))  # as version 0.1 did
    database = Database(settings.url)
    database.migrate()
    database.dispose()
    return settings


def test_a_database_of_version_0_1_goes_on(upgraded: Settings) -> None:
    """Started against the witness that version 0.1 kept."""
    with Api(create_app(upgraded, frozen_clock), keys={}) as api:
        curator, revoked, limited, auditor = map(token, KEYS)
        assert api.call_with(curator, "GET", "/v1/datasets").status_code == 200
        assert api.call_with(revoked, "GET", "/v1/datasets").status_code == 401
        assert api.call_with(limited, "GET", "/v1/datasets").json()["datasets"] == []
        entries = api.call_with(auditor, "GET", "/v1/ledger").json()["entries"]
        assert [entry["kind"] for entry in entries[4:]] == ["issue", "issue", "revoke", "issue", "issue"]
        assert {entry["actor"] for entry in entries[4:]} == {"migration"}
        assert entries[6]["detail"] == {"id": "k00000002", "on": "2026-01-02"}
        assert api.call_with(auditor, "GET", "/v1/ledger/verify").json()["valid"]
        dataset = api.call_with(curator, "GET", "/v1/datasets/a").json()
        assert (dataset["description"], dataset["budget"]["spent"]) == ("a town", "0.2")
        assert [(a["name"], a["lower"], a["upper"]) for a in dataset["attributes"]] == [
            (a.name, a.lower, a.upper) for a in DOMAIN.attributes
        ]
        assert api.call_with(curator, "GET", "/v1/releases/r1/count").status_code == 200
        uploaded = api.call_with(
            curator, "PUT", "/v1/releases/r2/records", content=ROWS, headers={"Content-Type": "text/csv"}
        )
        assert uploaded.status_code == 200, uploaded.text
        assert api.call_with(auditor, "GET", "/v1/ledger/verify").json()["valid"]
        assert (
            api.service.witness.seen().size
            == json.loads(api.call_with(auditor, "GET", "/v1/ledger/head").content)["seq"]
        )
