"""The ledger as a transparency log: its origin, the checkpoints that receipts are pinned to, cosignatures, periods.

The tree needs no table: every process builds it from the entries that it verifies. The file of the witness is read in
its old form too, and becomes a signed checkpoint with the next entry.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_UNIQUE = {
    "log": "id = NEW.id",
    "checkpoints": "size = NEW.size AND sealed = NEW.sealed",
    "cosignatures": "size = NEW.size AND signer = NEW.signer",
    "periods": "start = NEW.start",
}


def upgrade() -> None:
    """Add four append-only tables. Code from before them does not look for them."""
    op.create_table(
        "log",
        sa.Column("id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("origin", sa.String(200), nullable=False),
        sa.Column(
            "verifier", sa.String(400), nullable=False, comment="the first verifier key; later ones are in the ledger"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_log"),
    )
    op.create_table(
        "checkpoints",
        sa.Column("size", _WHOLE, nullable=False, autoincrement=False),
        sa.Column("sealed", sa.Boolean, nullable=False, comment="whether a quorum of witnesses had signed it"),
        sa.Column("note", sa.Text, nullable=False, comment="C2SP signed note"),
        sa.PrimaryKeyConstraint("size", "sealed", name="pk_checkpoints"),
    )
    op.create_table(
        "cosignatures",
        sa.Column("size", _WHOLE, nullable=False, autoincrement=False),
        sa.Column("signer", sa.String(200), nullable=False, comment="the name that the policy gives the witness"),
        sa.Column("line", sa.Text, nullable=False, comment="a signature line of a C2SP signed note"),
        sa.PrimaryKeyConstraint("size", "signer", name="pk_cosignatures"),
    )
    op.create_table(
        "periods",
        sa.Column("start", _WHOLE, nullable=False, autoincrement=False, comment="in seconds since 1970"),
        sa.Column("size", _WHOLE, nullable=False, comment="entries before the first one of the period"),
        sa.PrimaryKeyConstraint("start", name="pk_periods"),
    )
    guard = _guard_sqlite if op.get_bind().dialect.name == "sqlite" else _guard_postgresql
    for table, unique in _UNIQUE.items():
        guard(table, unique)


def _guard_sqlite(table: str, unique: str) -> None:
    for verb in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{table}: rows are never changed or removed'); END"
        )
    # INSERT OR REPLACE fires no delete trigger. A plain INSERT of a row that is there fails with this, too.
    op.execute(
        f"CREATE TRIGGER {table}_no_replace_0 BEFORE INSERT ON {table} "
        f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {unique}) "
        f"BEGIN SELECT RAISE(ABORT, '{table}: rows are never replaced'); END"
    )


def _guard_postgresql(table: str, _unique: str) -> None:
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION rugnik_append_only()"
    )
    op.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_append_only")
