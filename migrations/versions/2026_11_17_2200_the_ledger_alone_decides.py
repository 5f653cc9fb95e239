"""The ledger alone decides: keys become entries, and the columns and tables that decided beside it go away.

Orders, domains and states were in the ledger already. Keys of version 0.1 are put on record here, once, as `issue` and
`revoke` entries. Sessions and stored answers are dropped: people sign in again, and answers are worked out again.
The id of an order follows from its Idempotency-Key now; orders of version 0.1 are no longer known by theirs.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_BALANCES = "ix_ledger_dataset_kind_release_epsilon_nano"


def upgrade() -> None:
    """Write the keys into the ledger, then drop tables and columns that are no longer read."""
    _adopt_keys()
    op.drop_index(_BALANCES, "ledger")
    if op.get_bind().dialect.name == "sqlite":
        _rebuild("ledger", _ledger())
        _rebuild("synopses", _synopses())
    else:
        op.drop_constraint("fk_ledger_dataset_datasets", "ledger")
        op.drop_constraint("fk_ledger_release_releases", "ledger")
        op.drop_constraint("fk_synopses_release_releases", "synopses")
        op.alter_column("sessions", "binding", comment="hash of the key's secret, masked by the cookie")
    op.drop_table("releases")
    op.drop_column("datasets", "domain")
    op.drop_table("keys")
    op.execute("DELETE FROM sessions")
    op.drop_table("answers")
    op.create_table(
        "answers",
        sa.Column("number", _WHOLE, nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column(
            "mac", sa.String(64), nullable=False, comment="HMAC of key and body under a secret outside the database"
        ),
        sa.PrimaryKeyConstraint("number", name="pk_answers"),
        sa.UniqueConstraint("key", name="uq_answers_key"),
    )


def _adopt_keys() -> None:
    """An `issue` for every key, and a `revoke` for those that ended, oldest first."""
    tx = op.get_bind()
    for key in tx.execute(sa.text("SELECT * FROM keys ORDER BY created_at, id")).mappings().all():
        datasets = None if key["datasets"] is None else sorted(json.loads(key["datasets"]))
        detail = {
            "id": key["id"],
            "name": key["name"],
            "role": key["role"],
            "datasets": datasets,
            "sha256_of_secret_sha256": sha256(key["secret_sha256"].encode()).hexdigest(),
            "on": key["created_at"][:10],
        }
        _append(tx, "issue", detail)
        if key["revoked_at"] is not None:
            _append(tx, "revoke", {"id": key["id"], "on": key["revoked_at"][:10]})


def _append(tx: sa.Connection, kind: str, detail: dict[str, Any]) -> None:
    """One entry about a key, hashed as every entry is."""
    last = tx.execute(sa.text("SELECT seq, hash FROM ledger ORDER BY seq DESC LIMIT 1")).first()
    entry: dict[str, Any] = {
        "seq": 1 if last is None else last.seq + 1,
        "kind": kind,
        "dataset": None,
        "release": None,
        "epsilon": "0",
        "actor": "migration",
        "at": f"{datetime.now(UTC):%Y-%m-%d}",
        "detail": detail,
        "previous": "0" * 64 if last is None else last.hash,
    }
    row = entry | {"hash": sha256(_canonical(entry).encode()).hexdigest(), "detail": _canonical(detail)}
    tx.execute(
        sa.text(
            "INSERT INTO ledger (seq, kind, dataset, release, epsilon_nano, actor, at, detail, previous, hash) "
            "VALUES (:seq, :kind, :dataset, :release, 0, :actor, :at, :detail, :previous, :hash)"
        ),
        {name: value for name, value in row.items() if name != "epsilon"},
    )


def _canonical(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _ledger() -> list[Any]:
    return [
        sa.Column("seq", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("dataset", sa.String(64), nullable=True),
        sa.Column("release", sa.String(32), nullable=True),
        sa.Column("epsilon_nano", sa.Integer, nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("at", sa.String(20), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_ledger"),
        sa.CheckConstraint("epsilon_nano >= 0", name=op.f("ck_ledger_epsilon_nano")),
        sa.CheckConstraint("seq >= 1", name=op.f("ck_ledger_seq")),
    ]


def _synopses() -> list[Any]:
    return [
        sa.Column("release", sa.String(32), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("release", name="pk_synopses"),
    ]


def _rebuild(table: str, columns: list[Any]) -> None:
    """SQLite cannot drop a constraint, so the table is rebuilt with its indices and triggers."""
    indices_and_triggers = sa.text(
        "SELECT sql FROM sqlite_master WHERE tbl_name = :table AND type IN ('index', 'trigger') AND sql IS NOT NULL "
        "ORDER BY type, name"
    )
    statements = op.get_bind().execute(indices_and_triggers, {"table": table}).scalars().all()
    op.create_table(f"{table}_anew", *columns)
    op.execute(f"INSERT INTO {table}_anew SELECT * FROM {table}")
    op.drop_table(table)
    op.rename_table(f"{table}_anew", table)
    for statement in statements:
        op.execute(statement)
