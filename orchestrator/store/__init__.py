"""The store: every campaign, job, outcome and artifact, in SQLite or PostgreSQL, through SQLAlchemy.

`database` opens it; `tables` describes the tables, which `migrations` (Alembic) create. `campaigns` stores
plans (with `planned`) and reads states, `queue` changes the states of jobs, `ledger` is the workers' access,
with `forgery_state` for the resume state of forgery jobs; `activity`, `browse` (with `wanted`) and `details`
serve monitors.
The store is the truth: whatever else is lost, a campaign resumes from it.
"""
