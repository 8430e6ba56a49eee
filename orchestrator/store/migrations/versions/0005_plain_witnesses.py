"""Uncompressed witnesses: their compression took PostgreSQL longer than the rest of an answer."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Store new witnesses uncompressed; old ones stay as they are."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE forgery_answer ALTER COLUMN witness SET STORAGE EXTERNAL")
