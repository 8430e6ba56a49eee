"""Run jobs, independent of their sender: lease, sandboxed process, heartbeat, outcome.

`ledger`: the interface of the store; `slots` and `sandbox`: the supervisor; `messages`, `service` and
`context`: the child process; `owners`: names of lease owners. Independent of the broker and of the kinds of
jobs: the rows of a job's resume state are opaque here.
"""
