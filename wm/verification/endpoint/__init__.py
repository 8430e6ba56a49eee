"""A suspect behind a network address: asked in batches under hard limits, its answers checked.

``POST`` to one URL, JSON ``{"instances": [[...], ...]}``; the answer is JSON with ``votes`` (a list of each
tree's 0 or 1 for each instance), or, from a suspect that gives less, ``probabilities`` (of class 1, or of
both classes) or ``labels``.

`transport` makes one request within its limits, `client` divides the rows into batches and tries again,
`reply` reads what came back. The answers are nobody's friend: size, time, shape and values are all bounded.

May import `wm.verification.answers` and `wm.errors`.
"""

from wm.verification.endpoint.client import Limits, ask
from wm.verification.endpoint.transport import check_address

__all__ = ["Limits", "ask", "check_address"]
