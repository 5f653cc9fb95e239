"""The tables. The ledger and the synopses only ever grow; everything that decides is in the ledger."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
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

# Who is signed in to the dashboard. A copy of these rows opens nothing: the cookie is not in them.
sessions = Table(
    "sessions",
    metadata,
    Column("id_sha256", String(64), primary_key=True, comment="hash of what the cookie holds"),
    Column("key_id", String(32), nullable=False, comment="a key's id, or 'environment'"),
    Column("binding", String(64), nullable=False, comment="hash of the key's secret, masked by the cookie"),
    Column("expires_at", String(20), nullable=False),
)

# Descriptions of datasets that version 0.1 registered, for people to read. Newer ones are in the ledger.
datasets = Table(
    "datasets",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("description", Text, nullable=False),
)

synopses = Table(
    "synopses",
    metadata,
    Column("release", String(32), primary_key=True),
    Column("body", LargeBinary, nullable=False, comment="zlib of the canonical bytes; its digest is in the ledger"),
)

# Everything that decides is in here: datasets and their domains, orders, states, digests, keys.
ledger = Table(
    "ledger",
    metadata,
    Column("seq", Whole, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("dataset", String(64), nullable=True, comment="null for entries about keys"),
    Column("release", String(32), nullable=True, index=True),
    Column("epsilon_nano", Whole, nullable=False),
    Column("actor", String(64), nullable=False),
    Column("at", String(20), nullable=False),
    Column("detail", Text, nullable=False, comment="canonical JSON"),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    CheckConstraint("epsilon_nano >= 0", name="epsilon_nano"),
    CheckConstraint("seq >= 1", name="seq"),
    Index("ix_ledger_dataset_seq", "dataset", "seq"),
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
    Column("mac", String(64), nullable=False, comment="HMAC of key and body under a secret outside the database"),
    UniqueConstraint("key"),
)

# One row, locked for the length of an append on PostgreSQL; on SQLite, BEGIN IMMEDIATE locks the whole file instead.
ledger_lock = Table("ledger_lock", metadata, Column("id", Integer, primary_key=True, autoincrement=False))

APPEND_ONLY = (datasets, synopses, ledger)
