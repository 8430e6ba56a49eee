"""On PostgreSQL an artifact's bytes must have the hash that names them, whoever inserts them.

Else a worker could put other bytes under a hash that another job is about to use. Rows that are there already
are checked too.
"""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the constraint; SQLite, which only processes of one host use, has no such function."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "ALTER TABLE artifact ADD CONSTRAINT ck_artifact_is_its_hash"
            " CHECK (sha256 = encode(sha256(data), 'hex'))"
        )
