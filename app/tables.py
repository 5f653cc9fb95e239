"""The tables. Those of stage 1 only ever grow: a dataset's budget and a release's state are read off the ledger."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite numbers rows by a column that is exactly INTEGER; PostgreSQL wants the 64 bits by name.
Whole = BigInteger().with_variant(Integer, "sqlite")

keys = Table(
    "keys",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(40), nullable=False),
    Column("role", String(16), nullable=False),
    Column("datasets", Text, nullable=True, comment="JSON list of dataset names; null: all of them"),
    Column("secret_sha256", String(64), nullable=False),
    Column("created_at", String(20), nullable=False),
    Column("revoked_at", String(20), nullable=True),
    CheckConstraint("role IN ('admin', 'curator', 'analyst', 'auditor')", name="role"),
)

# Who is signed in to the dashboard. A copy of these rows opens nothing: the cookie is not in them.
sessions = Table(
    "sessions",
    metadata,
    Column("id_sha256", String(64), primary_key=True, comment="hash of what the cookie holds"),
    Column("key_id", String(32), nullable=False, comment="a key's id, or 'environment'"),
    Column("binding", String(64), nullable=False, comment="ties the session to the secret of its key"),
    Column("expires_at", String(20), nullable=False),
)

datasets = Table(
    "datasets",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("description", Text, nullable=False),
    Column("domain", Text, nullable=False, comment="canonical JSON: [[name, lower, upper], …]"),
)

releases = Table(
    "releases",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("dataset", ForeignKey("datasets.name"), nullable=False, index=True),
    Column("order", Text, nullable=False, comment="canonical JSON of the order, as charged"),
    Column("max_cells", Whole, nullable=False, comment="the limit on cells when it was ordered"),
    Column("idempotency_key", String(255), nullable=True),
    UniqueConstraint("dataset", "idempotency_key"),
)

synopses = Table(
    "synopses",
    metadata,
    Column("release", ForeignKey("releases.id"), primary_key=True),
    Column("body", LargeBinary, nullable=False, comment="zlib of the canonical bytes; its digest is in the ledger"),
)

ledger = Table(
    "ledger",
    metadata,
    Column("seq", Whole, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("dataset", ForeignKey("datasets.name"), nullable=False),
    Column("release", ForeignKey("releases.id"), nullable=True, index=True),
    Column("epsilon_nano", Whole, nullable=False),
    Column("actor", String(64), nullable=False),
    Column("at", String(20), nullable=False),
    Column("detail", Text, nullable=False, comment="canonical JSON"),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    CheckConstraint("kind IN ('grant', 'charge', 'void', 'publish', 'close')", name="kind"),
    CheckConstraint("epsilon_nano >= 0", name="epsilon_nano"),
    CheckConstraint("seq >= 1", name="seq"),
    Index("ix_ledger_dataset_seq", "dataset", "seq"),
    # Balances, states and closings are read off this one alone, however long the ledger.
    Index("ix_ledger_dataset_kind_release_epsilon_nano", "dataset", "kind", "release", "epsilon_nano"),
    Index("ix_ledger_kind_seq", "kind", "seq"),
    Index("ix_ledger_actor_seq", "actor", "seq"),
)

# When somebody walked the chain, and what they found: for people. The walk itself is the proof, not this row.
verifications = Table(
    "verifications",
    metadata,
    Column("number", Whole, primary_key=True, autoincrement=True),
    Column("at", String(20), nullable=False),
    Column("actor", String(64), nullable=False),
    Column("entries", Whole, nullable=False),
    Column("hash", String(64), nullable=False, comment="of the last good entry"),
    Column("first_bad", Whole, nullable=True),
    Column("reason", Text, nullable=True),
)

# Answers that took long to work out: a memory that may be emptied at any time, since they can be worked out again.
answers = Table(
    "answers",
    metadata,
    Column("number", Whole, primary_key=True, autoincrement=True),
    Column("key", String(64), nullable=False),
    Column("body", LargeBinary, nullable=False),
    UniqueConstraint("key"),
)

# One row, locked for the length of an append on PostgreSQL; on SQLite, BEGIN IMMEDIATE locks the whole file instead.
ledger_lock = Table("ledger_lock", metadata, Column("id", Integer, primary_key=True, autoincrement=False))

APPEND_ONLY = (datasets, releases, synopses, ledger)
