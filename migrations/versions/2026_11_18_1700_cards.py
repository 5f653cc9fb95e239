"""Cards of releases, kept as they were published. Releases from before have none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table of cards, which only grows. Code from before it does not look for it."""
    op.create_table(
        "cards",
        sa.Column("release", sa.String(32), nullable=False),
        sa.Column("body", sa.Text, nullable=False, comment="canonical JSON; its digest is in the ledger"),
        sa.PrimaryKeyConstraint("release", name="pk_cards"),
    )
    if op.get_bind().dialect.name == "sqlite":
        _guard_sqlite()
    else:
        _guard_postgresql()


def _guard_sqlite() -> None:
    for verb in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER cards_no_{verb.lower()} BEFORE {verb} ON cards "
            "BEGIN SELECT RAISE(ABORT, 'cards: rows are never changed or removed'); END"
        )
    op.execute(
        "CREATE TRIGGER cards_no_replace BEFORE INSERT ON cards "
        "WHEN EXISTS (SELECT 1 FROM cards WHERE release = NEW.release) "
        "BEGIN SELECT RAISE(ABORT, 'cards: rows are never replaced'); END"
    )


def _guard_postgresql() -> None:
    op.execute(
        "CREATE TRIGGER cards_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON cards "
        "FOR EACH STATEMENT EXECUTE FUNCTION rugnik_append_only()"
    )
    op.execute("ALTER TABLE cards ENABLE ALWAYS TRIGGER cards_append_only")
