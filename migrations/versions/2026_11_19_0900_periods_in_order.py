"""Periods of the log in the order in which they were begun.

A clock that was wrong leaves a period that is ahead of it. The newest period is the one that was begun last, so the log
need not wait until the clock gets there.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Number the rows, in the order of their starts: so far none was begun before one that was there."""
    tx = op.get_bind()
    rows = tx.execute(sa.text("SELECT start, size FROM periods ORDER BY start")).mappings().all()
    op.drop_table("periods")
    table = op.create_table(
        "periods",
        sa.Column("number", _WHOLE, nullable=False),
        sa.Column("start", _WHOLE, nullable=False, comment="in seconds since 1970"),
        sa.Column("size", _WHOLE, nullable=False, comment="entries before the first one of the period"),
        sa.PrimaryKeyConstraint("number", name="pk_periods"),
    )
    op.bulk_insert(table, [dict(row) for row in rows])
    if tx.dialect.name == "sqlite":
        _guard_sqlite()
    else:
        _guard_postgresql()


def _guard_sqlite() -> None:
    for verb in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER periods_no_{verb.lower()} BEFORE {verb} ON periods "
            "BEGIN SELECT RAISE(ABORT, 'periods: rows are never changed or removed'); END"
        )
    op.execute(
        "CREATE TRIGGER periods_no_replace_0 BEFORE INSERT ON periods "
        "WHEN EXISTS (SELECT 1 FROM periods WHERE number = NEW.number) "
        "BEGIN SELECT RAISE(ABORT, 'periods: rows are never replaced'); END"
    )


def _guard_postgresql() -> None:
    op.execute(
        "CREATE TRIGGER periods_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON periods "
        "FOR EACH STATEMENT EXECUTE FUNCTION rugnik_append_only()"
    )
    op.execute("ALTER TABLE periods ENABLE ALWAYS TRIGGER periods_append_only")
