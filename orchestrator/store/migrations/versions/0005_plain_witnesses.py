"""Witnesses as they are: PostgreSQL takes longer to try and compress them than for the rest of an answer."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Keep new witnesses uncompressed; those already there stay as they are."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE forgery_answer ALTER COLUMN witness SET STORAGE EXTERNAL")
