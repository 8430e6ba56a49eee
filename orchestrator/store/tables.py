"""Describe the tables. `migrations` creates them; a test compares the two."""

from __future__ import annotations

from enum import StrEnum

import sqlalchemy as sa


class JobState(StrEnum):
    """State of a job."""

    WAITING = "waiting"
    """Needs jobs that have no outcome yet."""
    READY = "ready"
    """May be leased."""
    RUNNING = "running"
    """Leased; ready again when the lease expires."""
    DONE = "done"
    """Has an outcome with a result."""
    FAILED = "failed"
    """Has an outcome without one: timeout, memout or error."""
    BLOCKED = "blocked"
    """Needs a job that failed."""
    CANCELLED = "cancelled"
    """Will not run."""

    @property
    def is_finished(self) -> bool:
        """Whether the state is final."""
        return self not in (JobState.WAITING, JobState.READY, JobState.RUNNING)


class CampaignState(StrEnum):
    """State of a campaign."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    """Stopped before its end; `wm campaign resume` continues it."""
    FINISHED = "finished"
    """Every job has a result."""
    INCOMPLETE = "incomplete"
    """Every job ended, some without a result."""
    CANCELLED = "cancelled"
    """Stopped by the user; `wm campaign resume` continues it."""


REASON_LENGTH = 200
"""Maximum length of a forgery answer's reason."""

_IS_READY = sa.text("state = 'ready'")

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

campaign = sa.Table(
    "campaign",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("spec_sha256", sa.String(64), nullable=False),
    sa.Column("spec", sa.JSON, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("provenance", sa.JSON, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("heartbeat_at", sa.Float),
    sa.Column("finished_at", sa.Float),
    sa.Column("launched_at", sa.Float),
    sa.UniqueConstraint("name", "spec_sha256"),
)

job = sa.Table(
    "job",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", sa.String(64), nullable=False, unique=True),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("parameters", sa.JSON, nullable=False),
    sa.Column("weight", sa.Integer, nullable=False),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("lease_owner", sa.String(300)),
    sa.Column("lease_until", sa.Float),
    sa.Column("leases", sa.Integer, nullable=False, server_default="0"),
    sa.Column("cancelled", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Index(None, "state"),
    sa.Index(None, "kind", "state", "id"),
    sa.Index("ix_job_ready", "id", postgresql_where=_IS_READY, sqlite_where=_IS_READY),
)
"""`leases` is the number of leases so far: a change shows that a worker received the job.
`cancelled` marks a running job that must not become ready again."""

job_need = sa.Table(
    "job_need",
    metadata,
    sa.Column("job_id", sa.ForeignKey("job.id"), primary_key=True),
    sa.Column("needs_id", sa.ForeignKey("job.id"), primary_key=True),
    sa.Column("optional", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Index(None, "needs_id"),
)
"""The job waits for an `optional` need too, whose answers help, but runs however it ends."""

cell = sa.Table(
    "cell",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("campaign_id", sa.ForeignKey("campaign.id"), nullable=False),
    sa.Column("scheme", sa.String(40)),
    sa.Column("trigger_share", sa.Float),
    sa.Column("ones_share", sa.Float),
    sa.Column("repeat", sa.Integer),
    sa.Column("engine", sa.String(40)),
    sa.Column("signature", sa.Integer),
    sa.Column("eps", sa.Float),
    sa.Index(None, "campaign_id"),
)
"""A point of a campaign's grid; columns that do not apply are null."""

campaign_job = sa.Table(
    "campaign_job",
    metadata,
    sa.Column("campaign_id", sa.ForeignKey("campaign.id"), primary_key=True),
    sa.Column("job_id", sa.ForeignKey("job.id"), primary_key=True),
    sa.Column("cell_id", sa.ForeignKey("cell.id"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Index(None, "job_id"),
    sa.Index(None, "cell_id"),
)

outcome = sa.Table(
    "outcome",
    metadata,
    sa.Column("job_id", sa.ForeignKey("job.id"), primary_key=True),
    sa.Column("status", sa.String(20), nullable=False),
    sa.Column("result", sa.JSON(none_as_null=True)),
    sa.Column("timings", sa.JSON, nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("owner", sa.String(300), nullable=False),
    sa.Column("recorded_at", sa.Float, nullable=False),
)

attempt = sa.Table(
    "attempt",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("job_id", sa.ForeignKey("job.id"), nullable=False),
    sa.Column("owner", sa.String(300), nullable=False),
    sa.Column("failed_at", sa.Float, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Index(None, "job_id"),
)

lease = sa.Table(
    "lease",
    metadata,
    sa.Column("job_id", sa.ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("login", sa.String(63)),
)
"""Which worker's login leased a job; PostgreSQL fills it by itself, and workers cannot read it."""

artifact = sa.Table(
    "artifact",
    metadata,
    sa.Column("sha256", sa.String(64), primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

forgery_answer = sa.Table(
    "forgery_answer",
    metadata,
    sa.Column("job_id", sa.ForeignKey("job.id"), primary_key=True),
    sa.Column("instance", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("row", sa.Integer, nullable=False),
    sa.Column("status", sa.String(20), nullable=False),
    sa.Column("distance", sa.Float),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("reason", sa.String(REASON_LENGTH), nullable=False),
    sa.Column("witness", sa.LargeBinary),
    sa.Column("followed_from", sa.Float),
    sa.Column("certified", sa.Boolean),
)
"""`followed_from` is null if an engine answered the query, `certified` if no proof was wanted."""

global_proof = sa.Table(
    "global_proof",
    metadata,
    sa.Column("embed_id", sa.ForeignKey("job.id"), primary_key=True),
    sa.Column("subject", sa.String(64), primary_key=True),
    sa.Column("label", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("job_id", sa.ForeignKey("job.id")),
)
"""Proofs of forgery jobs about the forest of an embed job; see `orchestrator.store.forgery_state`.

`job_id` is the job that found the proof; null before revision 0009.
"""


def _service(name: str, *more: sa.Column[int]) -> sa.Table:
    return sa.Table(
        name,
        metadata,
        sa.Column("name", sa.String(300), primary_key=True),
        sa.Column("version", sa.String(100), nullable=False),
        *more,
        sa.Column("started_at", sa.Float, nullable=False),
        sa.Column("heartbeat_at", sa.Float, nullable=False),
    )


worker = _service("worker", sa.Column("slots", sa.Integer, nullable=False))
"""Worker processes; one that stops deletes its row."""

orchestrator = _service("orchestrator")
"""Orchestrators; of those alive, the one that started first sends jobs."""
