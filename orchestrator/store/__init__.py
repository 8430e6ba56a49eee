"""The store: every campaign, job, outcome and artifact, in SQLite or PostgreSQL, through SQLAlchemy.

`database` opens it, `migrations` (Alembic) make its tables, which `tables` describes. `campaigns` writes
plans (with `planned`) and reads states, `settling` makes jobs ready, `queue` hands them out, `ledger` is what
workers see. The store is the truth: whatever else is lost, a campaign resumes from it.
"""
