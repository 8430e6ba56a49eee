"""How a job runs, whoever sent it: lease, sandboxed process, heartbeat, outcome.

`ledger`: what the store must offer; `runner` and `slots`: the supervisor; `sandbox`, `messages`, `service`
and `context`: the child process and its view of the world. Knows no broker.
"""
