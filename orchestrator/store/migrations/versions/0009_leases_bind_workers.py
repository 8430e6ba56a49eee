"""On PostgreSQL a worker's login changes only jobs that it has leased, and only as a lease allows.

Table rights alone let a hostile worker record outcomes for jobs that others run. Logins tell workers apart:
give one to each host that is not trusted with the others' jobs. A late result of an expired lease still
counts, since any lease of the job ever given to the login will do.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

# Whoever may change campaigns is not held back. A lease without a login was given before this revision.
# The functions run with their owner's rights; pg_temp comes last, so that no temporary table of a worker
# stands in for one of these.
FUNCTION = """
CREATE FUNCTION {schema}.{name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
DECLARE
    allowed boolean := false;
BEGIN
    IF has_table_privilege(session_user, 'campaign', 'UPDATE') THEN
        RETURN NEW;
    END IF;
    {check}
    IF allowed THEN
        RETURN NEW;
    END IF;
    RAISE insufficient_privilege
        USING MESSAGE = format('permission denied: %s has no lease for {action}', session_user, NEW.{job});
END $$;
"""

CHANGE_JOB = """
    IF OLD.state = 'ready' AND NEW.state = 'running' THEN
        allowed := (NEW.leases, NEW.failures) = (OLD.leases + 1, OLD.failures);
        IF allowed THEN
            INSERT INTO lease (job_id, number, login) VALUES (NEW.id, NEW.leases, session_user);
        END IF;
    ELSIF OLD.state = 'waiting' THEN
        allowed := (NEW.leases, NEW.failures) = (OLD.leases, OLD.failures) AND CASE NEW.state
            WHEN 'ready' THEN NOT EXISTS (
                SELECT FROM job_need JOIN job needed ON needed.id = needs_id WHERE job_id = NEW.id
                AND (needed.state IN ('waiting', 'ready', 'running')
                     OR NOT optional AND needed.state <> 'done'))
            WHEN 'blocked' THEN EXISTS (
                SELECT FROM job_need JOIN job needed ON needed.id = needs_id WHERE job_id = NEW.id
                AND NOT optional AND needed.state IN ('failed', 'blocked', 'cancelled'))
            ELSE false END;
    ELSIF NEW.state IN ('done', 'failed') THEN
        allowed := (NEW.leases, NEW.failures) = (OLD.leases, OLD.failures) AND EXISTS (
            SELECT FROM outcome WHERE job_id = NEW.id AND (status = 'done') = (NEW.state = 'done'));
    ELSIF OLD.state = 'running' THEN
        allowed := NEW.leases = OLD.leases AND NEW.failures - OLD.failures IN (0, 1)
            AND (NEW.state IN ('running', 'ready') OR NEW.state = 'cancelled' AND OLD.cancelled)
            AND EXISTS (SELECT FROM lease WHERE job_id = OLD.id AND number = OLD.leases
                        AND (login IS NULL OR login = session_user));
    END IF;
"""

ADD_ROW = """
    allowed := EXISTS (
        SELECT FROM lease WHERE job_id = NEW.job_id AND (login IS NULL OR login = session_user));
"""

ADD_PROOF = f"""{ADD_ROW}
    allowed := allowed AND EXISTS (
        SELECT FROM job_need WHERE job_need.job_id = NEW.job_id AND needs_id = NEW.embed_id);
"""

GUARDS = {
    "job": ("UPDATE", CHANGE_JOB, "this change of job %s", "id"),
    "attempt": ("INSERT", ADD_ROW, "an attempt at job %s", "job_id"),
    "forgery_answer": ("INSERT", ADD_ROW, "an answer to job %s", "job_id"),
    "global_proof": ("INSERT", ADD_PROOF, "a proof found by job %s", "job_id"),
    "outcome": ("INSERT", ADD_ROW, "an outcome of job %s", "job_id"),
}
"""For each table what is checked, how, what a refusal says, and the column of the job."""


def upgrade() -> None:
    """Add who leased what, who found a proof and, on PostgreSQL, the checks."""
    op.create_table(
        "lease",
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("login", sa.String(length=63), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_lease_job_id_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_lease")),
    )
    with op.batch_alter_table("global_proof") as proofs:
        proofs.add_column(sa.Column("job_id", sa.Integer(), nullable=True))
        proofs.create_foreign_key(op.f("fk_global_proof_job_id_job"), "job", ["job_id"], ["id"])
    if op.get_bind().dialect.name == "postgresql":
        connection = op.get_bind()
        op.execute("INSERT INTO lease (job_id, number) SELECT id, leases FROM job WHERE state = 'running'")
        schema = connection.dialect.identifier_preparer.quote_identifier(
            connection.execute(sa.text("SELECT current_schema()")).scalar_one()
        )
        for table, (event, check, action, job) in GUARDS.items():
            name = f"wm_guard_{table}"
            connection.exec_driver_sql(
                FUNCTION.format(schema=schema, name=name, check=check, action=action, job=job).replace(
                    "%", "%%"
                )
            )
            op.execute(
                f"CREATE TRIGGER guard BEFORE {event} ON {schema}.{table}"
                f" FOR EACH ROW EXECUTE FUNCTION {schema}.{name}()"
            )
