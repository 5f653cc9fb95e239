"""Keys, datasets, releases, synopses, and an append-only ledger."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Build the tables and their triggers."""
    _make_tables()
    op.execute("INSERT INTO ledger_lock (id) VALUES (1)")
    if op.get_bind().dialect.name == "sqlite":
        _guard_sqlite()
    else:
        _guard_postgresql()


def _make_tables() -> None:
    op.create_table(
        "keys",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("datasets", sa.Text, nullable=True, comment="JSON list of dataset names; null: all of them"),
        sa.Column("secret_sha256", sa.String(64), nullable=False),
        sa.Column("created_at", sa.String(20), nullable=False),
        sa.Column("revoked_at", sa.String(20), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
        sa.CheckConstraint("role IN ('admin', 'curator', 'analyst', 'auditor')", name=op.f("ck_keys_role")),
    )
    op.create_table(
        "datasets",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("domain", sa.Text, nullable=False, comment="canonical JSON: [[name, lower, upper], …]"),
        sa.PrimaryKeyConstraint("name", name="pk_datasets"),
    )
    op.create_table(
        "releases",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("dataset", sa.String(64), nullable=False),
        sa.Column("order", sa.Text, nullable=False, comment="canonical JSON of the order, as charged"),
        sa.Column("max_cells", _WHOLE, nullable=False, comment="the limit on cells when it was ordered"),
        sa.Column("idempotency_key", sa.String(255), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_releases"),
        sa.ForeignKeyConstraint(["dataset"], ["datasets.name"], name="fk_releases_dataset_datasets"),
        sa.UniqueConstraint("dataset", "idempotency_key", name="uq_releases_dataset_idempotency_key"),
    )
    op.create_index("ix_releases_dataset", "releases", ["dataset"])
    op.create_table(
        "synopses",
        sa.Column("release", sa.String(32), nullable=False),
        sa.Column(
            "body", sa.LargeBinary, nullable=False, comment="zlib of the canonical bytes; its digest is in the ledger"
        ),
        sa.PrimaryKeyConstraint("release", name="pk_synopses"),
        sa.ForeignKeyConstraint(["release"], ["releases.id"], name="fk_synopses_release_releases"),
    )
    op.create_table(
        "ledger",
        sa.Column("seq", _WHOLE, nullable=False, autoincrement=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("dataset", sa.String(64), nullable=False),
        sa.Column("release", sa.String(32), nullable=True),
        sa.Column("epsilon_nano", _WHOLE, nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("at", sa.String(20), nullable=False),
        sa.Column("detail", sa.Text, nullable=False, comment="canonical JSON"),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_ledger"),
        sa.ForeignKeyConstraint(["dataset"], ["datasets.name"], name="fk_ledger_dataset_datasets"),
        sa.ForeignKeyConstraint(["release"], ["releases.id"], name="fk_ledger_release_releases"),
        sa.CheckConstraint("kind IN ('grant', 'charge', 'void', 'publish', 'close')", name=op.f("ck_ledger_kind")),
        sa.CheckConstraint("epsilon_nano >= 0", name=op.f("ck_ledger_epsilon_nano")),
        sa.CheckConstraint("seq >= 1", name=op.f("ck_ledger_seq")),
    )
    op.create_index("ix_ledger_release", "ledger", ["release"])
    op.create_index("ix_ledger_dataset_seq", "ledger", ["dataset", "seq"])
    op.create_table(
        "ledger_lock",
        sa.Column("id", sa.Integer, nullable=False, autoincrement=False),
        sa.PrimaryKeyConstraint("id", name="pk_ledger_lock"),
    )


# Columns whose values must stay unique for ever. On SQLite, INSERT OR REPLACE deletes a conflicting row without firing
# a delete trigger, so there a trigger before the insert guards each unique column as well.
_UNIQUE = {
    "datasets": ("name = NEW.name",),
    "releases": ("id = NEW.id", "dataset = NEW.dataset AND idempotency_key = NEW.idempotency_key"),
    "synopses": ("release = NEW.release",),
    "ledger": ("seq = NEW.seq",),
}

_IN_ORDER = """
    NEW.seq = (SELECT coalesce(max(seq), 0) + 1 FROM ledger)
    AND NEW.previous = coalesce((SELECT hash FROM ledger ORDER BY seq DESC LIMIT 1),
                                '0000000000000000000000000000000000000000000000000000000000000000')
"""


def _guard_sqlite() -> None:
    for table, unique in _UNIQUE.items():
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table}: rows are never changed or removed'); END"
            )
        for number, condition in enumerate(unique):
            op.execute(
                f"CREATE TRIGGER {table}_no_replace_{number} BEFORE INSERT ON {table} "
                f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {condition}) "
                f"BEGIN SELECT RAISE(ABORT, '{table}: rows are never replaced'); END"
            )
    op.execute(
        f"CREATE TRIGGER ledger_in_order BEFORE INSERT ON ledger WHEN NOT ({_IN_ORDER}) "
        "BEGIN SELECT RAISE(ABORT, 'ledger: entries are appended in order'); END"
    )


def _guard_postgresql() -> None:
    op.execute(
        """
        CREATE FUNCTION rugnik_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '%: rows are never changed or removed', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
        END $$
        """
    )
    op.execute(
        f"""
        CREATE FUNCTION rugnik_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NOT ({_IN_ORDER}) THEN
                RAISE EXCEPTION 'ledger: entries are appended in order' USING ERRCODE = 'restrict_violation';
            END IF;
            RETURN NEW;
        END $$
        """
    )
    for table in _UNIQUE:
        _always(
            table,
            f"{table}_append_only",
            f"BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION rugnik_append_only()",
        )
    _always("ledger", "ledger_in_order", "BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION rugnik_in_order()")


def _always(table: str, name: str, definition: str) -> None:
    """Create a trigger that also fires for sessions with session_replication_role = replica."""
    op.execute(f"CREATE TRIGGER {name} {definition}")
    op.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}")
