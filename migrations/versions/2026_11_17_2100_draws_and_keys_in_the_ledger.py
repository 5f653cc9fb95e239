"""The ledger takes entries of any kind, and entries about keys, which belong to no dataset.

`core.ledger.chain` defines the kinds. A check constraint here would need a migration for each new kind.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_COMMENT = "null for entries about keys"


def upgrade() -> None:
    """Drop the check on kinds, and let an entry have no dataset."""
    if op.get_bind().dialect.name == "sqlite":
        _rebuild_on_sqlite()
        return
    op.drop_constraint("ck_ledger_kind", "ledger")
    op.alter_column("ledger", "dataset", existing_type=sa.String(64), nullable=True, comment=_COMMENT)


def _rebuild_on_sqlite() -> None:
    """SQLite cannot change a constraint, so the table is rebuilt with its indices and triggers."""
    indices_and_triggers = sa.text(
        "SELECT sql FROM sqlite_master WHERE tbl_name = 'ledger' AND type IN ('index', 'trigger') AND sql IS NOT NULL "
        "ORDER BY type, name"
    )
    statements = op.get_bind().execute(indices_and_triggers).scalars().all()
    op.create_table(
        "ledger_anew",
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
        sa.ForeignKeyConstraint(["dataset"], ["datasets.name"], name="fk_ledger_dataset_datasets"),
        sa.ForeignKeyConstraint(["release"], ["releases.id"], name="fk_ledger_release_releases"),
        sa.CheckConstraint("epsilon_nano >= 0", name=op.f("ck_ledger_epsilon_nano")),
        sa.CheckConstraint("seq >= 1", name=op.f("ck_ledger_seq")),
    )
    op.execute("INSERT INTO ledger_anew SELECT * FROM ledger ORDER BY seq")
    op.drop_table("ledger")
    op.rename_table("ledger_anew", "ledger")
    for statement in statements:
        op.execute(statement)
