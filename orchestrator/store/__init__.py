"""The store: every campaign, job, outcome and artifact, in SQLite or PostgreSQL, through SQLAlchemy.

`database` opens it, `migrations` (Alembic) make its tables, which `tables` describes. `campaigns` writes
plans (with `planned`) and reads states, `queue` makes jobs ready and hands them out, `ledger` is what workers
see, with `forgery_state` for what forgery jobs go on from, `monitoring` what monitors see. The store is the
truth: whatever else is lost, a campaign resumes from it.
"""
