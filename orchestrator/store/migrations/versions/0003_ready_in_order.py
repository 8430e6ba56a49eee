"""Ready jobs in order: the next ones are found without reading all jobs of a campaign."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add an index of the ready jobs alone."""
    ready = sa.text("state = 'ready'")
    op.create_index("ix_job_ready", "job", ["id"], postgresql_where=ready, sqlite_where=ready)
