"""Runs jobs: fetch, lease, run in a sandbox, record. May import `wm`, never `orchestrator`."""
