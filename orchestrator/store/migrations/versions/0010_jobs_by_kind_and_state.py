"""Jobs by kind and state in the order of their ids: a page of them is found without reading all jobs."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the index. That of the states alone stays: SQLite finds ready jobs in order by it."""
    op.create_index("ix_job_kind_state_id", "job", ["kind", "state", "id"])
