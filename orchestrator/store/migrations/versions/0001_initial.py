"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "artifact",
        sa.Column("sha256", sa.String(length=64), primary_key=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
    )
    op.create_table(
        "campaign",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("spec_sha256", sa.String(length=64), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("provenance", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("heartbeat_at", sa.Float()),
        sa.Column("finished_at", sa.Float()),
        sa.UniqueConstraint("name", "spec_sha256"),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("key", sa.String(length=64), nullable=False, unique=True),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False, index=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.String(length=300)),
        sa.Column("lease_until", sa.Float()),
    )
    op.create_table(
        "attempt",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("job_id", sa.Integer(), sa.ForeignKey("job.id"), nullable=False, index=True),
        sa.Column("owner", sa.String(length=300), nullable=False),
        sa.Column("failed_at", sa.Float(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
    )
    op.create_table(
        "cell",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("campaign_id", sa.Integer(), sa.ForeignKey("campaign.id"), nullable=False, index=True),
        sa.Column("scheme", sa.String(length=40)),
        sa.Column("trigger_share", sa.Float()),
        sa.Column("ones_share", sa.Float()),
        sa.Column("repeat", sa.Integer()),
        sa.Column("engine", sa.String(length=40)),
        sa.Column("signature", sa.Integer()),
        sa.Column("eps", sa.Float()),
    )
    op.create_table(
        "forgery_answer",
        sa.Column("job_id", sa.Integer(), sa.ForeignKey("job.id"), primary_key=True),
        sa.Column("instance", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("row", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("distance", sa.Float()),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("reason", sa.String(length=200), nullable=False),
        sa.Column("witness", sa.LargeBinary()),
    )
    op.create_table(
        "job_need",
        sa.Column("job_id", sa.Integer(), sa.ForeignKey("job.id"), primary_key=True),
        sa.Column("needs_id", sa.Integer(), sa.ForeignKey("job.id"), primary_key=True, index=True),
    )
    op.create_table(
        "outcome",
        sa.Column("job_id", sa.Integer(), sa.ForeignKey("job.id"), primary_key=True),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("result", sa.JSON(none_as_null=True)),
        sa.Column("timings", sa.JSON(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("owner", sa.String(length=300), nullable=False),
        sa.Column("recorded_at", sa.Float(), nullable=False),
    )
    op.create_table(
        "campaign_job",
        sa.Column("campaign_id", sa.Integer(), sa.ForeignKey("campaign.id"), primary_key=True),
        sa.Column("job_id", sa.Integer(), sa.ForeignKey("job.id"), primary_key=True, index=True),
        sa.Column("cell_id", sa.Integer(), sa.ForeignKey("cell.id"), nullable=False, index=True),
        sa.Column("position", sa.Integer(), nullable=False),
    )
