"""`wm web`: a live page of the store, for browsers.

`app` has the routes and `guard` who may use them; `live` looks at the store in threads of its own, so that a
page is made without counting anything; `compare` sets two campaigns side by side. Pages are Jinja templates
made here; a server-sent event replaces the blocks that have changed. Needs `treeproof[web]`.
May import the rest of `orchestrator`, except `cli`.
"""
