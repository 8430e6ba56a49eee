"""Which forgery answers follow from others, and which are certified: columns, not words in the reason."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_FOLLOWS = "follows from eps "


def upgrade() -> None:
    """Add the columns and fill them from the reasons, which give an eps with six digits; rename a table."""
    op.add_column("forgery_answer", sa.Column("followed_from", sa.Float()))
    op.add_column("forgery_answer", sa.Column("certified", sa.Boolean()))
    columns = ("status", "seconds", "reason", "followed_from", "certified")
    answer = sa.table("forgery_answer", *map(sa.column, columns))
    is_postgres = op.get_bind().dialect.name == "postgresql"
    end = (sa.func.strpos if is_postgres else sa.func.instr)(answer.c.reason, ":")
    first = len(_FOLLOWS) + 1
    op.execute(
        sa.update(answer)
        .where(answer.c.seconds == 0.0, answer.c.reason.like(f"{_FOLLOWS}%:%"))
        .values(followed_from=sa.cast(sa.func.substr(answer.c.reason, first, end - first), sa.Float))
    )
    op.execute(
        sa.update(answer)
        .where(answer.c.status == "impossible", answer.c.reason.like("%certified: %"))
        .values(certified=sa.func.replace(answer.c.reason, "not certified: ", "").like("%certified: %"))
    )
    op.rename_table("whole_domain_proof", "global_proof")
    if is_postgres:
        for name in ("pk_whole_domain_proof", "fk_whole_domain_proof_embed_id_job"):
            new = name.replace("whole_domain", "global")
            op.execute(f"ALTER TABLE global_proof RENAME CONSTRAINT {name} TO {new}")
