"""A suspect behind a network address: rows sent in batches under hard limits, replies checked.

`client` asks, and finds the format in which an endpoint answers; `formats` is the table of formats,
`described` reads what services say of themselves. `reply` finds the arrays in a reply (`json_path`: at a
given place), `meaning` says what they are. `endpoint` retries within limits, `wm.http` makes one request. A
reply may be hostile: its size, duration, shape and values are all checked.

May import `wm.verification.answers`, `wm.http` and `wm.errors`.
"""
