"""How a job runs, whoever sent it: lease, sandboxed process, heartbeat, outcome.

`ledger`: what the store must offer; `slots` and `sandbox`: the supervisor; `messages`, `service`
and `context`: the child process and its view of the world; `owners`: who holds leases. Knows no broker, and
nothing of what a kind of job does: the rows that a job records and goes on from are opaque here.
"""
