"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "artifact",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_artifact")),
    )
    op.create_table(
        "campaign",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("spec_sha256", sa.String(length=64), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("provenance", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("heartbeat_at", sa.Float(), nullable=True),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaign")),
        sa.UniqueConstraint("name", "spec_sha256", name=op.f("uq_campaign_name_spec_sha256")),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.String(length=300), nullable=True),
        sa.Column("lease_until", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
        sa.UniqueConstraint("key", name=op.f("uq_job_key")),
    )
    op.create_index(op.f("ix_job_state"), "job", ["state"], unique=False)
    op.create_table(
        "attempt",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(length=300), nullable=False),
        sa.Column("failed_at", sa.Float(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_attempt_job_id_job")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempt")),
    )
    op.create_index(op.f("ix_attempt_job_id"), "attempt", ["job_id"], unique=False)
    op.create_table(
        "cell",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("scheme", sa.String(length=40), nullable=True),
        sa.Column("trigger_share", sa.Float(), nullable=True),
        sa.Column("ones_share", sa.Float(), nullable=True),
        sa.Column("repeat", sa.Integer(), nullable=True),
        sa.Column("engine", sa.String(length=40), nullable=True),
        sa.Column("signature", sa.Integer(), nullable=True),
        sa.Column("eps", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name=op.f("fk_cell_campaign_id_campaign")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cell")),
    )
    op.create_index(op.f("ix_cell_campaign_id"), "cell", ["campaign_id"], unique=False)
    op.create_table(
        "forgery_answer",
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("instance", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("row", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("distance", sa.Float(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("reason", sa.String(length=200), nullable=False),
        sa.Column("witness", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_forgery_answer_job_id_job")),
        sa.PrimaryKeyConstraint("job_id", "instance", name=op.f("pk_forgery_answer")),
    )
    op.create_table(
        "job_need",
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("needs_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_job_need_job_id_job")),
        sa.ForeignKeyConstraint(["needs_id"], ["job.id"], name=op.f("fk_job_need_needs_id_job")),
        sa.PrimaryKeyConstraint("job_id", "needs_id", name=op.f("pk_job_need")),
    )
    op.create_index(op.f("ix_job_need_needs_id"), "job_need", ["needs_id"], unique=False)
    op.create_table(
        "outcome",
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("timings", sa.JSON(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("owner", sa.String(length=300), nullable=False),
        sa.Column("recorded_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_outcome_job_id_job")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_outcome")),
    )
    op.create_table(
        "campaign_job",
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("cell_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_campaign_job_campaign_id_campaign")
        ),
        sa.ForeignKeyConstraint(["cell_id"], ["cell.id"], name=op.f("fk_campaign_job_cell_id_cell")),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_campaign_job_job_id_job")),
        sa.PrimaryKeyConstraint("campaign_id", "job_id", name=op.f("pk_campaign_job")),
    )
    op.create_index(op.f("ix_campaign_job_cell_id"), "campaign_job", ["cell_id"], unique=False)
    op.create_index(op.f("ix_campaign_job_job_id"), "campaign_job", ["job_id"], unique=False)
