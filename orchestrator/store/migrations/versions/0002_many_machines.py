"""Many machines: live services, leases of a job, cancelled jobs, and a role for workers."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

ROLE = "wm_worker"

GRANTS = {
    "SELECT": ("alembic_version", "artifact", "attempt", "forgery_answer", "job", "job_need", "outcome",
               "orchestrator", "worker"),
    "INSERT": ("artifact", "attempt", "forgery_answer", "outcome", "worker"),
    "UPDATE (state, failures, lease_owner, lease_until, leases)": ("job",),
    "UPDATE (version, slots, started_at, heartbeat_at)": ("worker",),
    "DELETE": ("worker",),
}  # fmt: skip
"""The rights of a worker. It cannot read campaigns, nor change a plan, an outcome or an artifact."""


def upgrade() -> None:
    """Add two tables, three columns and, on PostgreSQL, the role."""
    for name in ("worker", "orchestrator"):
        slots = [sa.Column("slots", sa.Integer(), nullable=False)] if name == "worker" else []
        op.create_table(
            name,
            sa.Column("name", sa.String(length=300), nullable=False),
            sa.Column("version", sa.String(length=100), nullable=False),
            *slots,
            sa.Column("started_at", sa.Float(), nullable=False),
            sa.Column("heartbeat_at", sa.Float(), nullable=False),
            sa.PrimaryKeyConstraint("name", name=op.f(f"pk_{name}")),
        )
    op.add_column("campaign", sa.Column("launched_at", sa.Float(), nullable=True))
    op.add_column("job", sa.Column("leases", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("job", sa.Column("cancelled", sa.Boolean(), nullable=False, server_default=sa.false()))
    if op.get_bind().dialect.name == "postgresql":
        _grant()


def _grant() -> None:
    """Create the role, which has no login, unless another database of the server has created it.

    A user who may not create roles gets the schema all the same: then workers connect as that user, and
    `wm doctor` says so.
    """
    op.execute(
        f"""
        DO $$ BEGIN
            CREATE ROLE {ROLE} NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL;
        END $$
        """
    )
    known = sa.text("SELECT 1 FROM pg_roles WHERE rolname = :name")
    if op.get_bind().execute(known, {"name": ROLE}).one_or_none() is None:
        return
    for right, tables in GRANTS.items():
        op.execute(f"GRANT {right} ON {', '.join(tables)} TO {ROLE}")
    op.execute(f"GRANT USAGE ON SEQUENCE attempt_id_seq TO {ROLE}")
