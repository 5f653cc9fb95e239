"""Noisy counts of the layers of a release whose rows are counted elsewhere, kept from one step to the next."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table of layers. Code from before it does not look for it."""
    op.create_table(
        "layers",
        sa.Column("release", sa.String(32), nullable=False),
        sa.Column("step", sa.String(16), nullable=False),
        sa.Column(
            "body", sa.LargeBinary, nullable=False, comment="zlib of 64-bit integers; their digest is in the ledger"
        ),
        sa.PrimaryKeyConstraint("release", "step", name="pk_layers"),
    )
