"""Global proofs, which workers share."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

ROLE = "wm_worker"


def upgrade() -> None:
    """Add a table; where there is a role for workers, they may read it and add to it."""
    op.create_table(
        "whole_domain_proof",
        sa.Column("embed_id", sa.Integer(), nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("label", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["embed_id"], ["job.id"], name=op.f("fk_whole_domain_proof_embed_id_job")),
        sa.PrimaryKeyConstraint("embed_id", "subject", "label", name=op.f("pk_whole_domain_proof")),
    )
    if op.get_bind().dialect.name == "postgresql":
        known = sa.text("SELECT 1 FROM pg_roles WHERE rolname = :name")
        if op.get_bind().execute(known, {"name": ROLE}).one_or_none() is not None:
            op.execute(f"GRANT SELECT, INSERT ON whole_domain_proof TO {ROLE}")
