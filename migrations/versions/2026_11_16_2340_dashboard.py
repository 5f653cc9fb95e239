"""Sessions of the dashboard, the history of verifications, and indices of the ledger by kind, actor and balance."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add two tables and three indices."""
    op.create_table(
        "sessions",
        sa.Column("id_sha256", sa.String(64), nullable=False, comment="hash of what the cookie holds"),
        sa.Column("key_id", sa.String(32), nullable=False, comment="a key's id, or 'environment'"),
        sa.Column("binding", sa.String(64), nullable=False, comment="ties the session to the secret of its key"),
        sa.Column("expires_at", sa.String(20), nullable=False),
        sa.PrimaryKeyConstraint("id_sha256", name="pk_sessions"),
    )
    op.create_table(
        "verifications",
        sa.Column("number", _WHOLE, nullable=False),
        sa.Column("at", sa.String(20), nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("entries", _WHOLE, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False, comment="of the last good entry"),
        sa.Column("first_bad", _WHOLE, nullable=True),
        sa.Column("reason", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("number", name="pk_verifications"),
    )
    balances = ["dataset", "kind", "release", "epsilon_nano"]
    op.create_index("ix_ledger_dataset_kind_release_epsilon_nano", "ledger", balances)
    for column in ("kind", "actor"):
        op.create_index(f"ix_ledger_{column}_seq", "ledger", [column, "seq"])
