"""Optional needs: jobs that others wait for but do not depend on."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add a column; every need so far must be done."""
    op.add_column("job_need", sa.Column("optional", sa.Boolean(), nullable=False, server_default=sa.false()))
