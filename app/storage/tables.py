"""The database tables. Ledger and synopses are append-only. Every decision is made from the ledger alone."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
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

# 64-bit integers. SQLite requires the type name INTEGER for an autoincrement column; on PostgreSQL it is BIGINT.
Whole = BigInteger().with_variant(Integer, "sqlite")

# Sessions of the dashboard. A copy of this table lets nobody sign in: it does not contain the cookies.
sessions = Table(
    "sessions",
    metadata,
    Column("id_sha256", String(64), primary_key=True, comment="hash of what the cookie holds"),
    Column("key_id", String(32), nullable=False, comment="a key's id, or 'environment'"),
    Column("binding", String(64), nullable=False, comment="hash of the key's secret, masked by the cookie"),
    Column("expires_at", String(20), nullable=False),
)

# Descriptions of datasets that version 0.1 registered. Those of newer datasets are in the ledger.
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

# Cards as they were published, byte for byte: a later version of rugnik may write others.
cards = Table(
    "cards",
    metadata,
    Column("release", String(32), primary_key=True),
    Column("body", Text, nullable=False, comment="canonical JSON; its digest is in the ledger"),
)

# Noisy counts of the layers of a release that is counted elsewhere, until it is published: then they are part of the
# synopsis, and are deleted here.
layers = Table(
    "layers",
    metadata,
    Column("release", String(32), primary_key=True),
    Column("step", String(16), primary_key=True),
    Column("body", LargeBinary, nullable=False, comment="zlib of 64-bit integers; their digest is in the ledger"),
)

# The source of truth: datasets and their domains, orders, states, digests, keys.
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

# History of verifications, for people to read. It proves nothing: only verifying the chain again does.
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

# Cache of answers that took long to compute. It may be emptied at any time: they can be computed again.
answers = Table(
    "answers",
    metadata,
    Column("number", Whole, primary_key=True, autoincrement=True),
    Column("key", String(64), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("mac", String(64), nullable=False, comment="HMAC of key and body under a secret outside the database"),
    UniqueConstraint("key"),
)

# One row, which an append locks on PostgreSQL until it commits. On SQLite, BEGIN IMMEDIATE locks the whole file.
ledger_lock = Table("ledger_lock", metadata, Column("id", Integer, primary_key=True, autoincrement=False))

# The transparency log: its name and the key that it began with. One row, made at the first start.
log = Table(
    "log",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("origin", String(200), nullable=False),
    Column("verifier", String(400), nullable=False, comment="the first verifier key; later ones are in the ledger"),
)

# Checkpoints that receipts are pinned to, with all signatures that they were shown with. Others can be made again.
checkpoints = Table(
    "checkpoints",
    metadata,
    Column("size", Whole, primary_key=True, autoincrement=False),
    Column("sealed", Boolean, primary_key=True, comment="whether a quorum of witnesses had signed it"),
    Column("note", Text, nullable=False, comment="C2SP signed note"),
)

# How large the log was when a period of RUGNIK_CHECKPOINT_SECONDS began: a publication is shown once that is over.
# Numbered in the order in which they were begun, which is not that of their starts where a clock was wrong.
periods = Table(
    "periods",
    metadata,
    Column("number", Whole, primary_key=True, autoincrement=True),
    Column("start", Whole, nullable=False, comment="in seconds since 1970"),
    Column("size", Whole, nullable=False, comment="entries before the first one of the period"),
)

# Signatures of outside witnesses on checkpoints. The time of each is in the signature itself.
cosignatures = Table(
    "cosignatures",
    metadata,
    Column("size", Whole, primary_key=True, autoincrement=False),
    Column("signer", String(200), primary_key=True, comment="the name that the policy gives the witness"),
    Column("line", Text, nullable=False, comment="a signature line of a C2SP signed note"),
)
