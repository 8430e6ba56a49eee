"""A suspect behind a network address: rows sent in batches under hard limits, replies checked.

``POST`` to one URL, JSON ``{"instances": [[...], ...]}``; the reply is JSON with ``votes`` (for each instance
a list of each tree's 0 or 1), ``probabilities`` (of class 1, or of both classes) or ``labels``.

`transport` makes one request within its limits, `client` sends the rows in batches and retries, `reply` reads
a reply. A reply may be hostile: its size, duration, shape and values are all checked.

May import `wm.verification.answers` and `wm.errors`.
"""

from wm.verification.endpoint.client import Limits, ask
from wm.verification.endpoint.transport import check_address, read_headers

__all__ = ["Limits", "ask", "check_address", "read_headers"]
